"""A run that was asked for an answer in a certain form ends with one, or says why not."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from app import Agent, tool
from app.domain.approval import Decision
from app.domain.run import Run, RunStatus
from app.domain.storable import Json
from app.loop.answering import RETRIES
from app.threads.output_schema import TOOL
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel
from tests.unit.loop.test_everything_survives_a_death import to_the_end
from tests.unit.loop.test_resuming import Guillotine

__all__ = ["no_backoff"]

CITY: dict[str, Json] = {
    "type": "object",
    "title": "City",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
}
OSLO: dict[str, Json] = {"name": "Oslo", "people": 700_000}
ran: list[str] = []


@tool
async def look() -> str:
    """Look."""
    ran.append("look")
    return "seen"


@tool(needs_approval=True)
async def pay() -> str:
    """Pay."""
    ran.append("pay")
    return "paid"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def gives(answer: Mapping[str, object], call: str = "o1") -> Says:
    return Says(calls=[Asks(TOOL, answer, call)])


def native(*answers: Says | str) -> ScriptedModel:
    """Return a model that is held to a form by its provider, and answers in text."""
    model = ScriptedModel(*answers)
    profile = {**model.profile, "supports_json_schema_output": True}
    model._profile = {**profile, "default_structured_output_mode": "native"}  # type: ignore[assignment]  # as a provider's
    vars(model).pop("profile", None)
    return model


async def answered(
    model: ScriptedModel, schema: Json = CITY, *, max_turns: int | None = None
) -> tuple[Run, AgentWorld]:
    agent = Agent(model=model, tools=[look, pay], max_turns=max_turns)
    async with AgentWorld(agent) as world:
        world.policy = {"outputSchema": schema}
        return await world.answered(), world


@pytest.mark.req("OUT-01")
async def test_an_answer_of_the_form_is_the_runs_output_and_ends_it() -> None:
    model = ScriptedModel(gives(OSLO))

    run, world = await answered(model)

    assert (run.status, run.stopped, run.output) == (RunStatus.COMPLETED, "final", OSLO)
    assert world.said() == [
        ("user", "complete", "hello"),
        ("assistant", "complete", f"{TOOL}({OSLO})"),
        ("tool", "complete", "Taken."),
    ]
    asked = model.offers[0].model_request_parameters
    assert [each.name for each in asked.output_tools] == [TOOL]
    assert asked.output_tools[0].parameters_json_schema == CITY
    assert not asked.allow_text_output


@pytest.mark.req("OUT-01")
async def test_without_a_form_there_is_no_output_and_the_model_is_not_asked_for_one() -> None:
    model = ScriptedModel("Oslo.")
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert run.output is None
    assert model.offers[0].model_request_parameters.output_tools == []


@pytest.mark.req("OUT-07")
async def test_tools_run_first_and_the_answer_follows() -> None:
    run, _ = await answered(ScriptedModel(Says(calls=[Asks("look")]), gives(OSLO)))

    assert (run.output, ran, run.usage.requests) == (OSLO, ["look"], 2)


@pytest.mark.req("OUT-07")
async def test_an_answer_beside_other_calls_waits_for_them_and_every_call_has_a_result() -> None:
    """Field case B112."""
    both = Says(calls=[Asks(TOOL, OSLO, "o1"), Asks("look", id="c1"), Asks("nothing", id="c2")])
    bergen: dict[str, Json] = {"name": "Bergen", "people": 290_000}

    run, world = await answered(ScriptedModel(both, gives(bergen, "o2")))

    assert (run.output, ran) == (bergen, ["look"])
    results = [text for role, _, text in world.said() if role == "tool"]
    assert results[0].startswith("!Not taken yet")
    assert results[1] == "seen"
    assert results[2].startswith("!There is no tool")
    assert results[3] == "Taken."


@pytest.mark.req("OUT-01")
async def test_an_answer_that_does_not_fit_goes_back_to_the_model() -> None:
    model = ScriptedModel(gives({"name": "Oslo"}), gives(OSLO, "o2"))

    run, _ = await answered(model)

    assert run.output == OSLO
    told = model.requests[1][-1].parts[0]
    assert isinstance(told, ToolReturnPart)
    assert told.content == "Not taken: 'people' is a required property."
    assert told.outcome == "failed"


@pytest.mark.req("OUT-01")
async def test_text_where_a_call_was_due_goes_back_with_the_schema() -> None:
    model = ScriptedModel("It is Oslo.", gives(OSLO))

    run, world = await answered(model)

    assert run.output == OSLO
    assert [role for role, _, _ in world.said()] == [
        "user",
        "assistant",
        "system",
        "assistant",
        "tool",
    ]
    last = model.requests[1][-1]
    assert isinstance(last, ModelRequest)
    told = last.parts[-1]
    assert isinstance(told, UserPromptPart)
    assert json.dumps(CITY) in str(told.content)


@pytest.mark.req("OUT-01")
async def test_after_the_last_retry_the_run_fails_and_says_what_did_not_fit() -> None:
    model = ScriptedModel(*(gives({"name": "Oslo"}, f"o{place}") for place in range(9)))

    run, _ = await answered(model)

    assert (run.status, run.output) == (RunStatus.FAILED, None)
    assert len(model.requests) == RETRIES + 1
    assert run.error is not None
    assert run.error.code == "OUTPUT_INVALID"
    assert run.error.message.endswith("4 times: 'people' is a required property")


@pytest.mark.req("OUT-01")
async def test_a_failed_run_that_is_retried_asks_once_more() -> None:
    wrong = [gives({}, f"o{place}") for place in range(RETRIES + 1)]
    model = ScriptedModel(*wrong[:RETRIES], Says(calls=wrong[RETRIES].calls), gives(OSLO, "o9"))
    async with AgentWorld(Agent(model=model)) as world:
        world.policy = {"outputSchema": CITY}
        failed = await world.answered()
        model._answers[RETRIES] = gives(OSLO, "o8")
        await world.store.retry(failed.thread_id, failed.id)
        await world.until(failed.id, RunStatus.COMPLETED)

        assert world.database.runs[failed.id].output == OSLO


@pytest.mark.req("OUT-01")
async def test_turns_that_run_out_end_the_run_without_an_output() -> None:
    run, _ = await answered(ScriptedModel(Says(calls=[Asks("look")])), max_turns=1)

    assert (run.status, run.stopped, run.output) == (RunStatus.COMPLETED, "maxTurns", None)


@pytest.mark.req("OUT-09")
@pytest.mark.parametrize("text", ["{}", "```json\n{}\n```", "  {}\n"])
async def test_a_provider_that_holds_to_the_form_itself_answers_in_text(text: str) -> None:
    model = native(text.replace("{}", json.dumps(OSLO)))

    run, world = await answered(model)

    assert run.output == OSLO
    assert len(world.said()) == 2
    asked = model.offers[0].model_request_parameters
    assert asked.output_tools == []
    assert asked.output_object is not None
    assert asked.output_object.json_schema == CITY


@pytest.mark.req("OUT-09")
async def test_text_that_does_not_fit_is_told_to_the_model_and_stays_told() -> None:
    model = native('{"name": "Oslo"}', "Well.", json.dumps(OSLO), "Bye.")
    async with AgentWorld(Agent(model=model)) as world:
        world.policy = {"outputSchema": CITY}
        run = await world.answered()
        assert run.output == OSLO
        world.policy = {}
        after = await world.answered("and now?")

        assert after.output is None
        kinds = [type(each).__name__ for each in model.requests[-1]]
        assert kinds == ["ModelRequest", "ModelResponse"] * 3 + ["ModelRequest"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, False),
        ({"type": "integer"}, 0),
        ({"type": "string"}, ""),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": ["string", "null"]}, None),
        ({"type": "object"}, {}),
    ],
)
@pytest.mark.req("OUT-01")
async def test_an_output_that_is_nothing_much_arrives_as_given(schema: Any, value: Json) -> None:  # noqa: ANN401
    given = value if schema == {"type": "object"} else {"response": value}

    called, _ = await answered(ScriptedModel(Says(calls=[Asks(TOOL, given)])), schema)  # type: ignore[arg-type]
    said, _ = await answered(native(json.dumps(given)), schema)

    for run in (called, said):
        assert run.status is RunStatus.COMPLETED
        assert run.output == value
        assert type(run.output) is type(value)


@pytest.mark.req("OUT-04")
async def test_a_union_by_a_literal_works_end_to_end() -> None:
    kinds = [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, "value": {"type": "number"}},
            "required": ["kind", "value"],
            "additionalProperties": False,
        }
        for kind in ("circle", "square", "line")
    ]
    schema: Json = {"oneOf": kinds}  # type: ignore[dict-item]
    line: Json = {"kind": "line", "value": 3}
    wrong = Asks(TOOL, {"response": {"kind": "dot", "value": 3}}, "o1")

    run, _ = await answered(
        ScriptedModel(Says(calls=[wrong]), Says(calls=[Asks(TOOL, {"response": line}, "o2")])),
        schema,
    )

    assert (run.output, run.usage.requests) == (line, 2)


@pytest.mark.req("APR-10")
@pytest.mark.parametrize("decision", [Decision.APPROVED, Decision.DENIED])
async def test_a_gated_call_pauses_and_the_output_comes_after_the_decision(
    decision: Decision,
) -> None:
    model = ScriptedModel(
        Says(calls=[Asks("pay", id="c1"), Asks(TOOL, OSLO, "o1")]), gives(OSLO, "o2")
    )
    async with AgentWorld(Agent(model=model, tools=[pay])) as world:
        world.policy = {"outputSchema": CITY}
        first = world.worker()
        run_id = await world.say()
        parked = await world.parked(run_id)
        assert (parked.output, ran) == (None, [])
        await first.kill()
        await world.decide("c1", decision)
        world.worker()
        run = await world.ended(run_id)

    assert run.output == OSLO
    assert ran == (["pay"] if decision is Decision.APPROVED else [])


@pytest.mark.req("APR-10")
async def test_an_agent_that_always_asks_does_not_ask_for_its_answer() -> None:
    agent = Agent(model=ScriptedModel(gives(OSLO)), autonomy="always_ask")
    async with AgentWorld(agent) as world:
        world.policy = {"outputSchema": CITY}
        run = await world.answered()

    assert run.output == OSLO


async def test_two_answers_at_once_are_one_too_many() -> None:
    two = Says(
        calls=[Asks(TOOL, {"name": 1}, "o1"), Asks(TOOL, OSLO, "o2"), Asks(TOOL, OSLO, "o3")]
    )

    run, world = await answered(ScriptedModel(two))

    assert run.output == OSLO
    results = [text for role, _, text in world.said() if role == "tool"]
    assert results == [
        "!Not taken: one answer is enough.",
        "Taken.",
        "!Not taken: one answer is enough.",
    ]


async def test_a_message_that_comes_with_the_answer_makes_the_model_answer_again() -> None:
    bergen: dict[str, Json] = {"name": "Bergen", "people": 290_000}
    held = asyncio.Event()
    first = Says("Let me see.", [Asks(TOOL, OSLO, "o1")], gate=held)
    model = ScriptedModel(first, gives(bergen, "o2"))
    async with AgentWorld(Agent(model=model)) as world:
        world.policy = {"outputSchema": CITY}
        world.worker()
        run_id = await world.say()
        await model.asked.wait()
        await world.signal("rather Bergen")
        held.set()
        run = await world.ended(run_id)

    assert run.output == bergen


async def cut_off(where: str, place: int, *, after: bool) -> tuple[object, bool]:
    """Kill a worker at a write of a run with misses and a gate; whether there was one."""
    ran.clear()
    model = native(
        "It is Oslo.",
        Says(calls=[Asks("pay", id="c1"), Asks(TOOL, OSLO, "o1")]),
        gives({"name": "Oslo"}, "o2"),
        json.dumps(OSLO),
    )
    guillotine = Guillotine(place, after=after)
    async with AgentWorld(Agent(model=model, tools=[pay])) as world:
        world.policy = {"outputSchema": CITY}
        port = world.journal if where == "complete" else world.store
        setattr(port, where, guillotine.over(getattr(port, where)))
        first = world.worker()
        run_id = await world.say()
        playing = asyncio.create_task(to_the_end(world, run_id))
        falling = asyncio.create_task(guillotine.fell.wait())
        await asyncio.wait({playing, falling}, return_when=asyncio.FIRST_COMPLETED)
        if guillotine.fell.is_set():
            await first.kill()
            world.worker()
            await world.take_over(first)
        falling.cancel()
        await playing
        run = world.database.runs[run_id]
        assert len(ran) <= 2
        return (run.status, run.stopped, run.output, world.said()), guillotine.fell.is_set()


@pytest.mark.req("OUT-03", "APR-10", "DUR-03")
@pytest.mark.parametrize("where", ["record", "park", "finish", "open_turn", "complete"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_death_at_any_write_changes_nothing_of_the_output(
    where: str, *, after: bool
) -> None:
    """Field case B114: the form asked for is in force for whoever resumes."""
    undisturbed, _ = await cut_off(where, 999, after=False)

    place, fell = 1, True
    while fell:
        found, fell = await cut_off(where, place, after=after)
        assert found == undisturbed, f"{where} {place}"
        place += 1

    assert place > 2
    assert OSLO in undisturbed  # type: ignore[operator]  # a tuple
