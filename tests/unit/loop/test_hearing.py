"""A message from outside is read once, before a model request, and never lost at the end."""

import asyncio

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from app import Agent, tool
from app.domain.approval import Decision
from app.domain.run import RunStatus
from app.domain.signal import SignalMode
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


def said_to(messages: list[ModelMessage]) -> list[str]:
    """Return what users said in a request."""
    return [
        str(part.content).strip()
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


class Interrupted:
    """A tool during which something happens."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

        @tool
        async def work() -> str:
            self.begun.set()
            await self.may_end.wait()
            return "worked"

        self.work = work


@pytest.mark.req("SIG-01", "SIG-04")
async def test_an_injected_message_is_read_between_two_turns() -> None:
    during, model = Interrupted(), ScriptedModel(Says("On it.", [Asks("work")]), "As you wish.")
    async with AgentWorld(Agent(model=model, tools=[during.work])) as world:
        world.worker()
        run_id = await world.say("go")
        await during.begun.wait()
        assert (await world.signal("be quick")).woke is False
        during.may_end.set()
        await world.ended(run_id)

    assert world.said() == [
        ("user", "complete", "go"),
        ("assistant", "complete", "On it. work({})"),
        ("tool", "complete", "worked"),
        ("user", "complete", "[message] be quick\n"),
        ("assistant", "complete", "As you wish."),
    ]
    assert world.steps(run_id) == ["llm:turn:0", "tool:work:call_1", "inject:1", "llm:turn:1"]
    assert said_to(model.requests[1]) == ["go", "[message] be quick"]


@pytest.mark.req("SIG-06")
async def test_several_waiting_signals_are_one_message() -> None:
    during, model = Interrupted(), ScriptedModel(Says(calls=[Asks("work")]), "Fine.")
    async with AgentWorld(Agent(model=model, tools=[during.work])) as world:
        world.worker()
        run_id = await world.say("go")
        await during.begun.wait()
        for text in ("one", "two", "three"):
            await world.signal(text)
        during.may_end.set()
        await world.ended(run_id)

    inputs = [text for role, _, text in world.said() if role == "user"]
    assert inputs == ["go", "[message] one\n [message] two\n [message] three\n"]


async def test_a_message_that_comes_with_the_last_answer_makes_another_turn() -> None:
    gate = asyncio.Event()
    model = ScriptedModel(Says("That is all.", gate=gate), "And that.")
    async with AgentWorld(Agent(model=model)) as world:
        world.worker()
        run_id = await world.say("go")
        await model.asked.wait()
        await world.signal("one more thing")
        gate.set()
        run = await world.ended(run_id)

    assert run.stopped == "final"
    assert [text for _, _, text in world.said()] == [
        "go",
        "That is all.",
        "[message] one more thing\n",
        "And that.",
    ]


async def test_a_message_that_the_turn_limit_leaves_over_starts_the_next_run() -> None:
    gate = asyncio.Event()
    model = ScriptedModel(Says("That is all.", gate=gate), "And that.")
    async with AgentWorld(Agent(model=model, max_turns=1)) as world:
        world.worker()
        run_id = await world.say("go")
        await model.asked.wait()
        await world.signal("one more thing")
        gate.set()
        first = await world.ended(run_id)
        live = world.thread().live_run
        assert live is not None
        second = await world.ended(live)

    assert (first.stopped, second.stopped) == ("final", "final")
    assert world.said()[-1] == ("assistant", "complete", "And that.")


@pytest.mark.req("CON-07")
async def test_text_decides_no_approval_and_is_read_after_the_decision() -> None:
    @tool(needs_approval=True)
    async def pay() -> str:
        return "paid"

    model = ScriptedModel(Says(calls=[Asks("pay")]), "Paid.")
    async with AgentWorld(Agent(model=model, tools=[pay])) as world:
        world.worker()
        run = await world.parked(await world.say("pay"))
        await world.signal("yes, approved, do it")
        assert world.database.runs[run.id].status is RunStatus.AWAITING_INPUT
        await world.decide("call_1", Decision.DENIED)
        await world.ended(run.id)

    assert [text for _, _, text in world.said()][2:] == [
        "!The call was not approved, so it did not run.",
        "[message] yes, approved, do it\n",
        "Paid.",
    ]
    assert [part.part_kind for part in model.requests[-1][-1].parts] == [
        "tool-return",
        "user-prompt",
    ]
    assert world.steps(run.id)[-2:] == ["inject:1", "llm:turn:1"]


async def test_a_queued_signal_waits_for_the_next_run() -> None:
    during, model = Interrupted(), ScriptedModel(Says(calls=[Asks("work")]), "Done.", "Now this.")
    async with AgentWorld(Agent(model=model, tools=[during.work])) as world:
        world.worker()
        run_id = await world.say("go")
        await during.begun.wait()
        await world.signal("later", SignalMode.QUEUE)
        during.may_end.set()
        await world.ended(run_id)
        live = world.thread().live_run
        assert live is not None
        await world.ended(live)

    assert [text for _, _, text in world.said()][-3:] == ["Done.", "[message] later\n", "Now this."]


@pytest.mark.req("CON-07")
async def test_a_steered_send_stays_a_message_of_its_own() -> None:
    during, model = Interrupted(), ScriptedModel(Says(calls=[Asks("work")]), "Done.")
    agent = Agent(model=model, tools=[during.work], on_concurrent_run="steer")
    async with AgentWorld(agent) as world:
        world.worker()
        run_id = await world.say("go")
        await during.begun.wait()
        assert [(await world.send(text)).steered for text in ("left", "right")] == [True, True]
        during.may_end.set()
        await world.ended(run_id)

    assert [text for role, _, text in world.said() if role == "user"] == ["go", "left", "right"]
    assert said_to(model.requests[1]) == ["go", "left", "right"]


@pytest.mark.req("DUR-03")
@pytest.mark.parametrize("died_after", [2, 3, 4, 5, 6])
async def test_whoever_resumes_tells_messages_in_the_same_places(died_after: int) -> None:
    model = ScriptedModel(Says(calls=[Asks("work")]), Says("Almost.", [Asks("work")]), "Done.")
    fell = asyncio.Event()

    @tool
    async def work() -> str:
        if world.thread().wakes < 2:
            await world.signal(f"said in turn {world.thread().wakes}")
        return "worked"

    async with AgentWorld(Agent(model=model, tools=[work])) as world:
        record, left = world.store.record, died_after

        async def dying(*args: object) -> object:
            nonlocal left
            answer = await record(*args)  # type: ignore[arg-type]  # handed on
            left -= 1
            if left == 0:
                fell.set()
                await asyncio.Event().wait()
            return answer

        vars(world.store)["record"] = dying
        first = world.worker()
        run_id = await world.say("go")
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    last = [type(message).__name__ for message in model.requests[-1]]
    assert last == ["ModelRequest", "ModelResponse"] * 2 + ["ModelRequest"]
    assert said_to(model.requests[-1]) == [
        "go",
        "[message] said in turn 0",
        "[message] said in turn 1",
    ]
    assert [text for role, _, text in world.said() if role == "user"] == [
        "go",
        "[message] said in turn 0\n",
        "[message] said in turn 1\n",
    ]
    assert len(world.rows()) == 8


async def test_a_message_that_was_read_after_the_last_answer_is_answered_by_whoever_resumes() -> (
    None
):
    gate, fell = asyncio.Event(), asyncio.Event()
    model = ScriptedModel(Says("That is all.", gate=gate), "And that.")
    async with AgentWorld(Agent(model=model)) as world:
        record = world.store.record

        async def dying(fence: object, written: object) -> object:
            answer = await record(fence, written)  # type: ignore[arg-type]  # handed on
            if written.step == "inject:1" and not fell.is_set():  # type: ignore[attr-defined]  # a record
                fell.set()
                await asyncio.Event().wait()
            return answer

        vars(world.store)["record"] = dying
        first = world.worker()
        run_id = await world.say("go")
        await model.asked.wait()
        await world.signal("one more thing")
        gate.set()
        await fell.wait()
        await first.kill()
        world.worker()
        await world.take_over(first)
        await world.ended(run_id)

    assert [text for _, _, text in world.said()] == [
        "go",
        "That is all.",
        "[message] one more thing\n",
        "And that.",
    ]
