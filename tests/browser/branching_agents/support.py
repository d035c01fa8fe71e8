"""An agent whose answers are numbered, and that pays only when a person says so.

Each answer is a line of the file that ``TAKES_FILE`` names, and each payment one of ``PAID_FILE``.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from app import Agent, tool


def _note(name: str, line: str) -> int:
    """Add a line to a file; return how many it has."""
    file = Path(os.environ[name])
    with file.open("a") as lines:
        lines.write(line + "\n")
    return len(file.read_text().splitlines())


@tool(needs_approval=True)
async def pay(amount: int) -> dict[str, int]:
    """Pay.

    Args:
        amount: in dollars.
    """
    _note("PAID_FILE", str(amount))
    return {"paid": amount}


async def _speak(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    asked, last = _asked(messages)
    take = _note("TAKES_FILE", asked)
    if asked.startswith("Pay") and not isinstance(last, ToolReturnPart):
        yield {0: DeltaToolCall("pay", '{"amount": 60}', tool_call_id=f"pay-{take}")}
        return
    for word in f"Take {take} on".split():
        await asyncio.sleep(0.05)
        yield f"{word} "
    yield f"“{asked}”."


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
    tools=[pay],
    access="public",
)
