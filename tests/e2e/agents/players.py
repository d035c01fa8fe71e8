"""Agents that do what the message says: turns of tool calls, as JSON.

``[[["work", {"seconds": 1}], ["sign", {}]], [["work", {}]]]`` is a turn of two calls, then one of
one call; after the last turn the model says ``done``.  Whatever is no JSON is no turn at all.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, agent_as_tool, tool
from tests.support.counted import note
from tests.support.plays import Turns, turns_in

TURNS = 400


class Verdict(BaseModel):
    """What a judging agent answers."""

    late: bool


@tool
async def work(ctx: ToolContext, seconds: float = 0.0, says: str = "worked") -> str:
    """Take a while.

    Args:
        seconds: how long it takes.
        says: the result.
    """
    note("start", ctx.idempotency_key)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("cut", ctx.idempotency_key)
        raise
    note("end", ctx.idempotency_key)
    return says


@tool
async def hog_the_loop(ctx: ToolContext, seconds: float) -> str:
    """Let nobody else run.

    Args:
        seconds: for so long.
    """
    note("start", ctx.idempotency_key)
    time.sleep(seconds)  # noqa: ASYNC251  # what a careless tool does
    note("end", ctx.idempotency_key)
    return "hogged"


@tool
async def die(ctx: ToolContext) -> str:
    """Take the whole worker down, each time."""
    note("start", ctx.idempotency_key)
    os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


@tool(needs_approval=True)
async def sign(ctx: ToolContext) -> str:
    """Sign something that only a person may have signed."""
    note("start", ctx.idempotency_key)
    note("end", ctx.idempotency_key)
    return "signed"


def _prompts(messages: list[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def _turns_so_far(messages: list[ModelMessage]) -> int:
    """Return how often the model has spoken since a person did."""
    found = 0
    for message in messages:
        if isinstance(message, ModelResponse):
            found += 1
        elif any(isinstance(part, UserPromptPart) for part in message.parts):
            found = 0
    return found


async def _play(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    turns: Turns = turns_in(_prompts(messages)[-1])
    turn = _turns_so_far(messages)
    if turn >= len(turns):
        yield "done"
        return
    for place, (name, arguments) in enumerate(turns[turn]):
        call_id = f"call_{turn}_{place}"
        yield {place: DeltaToolCall(name, json.dumps(arguments), tool_call_id=call_id)}


async def _stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    """Say as many words as asked, at so many a second, whatever the listener does meanwhile."""
    count, a_second = map(int, _prompts(messages)[-1].split())
    begun = time.monotonic()
    note("speaks", str(count))
    for number in range(count):
        await asyncio.sleep(max(0.0, begun + number / a_second - time.monotonic()))
        yield f"word{number} "
    note("spoke", f"{time.monotonic() - begun:.3f}")


async def _play_and_tell(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Play, and write down all that people have said so far."""
    note("heard", json.dumps(_prompts(messages)))
    async for each in _play(messages, info):
        yield each


playing = Agent(
    model=FunctionModel(stream_function=_play),
    tools=[work, hog_the_loop, die, sign],
    access="public",
    max_turns=TURNS,
)

streaming = Agent(model=FunctionModel(stream_function=_stream), access="public")

queueing = Agent(
    model=FunctionModel(stream_function=_play_and_tell),
    tools=[work],
    access="public",
    on_concurrent_run="queue",
)

judging = Agent(
    model=FunctionModel(stream_function=_play),
    tools=[work],
    access="public",
    output=Verdict,
)

asking = Agent(
    model=FunctionModel(stream_function=_play),
    tools=[agent_as_tool(playing, name="ask")],
    access="public",
)
