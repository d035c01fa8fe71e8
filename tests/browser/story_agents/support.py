"""An agent whose model is played: it looks things up, asks before it pays, and tells a story.

While the file that ``HOLD_FILE`` names is there, a story stops after its first line and waits: so a
test can do something in the middle of it, however slow the machine.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from app import Agent, ApprovalPolicy, tool

FIRST_LINE = "A rope began as a handful of hemp in a long building. "
THE_REST = "Yarn became strand, strand became rope, and it held. The end."

Said = AsyncIterator[str | DeltaToolCalls]


@tool
async def look_up(city: str) -> dict[str, object]:
    """Tell the weather."""
    return {"city": city, "sky": "clear"}


@tool(needs_approval=ApprovalPolicy(editable=True))
async def refund(order: int, cents: int) -> dict[str, int]:
    """Give money back."""
    return {"order": order, "refunded": cents}


async def _speak(messages: list[ModelMessage], _: AgentInfo) -> Said:
    asked, last = _asked(messages)
    if isinstance(last, ToolReturnPart):
        said = _words("That is all that I have found out about it.")
    elif asked.startswith("Weather"):
        said = _calls("look_up", ['{"city": "Oslo"}', '{"city": "Rome"}'])
    elif asked.startswith("Refund"):
        said = _calls("refund", [f'{{"order": {order}, "cents": 6000}}' for order in (1, 2, 3)])
    elif asked.startswith("Story"):
        said = _story()
    else:
        said = _words(f"You said: {asked}")
    async for piece in said:
        yield piece


async def _words(text: str) -> Said:
    for word in text.split(" "):
        await asyncio.sleep(0.01)
        yield f"{word} "


async def _calls(name: str, inputs: list[str]) -> Said:
    """Say a word, then ask for calls, their arguments in two halves."""
    async for word in _words("Let me see what I can do."):
        yield word
    for index, text in enumerate(inputs, start=1):
        half = len(text) // 2
        yield {index: DeltaToolCall(name, text[:half])}
        await asyncio.sleep(0.02)
        yield {index: DeltaToolCall(json_args=text[half:])}


async def _story() -> Said:
    async for word in _words(FIRST_LINE):
        yield word
    while _is_held():  # noqa: ASYNC110 - it is another process that lets go
        await asyncio.sleep(0.02)
    async for word in _words(THE_REST):
        yield word


def _is_held() -> bool:
    return Path(os.environ["HOLD_FILE"]).exists()


def _asked(messages: list[ModelMessage]) -> tuple[str, object]:
    """Return the newest thing a person said, and the newest part of all."""
    parts = [
        part for message in messages if isinstance(message, ModelRequest) for part in message.parts
    ]
    prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
    return str(prompts[-1]), parts[-1]


support = Agent(
    name="Support",
    instructions="Do as you are told.",
    model=FunctionModel(stream_function=_speak),
    tools=[look_up, refund],
    access="public",
)
