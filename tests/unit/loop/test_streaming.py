"""Words are handed on as they come, the first piece of a part included."""

import asyncio
from collections.abc import Callable

import pytest
from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    NativeToolCallPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from app import Agent
from app.domain.run import Usage
from app.loop.streaming import hand_on
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Says, ScriptedModel
from tests.support.wait_until import wait_until

__all__ = ["no_backoff"]


class Heard:
    def __init__(self) -> None:
        self.pieces: list[tuple[int, str, str]] = []

    def add(self, part: int, kind: str, text: str) -> None:
        self.pieces.append((part, kind, text))

    def costs(self, so_far: Callable[[], Usage]) -> None: ...

    async def close(self) -> None: ...


EVENTS: list[ModelResponseStreamEvent] = [
    PartStartEvent(index=0, part=ThinkingPart("Hm", signature="secret")),
    PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta=None, signature_delta="more")),
    PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta=".")),
    PartEndEvent(index=0, part=ThinkingPart("Hm.")),
    PartStartEvent(index=1, part=TextPart("It ")),
    PartDeltaEvent(index=1, delta=TextPartDelta(content_delta="is")),
    PartStartEvent(index=2, part=ToolCallPart("t", None, "c1")),
    PartDeltaEvent(index=2, delta=ToolCallPartDelta(args_delta='{"a":')),
    PartDeltaEvent(index=2, delta=ToolCallPartDelta(args_delta={"whole": 1})),
    PartDeltaEvent(index=2, delta=ToolCallPartDelta(args_delta="1}")),
    PartStartEvent(index=3, part=NativeToolCallPart("search", "q", tool_call_id="n")),
]


def test_each_kind_of_text_goes_to_its_part_and_nothing_private_does() -> None:
    heard = Heard()

    for event in EVENTS:
        hand_on(event, heard)

    assert heard.pieces == [
        (0, "thinking", "Hm"),
        (0, "thinking", "."),
        (1, "text", "It "),
        (1, "text", "is"),
        (2, "tool_args", '{"a":'),
        (2, "tool_args", "1}"),
    ]


@pytest.mark.req("SUB-07")
async def test_words_are_seen_before_the_message_is_stored() -> None:
    gate = asyncio.Event()
    model = ScriptedModel(Says("One two three four", gate=gate))
    async with AgentWorld(Agent(model=model)) as world:
        world.worker()
        run_id = await world.say()
        await wait_until(lambda: _shown(world) == "One two three", description="three words")
        rows_before = len(world.rows())
        gate.set()
        await world.ended(run_id)

    assert (rows_before, len(world.rows())) == (1, 2)


async def test_cancelling_mid_stream_keeps_exactly_the_words_that_were_seen() -> None:
    model = ScriptedModel(Says("One two three four", gate=asyncio.Event()))
    async with AgentWorld(Agent(model=model)) as world:
        world.worker()
        run_id = await world.say()
        await wait_until(lambda: _shown(world) == "One two three", description="three words")
        await world.store.cancel(world.thread().id, run_id)

    assert world.said()[1:] == [("assistant", "interrupted", "One two three")]


def _shown(world: AgentWorld) -> str:
    logs = world.journal._logs.values()
    return "".join(text.text for log in logs for text in log.shown.values())
