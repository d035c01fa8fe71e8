"""Agents for the end-to-end tests: scripted models, and tools that count outside our stores.

``COUNTER_FILE`` names a file that every tool body appends to when it starts and when it
ends, so that a test can see what ran, whatever the stores say.
"""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, tool
from tests.support.counted import note

CALLS = 20


@tool
async def count(ctx: ToolContext, seconds: float = 0.0) -> str:
    """Count one call.

    Args:
        seconds: how long it takes.
    """
    note("start", ctx.idempotency_key)
    await asyncio.sleep(seconds)
    note("end", ctx.idempotency_key)
    return "counted"


@tool(needs_approval=True)
async def sign(ctx: ToolContext) -> str:
    """Sign something that only a person may have signed."""
    note("start", ctx.idempotency_key)
    note("end", ctx.idempotency_key)
    return "signed"


def _asked(messages: list[ModelMessage]) -> str:
    """Return the newest thing a person said."""
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return str(prompts[-1])


def _results(messages: list[ModelMessage]) -> int:
    """Return how many results came since a person spoke."""
    found = 0
    for message in messages:
        if isinstance(message, ModelResponse):
            continue
        if any(isinstance(part, UserPromptPart) for part in message.parts):
            found = 0
        found += sum(isinstance(part, ToolReturnPart) for part in message.parts)
    return found


async def _count_up(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Call ``count`` as often as asked (``CALLS`` if not said), one call a turn, then say so."""
    words = _asked(messages).split()
    calls = int(words[1]) if len(words) > 1 else CALLS
    seconds = float(words[2]) if len(words) > 2 else 0.02
    done = _results(messages)
    if done < calls:
        arguments = f'{{"seconds": {seconds}}}'
        yield {0: DeltaToolCall("count", arguments, tool_call_id=f"call_{done}")}
    else:
        yield f"counted {done}"


async def _tell(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    """Tell a long story, a word at a time."""
    for number in range(100):
        await asyncio.sleep(0.02)
        yield f"word{number} "


async def _sign(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    if _results(messages):
        yield "done"
    else:
        yield {0: DeltaToolCall("sign", "{}", tool_call_id="call_sign")}


counting = Agent(
    name="Counting",
    instructions="Count.",
    model=FunctionModel(stream_function=_count_up),
    tools=[count],
    access="public",
)

telling = Agent(
    name="Telling",
    instructions="Tell.",
    model=FunctionModel(stream_function=_tell),
    access="public",
)

signing = Agent(
    name="Signing",
    instructions="Sign.",
    model=FunctionModel(stream_function=_sign),
    tools=[sign],
    access="public",
)
