"""A gated call waits for a person, holds nobody else up, and runs once or not at all."""

import asyncio

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from app import Agent, tool
from app.authoring.approval_policy import NeedsApproval
from app.authoring.tools import Call, Tool
from app.domain.approval import Decision
from app.domain.run import RunStatus
from app.domain.thread import ThreadStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Till:
    """Counts what was charged, and offers the tools."""

    def __init__(self, needs_approval: NeedsApproval | None = None) -> None:
        self.charged: list[int] = []

        @tool(needs_approval=needs_approval or True)
        async def charge(amount: int) -> str:
            self.charged.append(amount)
            return f"charged {amount}"

        @tool
        async def quote() -> str:
            return "5 a piece"

        self.tools: list[Tool] = [charge, quote]


def charge(amount: int, call_id: str = "call_1") -> Asks:
    return Asks("charge", {"amount": amount}, call_id)


@pytest.mark.req("APR-02")
async def test_a_gated_call_parks_the_run_and_frees_the_worker() -> None:
    till = Till()
    model = ScriptedModel(Says("Shall I?", [charge(9)]), "Thanks.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker(slots=1)
        run = await world.parked(await world.say())
        (approval,) = await world.reader.approvals(key=world.thread().key)
        assert (approval.tool_call_id, approval.name, approval.input) == (
            "call_1",
            "charge",
            {"amount": 9},
        )
        assert world.thread().status is ThreadStatus.AWAITING_INPUT
        assert world.said()[-1] == ("tool", "open", "...")
        assert world.steps(run.id) == ["llm:turn:0"]
        await world.parked(await world.say(key="another thread"))  # the only slot was free

    assert till.charged == []


@pytest.mark.req("APR-05")
async def test_an_approved_call_runs_once_under_its_own_name() -> None:
    till = Till()
    model = ScriptedModel(Says(calls=[charge(9)]), "Thanks.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.decide("call_1", Decision.APPROVED)
        ended = await world.ended(run.id)

    assert (ended.stopped, till.charged) == ("final", [9])
    assert world.steps(run.id) == [
        "llm:turn:0",
        "approval:call_1",
        "tool:charge:call_1",
        "llm:turn:1",
    ]
    assert world.said()[2:] == [
        ("tool", "complete", "charged 9"),
        ("assistant", "complete", "Thanks."),
    ]


@pytest.mark.req("APR-06")
async def test_a_refused_call_never_runs_and_the_model_reads_why() -> None:
    till = Till()
    model = ScriptedModel(Says(calls=[charge(9)]), "I see.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.decide("call_1", Decision.DENIED, "too much")
        await world.ended(run.id)

    assert till.charged == []
    last = model.requests[1][-1]
    assert isinstance(last, ModelRequest)
    (result,) = last.parts
    assert isinstance(result, ToolReturnPart)
    assert result.content == "The call was not approved, so it did not run. Reason: too much"
    assert result.outcome == "failed"


@pytest.mark.req("APR-01")
async def test_a_predicate_gates_some_calls_only() -> None:
    till = Till(lambda call: call.amount > 5000)
    model = ScriptedModel(Says(calls=[charge(5000, "c1"), charge(5001, "c2")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        assert till.charged == [5000]
        await world.decide("c2", Decision.APPROVED)
        await world.ended(run.id)

    assert till.charged == [5000, 5001]


async def test_ungated_calls_do_not_wait_for_gated_ones() -> None:
    till = Till()
    model = ScriptedModel(Says(calls=[charge(9, "c1"), Asks("quote", id="c2")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        assert world.said()[2:] == [("tool", "open", "..."), ("tool", "complete", "5 a piece")]
        await world.decide("c1", Decision.APPROVED)
        await world.ended(run.id)

    assert world.said()[2:4] == [
        ("tool", "complete", "charged 9"),
        ("tool", "complete", "5 a piece"),
    ]


async def test_gated_calls_run_together_after_the_last_decision() -> None:
    till = Till()
    model = ScriptedModel(Says(calls=[charge(n, f"c{n}") for n in (1, 2, 3)]), "Done.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.decide("c3", Decision.APPROVED)
        await world.decide("c1", Decision.DENIED)
        assert (till.charged, world.database.runs[run.id].status) == (
            [],
            RunStatus.AWAITING_INPUT,
        )
        await world.decide("c2", Decision.APPROVED)
        await world.ended(run.id)

    assert sorted(till.charged) == [2, 3]
    assert [text for _, _, text in world.said()[2:5]] == [
        "!The call was not approved, so it did not run.",
        "charged 2",
        "charged 3",
    ]


@pytest.mark.req("APR-07")
async def test_b42_a_predicate_that_answers_otherwise_later_is_told_of_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers = iter([True, False, False])
    till = Till(lambda _: next(answers))
    model = ScriptedModel(Says(calls=[charge(9)]), "Done.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        first = world.worker()
        run = await world.parked(await world.say())
        await first.kill()
        await world.decide("call_1", Decision.APPROVED)
        world.worker()
        await world.ended(run.id)
        decided = await world.reader.approvals(key="thread", everything=True)

    assert till.charged == [9]
    assert [each.status for each in decided] == ["approved"]
    assert list(answers) == [False]
    assert "needs_approval of charge said 'ask' for call call_1 and says 'open' now" in caplog.text


async def test_a_stable_predicate_and_one_that_hangs_later_are_no_matter(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.loop.unstable.PATIENCE_S", 0.01)
    hangs = iter([False, True])

    async def slow(call: object) -> bool:
        del call
        if next(hangs):
            await asyncio.Event().wait()
        return True

    for predicate, told in ((lambda call: call.amount > 5, False), (slow, True)):
        caplog.clear()
        till = Till(predicate)
        model = ScriptedModel(Says(calls=[charge(9)]), "Done.")
        async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
            world.worker()
            run = await world.parked(await world.say())
            await world.decide("call_1", Decision.APPROVED)
            await world.ended(run.id)
        assert till.charged == [9]
        assert ("needs_approval" in caplog.text) is told


@pytest.mark.parametrize("kind", ["raises", "is-awaited", "breaks-out"])
async def test_a_predicate_that_raises_means_that_a_person_is_asked(kind: str) -> None:
    async def awaited(call: object) -> bool:
        del call
        raise SystemExit(2) if kind == "breaks-out" else LookupError("no limit configured")

    till = Till(awaited if kind != "raises" else lambda call: call.cents > 5)
    model = ScriptedModel(Says(calls=[charge(1)]), "Done.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        await world.parked(await world.say())

    assert till.charged == []


async def test_the_gate_sees_valid_arguments_only() -> None:
    asked: list[object] = []

    def ask(call: Call) -> bool:
        asked.append(call.amount)
        return True

    till = Till(ask)
    model = ScriptedModel(Says(calls=[Asks("charge", {"amount": "x"})]), "Oh.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        run = await world.answered()

    assert (run.stopped, asked) == ("final", [])


async def test_a_decision_that_comes_before_the_run_parks_is_seen() -> None:
    till = Till()

    @tool
    async def decides_meanwhile() -> str:
        await world.decide("c1", Decision.APPROVED)
        return "decided"

    model = ScriptedModel(
        Says(calls=[charge(9, "c1"), Asks("decides_meanwhile", id="c2")]), "Done."
    )
    agent = Agent(model=model, tools=[*till.tools, decides_meanwhile])
    async with AgentWorld(agent) as world:
        run = await world.answered()

    assert (run.stopped, till.charged, run.attempts) == ("final", [9], 1)


async def test_cancelling_a_run_that_waits_leaves_a_history_that_goes_on() -> None:
    till = Till()
    model = ScriptedModel(Says(calls=[charge(9)]), "Hello again.")
    async with AgentWorld(Agent(model=model, tools=till.tools)) as world:
        world.worker()
        run = await world.parked(await world.say("charge me"))
        await world.store.cancel(world.thread().id, run.id)
        again = await world.answered("still there?")

    assert again.stopped == "final"
    request = model.requests[-1][-1]
    assert isinstance(request, ModelRequest)
    result, said = request.parts
    assert isinstance(result, ToolReturnPart)
    assert isinstance(said, UserPromptPart)
    assert result.content == "interrupted; it may have taken effect"
    assert till.charged == []
