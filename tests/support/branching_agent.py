"""An agent whose conversations are forked and branched; it notes what its model was sent.

The prompt is a list of calls, ``[["c0", "pay", 1], ...]``, each an id, a tool and an amount; to
whatever else is said it answers in words that no other answer has.
"""

import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, agent_as_tool, tool

SEEN: list[list[str]] = []
"""What each request held, in words."""
PAID: defaultdict[str, list[int]] = defaultdict(list)
"""By thread: the amount of each payment that was made."""

_count = itertools.count(1)


@tool(needs_approval=True)
async def pay(ctx: ToolContext, amount: int) -> str:
    """Pay somebody."""
    PAID[ctx.thread_key].append(amount)
    return f"paid {amount}"


@tool
async def look(amount: int) -> str:
    """Look at something."""
    return f"saw {amount}"


def in_words(messages: Sequence[ModelMessage]) -> list[str]:
    """Return what a model was sent, one line for each part."""
    lines = []
    for message in messages:
        for part in message.parts:
            match part:
                case UserPromptPart():
                    lines.append(f"user: {part.content}")
                case TextPart():
                    lines.append(f"model: {part.content}")
                case ToolCallPart():
                    lines.append(f"call: {part.tool_call_id}")
                case ToolReturnPart():
                    lines.append(f"result: {part.tool_call_id} {part.content}")
                case _:
                    pass
    return lines


async def _play(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    SEEN.append(in_words(messages))
    said: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            said = []
        said += [str(part.content) for part in message.parts if isinstance(part, UserPromptPart)]
    calls = next((each for each in said if each.startswith("[[")), None)
    if calls is None:
        yield f"answer {next(_count)}"
        return
    for index, (call, name, amount) in enumerate(json.loads(calls)):
        told = {"message": json.dumps(amount)} if name == "ask_child" else {"amount": amount}
        yield {index: DeltaToolCall(name, json.dumps(told), tool_call_id=call)}


def branching_agents() -> tuple[Agent, Agent]:
    """Return an agent and the one that it may ask."""
    model = FunctionModel(stream_function=_play)
    child = Agent(slug="child", model=model, tools=[pay, look], access="internal")
    ask_child = agent_as_tool(child, name="ask_child")
    desk = Agent(slug="desk", model=model, tools=[pay, look, ask_child], access="authenticated")
    return desk, child
