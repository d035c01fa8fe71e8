"""Ask the model, run its tools, ask again, until it is done."""

from datetime import datetime
from types import SimpleNamespace

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.test import TestModel

from app import Agent, InstructionsContext, ToolContext, tool
from app.domain.run import RunStatus, Usage
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


@tool
async def get_weather(city: str) -> dict[str, object]:
    """Tell the weather."""
    return {"city": city, "sky": "clear"}


OSLO = Says("Let me see.", [Asks("get_weather", {"city": "Oslo"})])


@pytest.mark.req("LOOP-03")
async def test_a_reply_without_a_call_is_final() -> None:
    async with AgentWorld(Agent(model=ScriptedModel("Hello yourself."))) as world:
        run = await world.answered("hello")

    assert (run.status, run.stopped, run.error) == (RunStatus.COMPLETED, "final", None)
    assert world.said() == [
        ("user", "complete", "hello"),
        ("assistant", "complete", "Hello yourself."),
    ]


@pytest.mark.req("DUR-01", "DUR-02")
async def test_turns_and_calls_are_steps_named_after_the_turn_and_the_call() -> None:
    model = ScriptedModel(
        OSLO, Says(calls=[Asks("get_weather", {"city": "Bonn"}, "call_2")]), "Clear."
    )
    async with AgentWorld(Agent(model=model, tools=[get_weather])) as world:
        run = await world.answered()

    assert world.steps(run.id) == [
        "llm:turn:0",
        "tool:get_weather:call_1",
        "llm:turn:1",
        "tool:get_weather:call_2",
        "llm:turn:2",
    ]


async def test_a_call_its_result_and_the_answer_stand_in_order() -> None:
    model = ScriptedModel(OSLO, "It is clear.")
    async with AgentWorld(Agent(model=model, tools=[get_weather])) as world:
        await world.answered("weather?")

    assert world.said() == [
        ("user", "complete", "weather?"),
        ("assistant", "complete", "Let me see. get_weather({'city': 'Oslo'})"),
        ("tool", "complete", "{'city': 'Oslo', 'sky': 'clear'}"),
        ("assistant", "complete", "It is clear."),
    ]
    assert [row.turn for row in world.rows()] == [None, 0, 0, 1]


async def test_the_model_reads_the_result_of_its_call() -> None:
    model = ScriptedModel(OSLO, "It is clear.")
    async with AgentWorld(Agent(model=model, tools=[get_weather])) as world:
        await world.answered("weather?")

    last = model.requests[1][-1]
    assert isinstance(last, ModelRequest)
    (result,) = last.parts
    assert isinstance(result, ToolReturnPart)
    assert (result.content, result.tool_call_id) == ({"city": "Oslo", "sky": "clear"}, "call_1")


@pytest.mark.req("RUN-02")
async def test_a_second_run_reads_what_the_first_one_said() -> None:
    model = ScriptedModel("I am a rope.", "As I said.")
    async with AgentWorld(Agent(model=model)) as world:
        await world.answered("who are you?")
        await world.answered("what?")

    texts = [
        str(part.content) for part in model.requests[1][0].parts if isinstance(part, UserPromptPart)
    ]
    assert texts == ["who are you?"]
    assert len(model.requests[1]) == 3
    assert world.said()[-1] == ("assistant", "complete", "As I said.")


@pytest.mark.req("LOOP-01")
async def test_the_turn_limit_ends_a_model_that_always_calls() -> None:
    model = ScriptedModel(OSLO)
    async with AgentWorld(Agent(model=model, tools=[get_weather], max_turns=3)) as world:
        run = await world.answered()

    assert (run.status, run.stopped) == (RunStatus.COMPLETED, "maxTurns")
    assert len(model.requests) == 3
    assert [row.status.value for row in world.rows() if row.role.value == "tool"] == [
        "complete"
    ] * 3


async def test_a_run_may_ask_for_a_limit_of_its_own() -> None:
    model = ScriptedModel(OSLO)
    async with AgentWorld(Agent(model=model, tools=[get_weather])) as world:
        started = await world.start("a")
        run = world.database.runs[started.run_id]
        run.policy["maxTurns"] = 2
        world.worker()
        assert (await world.ended(run.id)).stopped == "maxTurns"

    assert len(model.requests) == 2


@pytest.mark.req("LOOP-14")
@pytest.mark.parametrize("streaming", [True, False])
async def test_usage_is_summed_over_turns_runs_and_the_thread(streaming: bool) -> None:  # noqa: FBT001  # a parameter
    model = ScriptedModel(OSLO, "Clear.", "Still clear.")
    async with AgentWorld(Agent(model=model, tools=[get_weather]), streaming=streaming) as world:
        first = await world.answered("weather?")
        second = await world.answered("and now?")

    per_turn = [Usage.from_json(row.usage) for row in world.rows() if row.usage]  # type: ignore[arg-type]  # counts
    assert first.usage == per_turn[0] + per_turn[1]
    assert second.usage == per_turn[2]
    assert world.thread().usage == per_turn[0] + per_turn[1] + per_turn[2]
    assert world.thread().usage.requests == 3
    assert world.thread().usage.output_tokens > 0


