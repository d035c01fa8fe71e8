"""Faults of approvals that users of comparable systems reported, each tried on the whole loop.

The numbers are those of the field cases.
"""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from app import Agent, ApprovalPolicy, ToolContext, tool
from app.authoring.tools import Tool
from app.domain.approval import Approval, ApprovalStatus, Decider, Decision, NewDecision
from app.domain.errors import Conflict
from app.domain.run import RunStatus
from app.domain.storable import Json
from tests.support.agent_world import ALICE, AgentWorld, no_backoff
from tests.support.deciding import decide
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Gated:
    """A gated tool, and a free one beside it, whose calls are counted."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()

        @tool(needs_approval=True)
        async def sign(ctx: ToolContext) -> str:
            self.ran[ctx.tool_call_id] += 1
            return "signed"

        @tool
        async def count(ctx: ToolContext) -> str:
            self.ran[ctx.tool_call_id] += 1
            return "counted"

        self.tools: list[Tool] = [sign, count]


def told(model: ScriptedModel) -> list[str]:
    """Return the tool results in the newest request."""
    last = model.requests[-1][-1]
    assert isinstance(last, ModelRequest)
    return [str(part.content) for part in last.parts if isinstance(part, ToolReturnPart)]


async def waiting(world: AgentWorld, key: str = "thread") -> list[Approval]:
    return await world.reader.approvals(key=key)


@pytest.mark.parametrize("kind", ["asks-again", "wants-an-approval"])
async def test_b14_a_tool_that_wants_something_after_its_effect_has_run_once(kind: str) -> None:
    effects: list[str] = []

    @tool(retries=3)
    async def pay(ctx: ToolContext) -> str:
        effects.append(ctx.idempotency_key)
        raise ModelRetry("say how much") if kind == "asks-again" else ApprovalRequired

    model = ScriptedModel(Says(calls=[Asks("pay")]), "I see.")
    async with AgentWorld(Agent(model=model, tools=[pay])) as world:
        run = await world.answered()

    assert (run.stopped, len(effects)) == ("final", 1)
    said = {"asks-again": "say how much", "wants-an-approval": "cannot wait for an approval"}
    assert said[kind] in told(model)[0]


@pytest.mark.parametrize("on_busy", ["reject", "queue", "replace", "steer"])
async def test_b30_an_undecided_call_is_never_taken_for_approved(on_busy: Any) -> None:  # noqa: ANN401  # one of the words
    gated = Gated()
    model = ScriptedModel(Says(calls=[Asks("sign", id="c1")]), "Hello again.")
    agent = Agent(model=model, tools=gated.tools, on_concurrent_run=on_busy)
    async with AgentWorld(agent) as world:
        world.worker()
        run = await world.parked(await world.say("sign it"))
        if on_busy == "reject":
            with pytest.raises(Conflict):
                await world.say("go on")
        else:
            await world.say("go on")
        await world.signal("and on")
        await world.store.cancel(world.thread().id, run.id)
        while (live := world.thread().live_run) is not None:  # it reads what was said
            await world.ended(live)
        await world.answered("still there?")

    assert gated.ran == {}


@pytest.mark.req("APR-06")
async def test_b38_words_do_not_decide_and_a_refusal_is_told_as_one() -> None:
    gated = Gated()
    model = ScriptedModel(Says(calls=[Asks("sign", id="c1")]), "Not done.")
    agent = Agent(model=model, tools=gated.tools, on_concurrent_run="steer")
    async with AgentWorld(agent) as world:
        world.worker()
        run = await world.parked(await world.say("sign it"))
        for words in ("yes", "no wait"):
            await world.say(words)
            assert [each.status.value for each in await waiting(world)] == ["pending"]
        await world.decide("c1", Decision.DENIED, "not on a Sunday")
        await world.ended(run.id)

    assert gated.ran == {}
    assert told(model)[0] == (
        "The call was not approved, so it did not run. Reason: not on a Sunday"
    )
    assert ("tool", "complete", f"!{told(model)[0]}") in world.said()


@pytest.mark.req("APR-11", "APR-13")
@pytest.mark.parametrize("value", [False, 0, "", [], None], ids=repr)
async def test_b34_a_falsy_edit_arrives_as_it_was_given(value: Json) -> None:
    got: list[Json] = []

    @tool(needs_approval=ApprovalPolicy(editable=True))
    async def note(given: bool | int | str | list[str] | None = "as asked") -> str:  # noqa: FBT001
        got.append(given)  # type: ignore[arg-type]  # one of these is JSON
        return "noted"

    model = ScriptedModel(Says(calls=[Asks("note", {"given": "x"}, "c1")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[note])) as world:
        world.worker()
        run = await world.parked(await world.say())
        answer = NewDecision("c1", Decision.APPROVED, edited_input={"given": value})
        await world.store.decide(world.thread().id, [answer], Decider(ALICE))
        await world.ended(run.id)
        (noted,) = await world.reader.approvals(key="thread", everything=True)

    assert (got, type(got[0])) == ([value], type(value))
    assert noted.edited_input == {"given": value}


@pytest.mark.req("APR-08")
@pytest.mark.parametrize("decisions", ["ad", "da", "dd"])
async def test_b37_one_denied_and_one_approved_resume_once(decisions: str) -> None:
    gated = Gated()
    calls = [Asks("sign", id="c0"), Asks("sign", id="c1")]
    model = ScriptedModel(Says(calls=calls), "Done.")
    async with AgentWorld(Agent(model=model, tools=gated.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        for number, letter in enumerate(decisions):
            decision = Decision.APPROVED if letter == "a" else Decision.DENIED
            await world.decide(f"c{number}", decision)
        ended = await world.ended(run.id)

    assert (ended.stopped, ended.attempts, len(model.requests)) == ("final", 2, 2)
    assert gated.ran == {f"c{n}": 1 for n, letter in enumerate(decisions) if letter == "a"}


@pytest.mark.req("APR-09")
async def test_b40_three_days_and_a_restart_later_the_card_is_the_same() -> None:
    gated = Gated()
    model = ScriptedModel(Says(calls=[Asks("sign", id="c1"), Asks("count", id="c2")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=gated.tools)) as world:
        first = world.worker()
        run = await world.parked(await world.say())
        before = await waiting(world)
        await first.kill()
        await world.later(timedelta(days=3))
        world.worker()
        assert await waiting(world) == before
        await world.decide("c1", Decision.APPROVED)
        await world.ended(run.id)

    assert gated.ran == {"c1": 1, "c2": 1}


@pytest.mark.req("ADM-05")
async def test_b42_an_approval_holds_for_its_call_and_the_new_rule_for_later_ones() -> None:
    gated = Gated()
    asks = [Says(calls=[Asks("count", id=f"c{n}")]) for n in range(2)]
    model = ScriptedModel(Says(calls=[Asks("sign", id="c9")]), *asks, "Done.")
    usual = Agent(model=model, tools=gated.tools)
    careful = Agent(model=model, tools=gated.tools, autonomy="always_ask")
    async with AgentWorld(usual) as world:
        first = world.worker()
        run = await world.parked(await world.say())
        await first.kill()
        world.deploy(careful)
        world.worker()
        await world.decide("c9", Decision.APPROVED)
        await world.until(run.id, RunStatus.AWAITING_INPUT)
        (asked,) = await waiting(world)
        assert (gated.ran, asked.tool_call_id) == ({"c9": 1}, "c0")
        await world.decide("c0", Decision.APPROVED)
        await world.until(run.id, RunStatus.AWAITING_INPUT)
        await world.decide("c1", Decision.APPROVED)
        await world.ended(run.id)

    assert gated.ran == {"c9": 1, "c0": 1, "c1": 1}


class Family:
    """A parent that asks a child, which asks a grandchild, which calls a gated tool."""

    def __init__(self) -> None:
        self.gated = Gated()
        grandchild = Agent(
            slug="grandchild",
            name="Grandchild",
            model=ScriptedModel(Says(calls=[Asks("sign", id="c1")]), "It is signed."),
            tools=self.gated.tools,
        )
        ask = Asks("grandchild", {"message": "sign it"}, "c1")
        child = Agent(
            slug="child", model=ScriptedModel(Says(calls=[ask]), "Signed."), tools=[grandchild]
        )
        asks = Asks("child", {"message": "have it signed"}, "c1")
        parent = Agent(model=ScriptedModel(Says(calls=[asks]), "All signed."), tools=[child])
        self.agents = (parent, child, grandchild)

    async def asking(self, world: AgentWorld) -> tuple[str, Approval]:
        """Return the parent's run and what waits in its thread, once something does."""
        world.worker(slots=1)
        run_id = await world.say()
        while not (found := await waiting(world)):
            await world.database.turn()
        (asked,) = found
        await world.until(asked.run_id, RunStatus.AWAITING_INPUT)
        await world.until(run_id, RunStatus.WAITING)
        return run_id, asked


