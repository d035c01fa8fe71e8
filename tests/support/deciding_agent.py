"""An agent that makes the calls that it is told to make, and notes which gated bodies ran.

The prompt is a list of calls: ``[["c0", "pay", 1], ...]``, each an id, a tool and an amount; to
whatever else is said it answers in words.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ApprovalPolicy, ToolContext, tool

RAN: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
"""By thread: call and amount of each gated body that was started in this process."""


@tool(needs_approval=ApprovalPolicy(editable=True))
async def pay(ctx: ToolContext, amount: int) -> str:
    """Pay somebody."""
    RAN[ctx.thread_key].append((ctx.tool_call_id, amount))
    return f"paid {amount}"


@tool(needs_approval=ApprovalPolicy(approvers=["$owner", "dave"]))
async def wire(ctx: ToolContext, amount: int) -> str:
    """Wire something."""
    RAN[ctx.thread_key].append((ctx.tool_call_id, amount))
    return f"wired {amount}"


@tool
async def look(amount: int) -> str:
    """Look at something."""
    return f"saw {amount}"


async def _play(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    said = ""
    for message in messages:
        if isinstance(message, ModelResponse):
            said = ""
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart) and str(part.content).startswith("[["):
                said = str(part.content)
    if not said:
        yield "Done."
        return
    for index, (call, name, amount) in enumerate(json.loads(said)):
        arguments = json.dumps({"amount": amount})
        yield {index: DeltaToolCall(name, arguments, tool_call_id=call)}


def deciding_agent() -> Agent:
    """Return one; each world binds its own."""
    return Agent(
        slug="a",
        model=FunctionModel(stream_function=_play),
        tools=[pay, wire, look],
        access="authenticated",
        on_concurrent_run="steer",
    )
