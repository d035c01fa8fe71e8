"""No decision can slip in between the last look and the park, or the end."""

import asyncio

import pytest

from app.domain.approval import Decision, approval_step
from app.domain.errors import Conflict
from app.domain.identity import Identity
from app.domain.record import NewApproval, Writes
from app.domain.run import Ending, RunStatus, Waits
from app.engine.durable_run import DurableRun, Program
from app.engine.steps import MISSING, StepContext, StepResult
from app.testing.world import MemoryWorld
from tests.support.deciding import decide

ALICE = Identity("alice")


def gated(calls: tuple[str, ...], ran: list[str]) -> Program:
    """Return a program that asks for every call, waits for all, then runs the approved ones."""

    async def program(run: DurableRun) -> None:
        async def ask(_: StepContext) -> StepResult:
            asked = tuple(NewApproval(f"{run.run.id}-{c}", c, "charge", "{}") for c in calls)
            return StepResult(None, Writes(approvals=asked, turn=0))

        await run.step("llm:turn:0", ask, turn=0)
        while open_calls := [c for c in calls if run.recorded(approval_step(c)) is MISSING]:
            await run.park(Waits.for_all(map(approval_step, open_calls)))
        for call in calls:

            async def act(context: StepContext) -> StepResult:
                ran.append(context.name)
                return StepResult(None)

            decision = run.recorded(approval_step(call))
            assert isinstance(decision, dict)
            if decision["decision"] == "approved":
                await run.step(f"tool:charge:{call}", act, turn=0)
        await run.finish(Ending.completed("final"))

    return program


@pytest.mark.req("APR-02", "APR-05")
async def test_the_last_of_several_decisions_wakes_the_run() -> None:
    ran: list[str] = []
    async with MemoryWorld({"a": gated(("c1", "c2"), ran)}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.AWAITING_INPUT)
        await decide(world.store, started.thread_id, "c1", Decision.APPROVED, ALICE, None)
        assert world.database.runs[started.run_id].status is RunStatus.AWAITING_INPUT
        await decide(world.store, started.thread_id, "c2", Decision.DENIED, ALICE, "no")
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert ran == ["tool:charge:c1"]


async def test_a_decision_that_comes_while_the_run_parks_is_seen() -> None:
    ran: list[str] = []
    async with MemoryWorld({"a": gated(("c1",), ran)}) as world:
        park = world.store.park

        async def decided_just_before(*arguments: object) -> object:
            if not world.database.steps[started.run_id].get(approval_step("c1")):
                await decide(world.store, started.thread_id, "c1", Decision.APPROVED, ALICE, None)
            return await park(*arguments)  # type: ignore[arg-type]

        world.store.park = decided_just_before  # type: ignore[method-assign,assignment]
        started = await world.start("a")
        world.worker()
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert ran == ["tool:charge:c1"]


async def test_deciding_twice_is_one_decision() -> None:
    async with MemoryWorld({"a": gated(("c1",), [])}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.AWAITING_INPUT)
        first = await decide(world.store, started.thread_id, "c1", Decision.APPROVED, ALICE, None)
        same = await decide(world.store, started.thread_id, "c1", Decision.APPROVED, ALICE, None)
        with pytest.raises(Conflict, match="already approved"):
            await decide(world.store, started.thread_id, "c1", Decision.DENIED, ALICE, None)

    assert first == same


async def test_a_completion_that_overlooked_something_looks_again() -> None:
    looks: list[int] = []

    async def program(run: DurableRun) -> None:
        async def ask(_: StepContext) -> StepResult:
            asked = (NewApproval(f"{run.run.id}-c1", "c1", "charge", "{}"),)
            return StepResult(None, Writes(approvals=asked, turn=0))

        await run.step("llm:turn:0", ask, turn=0)
        while True:
            looks.append(1)
            if len(looks) == 1:
                await decide(world.store, run.thread.id, "c1", Decision.APPROVED, ALICE, None)
            await run.finish(Ending.completed("final"))
            await asyncio.sleep(0)

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert len(looks) == 2


@pytest.mark.req("APR-09")
async def test_a_parked_run_survives_every_process() -> None:
    ran: list[str] = []
    async with MemoryWorld({"a": gated(("c1",), ran)}) as world:
        first = world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.AWAITING_INPUT)
        await first.terminate()
        world.journal.flush()
        world.worker()
        await decide(world.store, started.thread_id, "c1", Decision.APPROVED, ALICE, None)
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert ran == ["tool:charge:c1"]