@pytest.mark.req("APR-02", "APR-09")
async def test_b39_what_a_grandchild_asks_is_decided_from_the_top_and_runs_once() -> None:
    family = Family()
    async with AgentWorld(*family.agents) as world:
        run_id, asked = await family.asking(world)
        assert (asked.agent, asked.thread_key) != ("a", "thread")
        assert asked.agent == "grandchild"
        await world.workers[0].kill()
        assert world.database.running() == []  # it holds no worker, nor do those above
        assert await waiting(world) == [asked]
        await decide(world.store, asked.thread_id, "c1", Decision.APPROVED, ALICE)
        world.worker(slots=1)
        await world.ended(run_id)
        assert await waiting(world) == []

    assert family.gated.ran == {"c1": 1}
    assert world.said()[-1] == ("assistant", "complete", "All signed.")


@pytest.mark.req("APR-33")
@pytest.mark.parametrize("whose", ["the parent's", "its own"])
async def test_b39_a_cancel_closes_the_card_at_the_top(whose: str) -> None:
    family = Family()
    async with AgentWorld(*family.agents) as world:
        run_id, asked = await family.asking(world)
        version = world.thread().version
        cancelled = (world.thread().id, run_id)
        if whose == "its own":
            cancelled = (asked.thread_id, asked.run_id)
        await world.store.cancel(*cancelled)

        assert world.thread().version > version
        assert await waiting(world) == []
        (closed,) = await world.reader.approvals(key="thread", everything=True)
        with pytest.raises(Conflict):
            await decide(world.store, asked.thread_id, "c1", Decision.APPROVED, ALICE)
        await world.ended(run_id)

    assert closed.status is ApprovalStatus.CANCELLED
    assert family.gated.ran == {}