@pytest.mark.req("SUB-08")
async def test_streaming_on_or_off_the_stored_messages_are_the_same() -> None:
    stored = []
    for streaming in (True, False):
        model = ScriptedModel(
            Says("Let me see.", [Asks("get_weather", {"city": "Oslo"})], thinking="Hm."), "Clear."
        )
        async with AgentWorld(
            Agent(model=model, tools=[get_weather]), streaming=streaming
        ) as world:
            await world.answered("weather?")
        stored.append([(row.role, row.status, row.parts, row.turn) for row in world.rows()])

    assert stored[0] == stored[1]


@pytest.mark.req("AGT-03")
async def test_instructions_reach_the_model_and_are_no_message() -> None:
    model = ScriptedModel("Yes.")
    async with AgentWorld(Agent(model=model, system_prompt="Be brief.")) as world:
        await world.answered("hello")

    assert model.offers[0].instructions == "Be brief."
    assert [row.role.value for row in world.rows()] == ["user", "assistant"]


@pytest.mark.req("DUR-09")
async def test_callable_instructions_are_asked_once_a_run() -> None:
    asked: list[InstructionsContext] = []

    async def instructions(ctx: InstructionsContext) -> str:
        asked.append(ctx)
        return f"You serve {ctx.thread_key}, {datetime.now().astimezone():%Y}."

    model = ScriptedModel(OSLO, "Clear.")
    agent = Agent(model=model, tools=[get_weather], instructions=instructions)
    async with AgentWorld(agent) as world:
        run = await world.answered()

    assert [ctx.run_id for ctx in asked] == [run.id]
    assert model.offers[0].instructions == model.offers[1].instructions
    assert str(model.offers[0].instructions).startswith("You serve thread, 2")


async def test_instructions_that_raise_fail_the_run_in_words() -> None:
    def instructions() -> str:
        raise KeyError("tenant")

    async with AgentWorld(
        Agent(model=ScriptedModel("x"), instructions=instructions, slug="desk")
    ) as world:
        run = await world.answered()

    assert run.error is not None
    assert run.error.code == "INSTRUCTIONS_FAILED"
    assert run.error.message == "the instructions of desk raised KeyError('tenant')"


@pytest.mark.req("AGT-05")
async def test_a_model_may_be_an_id_an_object_or_a_callable_of_the_settings() -> None:
    settings = SimpleNamespace(model=TestModel(custom_output_text="called"))
    said = []
    for model in ("demo:", TestModel(custom_output_text="object"), lambda given: given.model):
        async with AgentWorld(Agent(model=model), settings=settings) as world:
            await world.answered("count to 3")
        said.append(world.said()[-1][2])

    assert said == ["1 2 3", "object", "called"]


async def test_a_run_may_choose_another_model() -> None:
    async with AgentWorld(Agent(model=ScriptedModel("mine"))) as world:
        started = await world.start("a", "count to 2")
        world.database.runs[started.run_id].policy["model"] = "demo/other"
        world.worker()
        await world.ended(started.run_id)

    assert world.said()[-1][2] == "1 2"
    assert world.rows()[-1].model_name == "demo:other"


async def test_a_model_that_cannot_be_used_fails_the_run_in_words() -> None:
    async with AgentWorld(Agent(model="groq:llama")) as world:
        run = await world.answered()

    assert run.error is not None
    assert run.error.code == "MODEL_NOT_CONFIGURED"
    assert 'pip install "pydantic-ai-slim[groq]"' in run.error.message


async def test_an_empty_answer_is_asked_for_again() -> None:
    model = ScriptedModel(Says("", error=None), "never reached")
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert len(model.requests) == 2
    assert run.stopped == "final"
    assert world.said()[-1] == ("assistant", "complete", "")


async def test_an_empty_answer_is_left_out_of_what_the_model_reads() -> None:
    model = ScriptedModel(Says(""))
    async with AgentWorld(Agent(model=model)) as world:
        await world.answered("one")
        await world.answered("two")

    (request,) = model.requests[-1]
    assert [str(part.content) for part in request.parts if isinstance(part, UserPromptPart)] == [
        "one",
        "two",
    ]


async def test_b15_ids_that_a_provider_repeats_stay_apart() -> None:
    seen: list[tuple[str, str]] = []

    @tool
    async def note(ctx: ToolContext, what: str) -> str:
        seen.append((ctx.tool_call_id, what))
        return what

    answers = [
        Says(calls=[Asks("note", {"what": str(n)}), Asks("note", {"what": f"{n}b"})])
        for n in range(3)
    ]
    async with AgentWorld(Agent(model=ScriptedModel(*answers, "done"), tools=[note])) as world:
        run = await world.answered()

    ids = ["call_1", "call_1-2", "call_1-3", "call_1-4", "call_1-5", "call_1-6"]
    assert seen == list(zip(ids, ["0", "0b", "1", "1b", "2", "2b"], strict=True))
    assert run.stopped == "final"


async def test_b15_forty_turns_end_as_they_should() -> None:
    async with AgentWorld(
        Agent(model=ScriptedModel(*[OSLO] * 40, "done"), tools=[get_weather])
    ) as world:
        run = await world.answered()

    assert (run.stopped, run.usage.requests) == ("final", 41)
    assert len({row.id for row in world.rows()}) == len(world.rows()) == 82
