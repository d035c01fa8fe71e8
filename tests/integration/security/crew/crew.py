"""Agents that do what the message says, and hand every call on to a server function."""

import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, agent_as_tool, tool


async def _play(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    said, answers = "", 0
    for message in messages:
        if isinstance(message, ModelResponse):
            answers += 1
        elif isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    said, answers = str(part.content), 0
    if answers or not said.startswith("["):
        yield "done"
        return
    name, arguments = json.loads(said)
    yield {0: DeltaToolCall(name, json.dumps(arguments), tool_call_id="call_1")}


MODEL = FunctionModel(stream_function=_play)


@tool
async def relay(ctx: ToolContext, ref: str, args: dict[str, Any]) -> object:
    """Call whatever it is told to.

    Args:
        ref: which function.
        args: its arguments.
    """
    return await ctx.run(ref, args)


@tool
async def paint(ctx: ToolContext, state: str) -> str:
    """Set the thread's state.

    Args:
        state: to what.
    """
    await ctx.set_state({"secret": state})
    return "painted"


@tool(needs_approval=True)
async def sign(ctx: ToolContext) -> str:
    """Sign something that only a person may have signed."""
    return "signed"


inner = Agent(slug="inner", model=MODEL, access="internal")
desk = Agent(
    slug="desk",
    model=MODEL,
    tools=[relay, paint, sign, agent_as_tool(inner, name="ask_inner")],
    access="authenticated",
)
kiosk = Agent(slug="kiosk", model=MODEL, access="public")
