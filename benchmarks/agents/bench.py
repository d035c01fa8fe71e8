"""Agents for the benchmarks: models that answer at once, and a tool that does nothing.

What is left to measure is Ropewalk.  Serve them with ``ropewalk dev --agents benchmarks/agents``.
"""

import re
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from app import Agent, tool

WORDS = tuple(f"word{number} " for number in range(20))


@tool
async def tick() -> str:
    """Do nothing."""
    return "ok"


async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    """Say twenty words, without a pause."""
    del messages, info
    for word in WORDS:
        yield word


async def call_and_call(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    """Call ``tick`` as often as the first message says, one call a turn.

    Costs the same in every turn: the turn's number is the length of the history.
    """
    del info
    turn = len(messages) // 2
    if turn < _wanted(messages):
        yield {0: DeltaToolCall("tick", "{}", tool_call_id=f"call_{turn}")}
    else:
        yield "done"


def _wanted(messages: list[ModelMessage]) -> int:
    """Return the number in the thread's first message."""
    first = messages[0]
    said = first.parts[0] if isinstance(first, ModelRequest) else None
    text = said.content if isinstance(said, UserPromptPart) else ""
    found = re.search(r"\d+", text if isinstance(text, str) else "")
    return int(found[0]) if found else 1


echo = Agent(
    description="Says twenty words at once.",
    model=FunctionModel(stream_function=speak, model_name="speak"),
    access="public",
)
ticker = Agent(
    description="Calls a tool N times, N from the message.",
    model=FunctionModel(stream_function=call_and_call, model_name="ticker"),
    tools=[tick],
    max_turns=100_000,
    access="public",
)
