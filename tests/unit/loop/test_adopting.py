"""When another worker's record stands already, its words count, not ours."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelRequest, ToolReturnPart

from app import Agent, tool
from app.domain.message import tool_result_part
from app.domain.record import FilledMessage, Record
from app.domain.run import Fence
from app.domain.storable import encode
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


@tool
async def tick() -> str:
    return "ours"


def theirs(record: Record) -> Record:
    filled = record.writes.filled
    assert isinstance(filled, FilledMessage)
    parts = encode([tool_result_part("call_1", "tick", "theirs", is_error=False)])
    writes = replace(record.writes, filled=replace(filled, parts=parts))
    return replace(record, value=encode("their-draft"), writes=writes)


async def test_the_model_reads_the_result_that_is_recorded() -> None:
    model = ScriptedModel(Says(calls=[Asks("tick")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[tick])) as world:
        complete = world.journal.complete

        async def after_another(
            fence: Fence, record: Record, confirmed: Sequence[str]
        ) -> Record | None:
            if record.step == "tool:tick:call_1":
                await complete(fence, theirs(record), confirmed)
            return await complete(fence, record, ())

        vars(world.journal)["complete"] = after_another
        await world.answered()

    last = model.requests[1][-1]
    assert isinstance(last, ModelRequest)
    (result,) = last.parts
    assert isinstance(result, ToolReturnPart)
    assert result.content == "theirs"
    assert world.said()[2] == ("tool", "complete", "theirs")


async def test_the_answer_that_is_recorded_goes_on() -> None:
    model = ScriptedModel("Ours.", "Later.")
    async with AgentWorld(Agent(model=model)) as world:
        complete = world.journal.complete

        async def after_another(
            fence: Fence, record: Record, confirmed: Sequence[str]
        ) -> Record | None:
            if record.step == "llm:turn:0" and len(world.rows()) == 1:
                (answer,) = record.writes.messages
                assert answer.model is not None
                other = replace(
                    answer,
                    id="their-message",
                    model=answer.model.replace("Ours.", "Theirs."),
                    parts=answer.parts.replace("Ours.", "Theirs."),
                )
                value = record.value.replace(answer.id, other.id)
                writes = replace(record.writes, messages=(other,))
                await complete(fence, replace(record, value=value, writes=writes), confirmed)
            return await complete(fence, record, ())

        vars(world.journal)["complete"] = after_another
        run = await world.answered("one")

    assert run.stopped == "final"
    assert world.said()[1] == ("assistant", "complete", "Theirs.")
