"""Field case B32: something changed between what a person saw and what he decides.

Whatever it is, the row, the tool or the agent's version, nothing runs that he has not seen.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from app import Agent, ToolContext, tool
from app.domain.approval import ApprovalStatus, input_hash
from app.domain.storable import Json
from tests.support.agent_world import no_backoff
from tests.support.decision_schedules import OWNER, SURFACES, Answer, Attempt, Schedule
from tests.support.memory_desk import MemoryDesk, memory_desk

__all__ = ["no_backoff"]

pytestmark = [pytest.mark.req("APR-12", "APR-33"), pytest.mark.parametrize("surface", SURFACES)]

SEEN: dict[str, Json] = {"amount": 1}
CHANGED: dict[str, Json] = {"amount": 99}


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryDesk]:
    async with memory_desk(monkeypatch) as made:
        await made.begin("k", Schedule(0, (("c0", "pay", 1),), (), None))
        await made.world.parked(str(made.world.thread("k").live_run))
        yield made


def approve(surface: str, shown: Json) -> Attempt:
    answer = Answer("c0", "approved", shown=None if shown is None else input_hash(shown))
    return Attempt("because", OWNER, surface, (answer,), 0)


def change_the_row(desk: MemoryDesk) -> None:
    approvals = desk.world.database.approvals
    key = desk.world.thread("k").id, "c0"
    approvals[key] = replace(approvals[key], input=CHANGED)


def change_the_tool(desk: MemoryDesk, *, version: str | None = None) -> None:
    @tool(needs_approval=True)
    async def pay(ctx: ToolContext, cents: int) -> str:
        """Pay somebody, in cents."""
        raise AssertionError(f"{ctx.tool_call_id} ran with {cents}")

    agents: Any = desk.backend.agents
    agents["a"] = Agent(slug="a", model="demo:", tools=[pay], version=version)


async def status(desk: MemoryDesk) -> ApprovalStatus:
    (approval,) = await desk.stored("k")
    return approval.status


async def test_an_old_hash_of_a_row_that_was_changed_answers_with_what_waits_now(
    desk: MemoryDesk, surface: str
) -> None:
    change_the_row(desk)

    reply = await desk.send("k", approve(surface, SEEN))

    assert (reply.code, reply.data["input"]) == ("CONFLICT", CHANGED)
    assert (await status(desk), desk.ran("k")) == (ApprovalStatus.PENDING, [])


async def test_arguments_that_the_call_does_not_have_are_not_run_even_if_they_were_approved(
    desk: MemoryDesk, surface: str
) -> None:
    run = str(desk.world.thread("k").live_run)
    change_the_row(desk)

    reply = await desk.send("k", approve(surface, CHANGED))
    await desk.ended(run)

    assert (reply.code, desk.ran("k")) == ("OK", [])
    results = [text for role, _, text in desk.world.said("k") if role == "tool"]
    assert results == ["!pay did not run: other arguments were approved than the call has."]


@pytest.mark.parametrize("shown", [SEEN, None], ids=["with-a-hash", "without"])
async def test_a_tool_that_takes_other_arguments_by_now_is_not_approved(
    desk: MemoryDesk, surface: str, shown: Json
) -> None:
    change_the_tool(desk)

    reply = await desk.send("k", approve(surface, shown))

    assert (reply.code, reply.data["input"]) == ("CONFLICT", SEEN)
    assert (await status(desk), desk.ran("k")) == (ApprovalStatus.PENDING, [])


async def test_what_cannot_be_approved_any_more_can_be_denied(
    desk: MemoryDesk, surface: str
) -> None:
    run = str(desk.world.thread("k").live_run)
    change_the_tool(desk)

    reply = await desk.send("k", Attempt("because", OWNER, surface, (Answer("c0", "denied"),), 0))
    await desk.ended(run)

    assert (reply.code, desk.ran("k")) == ("OK", [])


async def test_a_run_that_is_pinned_to_the_code_that_asked_goes_on_with_it(
    desk: MemoryDesk, surface: str
) -> None:
    run = str(desk.world.thread("k").live_run)
    runs = desk.world.database.runs
    change_the_tool(desk, version="2")
    runs[run] = replace(runs[run], agent_version="1")

    reply = await desk.send("k", approve(surface, SEEN))

    assert reply.code == "OK"
