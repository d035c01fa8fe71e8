"""The scripted model answers in whatever form is asked for: it can be seen without a key."""

from typing import Any

import pytest

from app import Agent, tool
from app.domain.run import RunStatus
from app.models.demo_output import sample
from app.threads.output_schema import OutputShape
from tests.support.agent_world import AgentWorld, no_backoff

__all__ = ["no_backoff"]

LATE: dict[str, Any] = {
    "type": "object",
    "properties": {"late": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["late", "why"],
}


@pytest.mark.parametrize(
    "schema",
    [
        LATE,
        {"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2},
        {"type": ["string", "null"], "maxLength": 2},
        {"enum": ["a", "b"]},
        {"oneOf": [{"type": "object", "properties": {"k": {"const": "x"}}, "required": ["k"]}]},
        {"anyOf": [{"type": "null"}, {"type": "number"}]},
        {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/n"}},
            "required": ["next"],
            "$defs": {"n": {"type": "object", "properties": {"v": {"type": "string"}}}},
        },
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
    ],
)
def test_what_it_makes_up_fits(schema: dict[str, Any]) -> None:
    shape = OutputShape.of(schema)

    shape.read(sample(shape.shown, "Hello there."))


@pytest.mark.req("OUT-07")
async def test_it_calls_its_tools_first_and_then_answers_in_the_form() -> None:
    @tool
    async def look_up_order(order_id: str) -> dict[str, str]:
        """Look up an order."""
        return {"order_id": order_id, "status": "shipped"}

    async with AgentWorld(Agent(model="demo:", tools=[look_up_order])) as world:
        world.policy = {"outputSchema": LATE}
        run = await world.answered("Where is order 1001?")

    assert run.status is RunStatus.COMPLETED
    assert isinstance(run.output, dict)
    assert run.output["late"] is False
    assert run.output["why"]
    assert run.usage.requests == 2
