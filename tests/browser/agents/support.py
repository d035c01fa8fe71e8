"""An agent whose model does as it is told: speaks for a while, breaks off, or says it back.

While the file that ``BROKEN_FILE`` names is there, a story breaks off in the middle.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import Agent

WORDS = 60


async def _speak(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    asked = _asked(messages)
    if not asked.startswith("Tell"):
        yield f"You said: {asked}"
        return
    for number in range(WORDS):
        await asyncio.sleep(0.04)
        yield f"word{number} "
        if number == WORDS // 2 and _is_broken():
            raise ModelHTTPError(400, "scripted", {"message": "this story is not for us"})
    yield "told."


def _is_broken() -> bool:
    return Path(os.environ["BROKEN_FILE"]).exists()


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


support = Agent(
    name="Support",
    instructions="Do as you are told.",
    model=FunctionModel(stream_function=_speak),
    on_concurrent_run="steer",
    access="public",
)
