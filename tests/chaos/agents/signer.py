"""The agent whose calls people decide in all the ways that there are.

turn 0   two calls that are decided together, one of them with other arguments; one that nobody
         decides, so that its time decides it; and one that another agent answers, which has to
         ask a person itself: its card is shown in this thread
turn 1   words
"""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ApprovalPolicy, ToolContext, tool
from app.authoring.tools import Call

PATIENCE_S = 0.25
"""After which a call is decided that nobody has decided."""

Deltas = AsyncIterator[str | dict[int, DeltaToolCall]]


async def _is_asked(call: Call) -> bool:
    await asyncio.sleep(0)
    return bool(call.amount)


@tool(needs_approval=ApprovalPolicy(editable=True, when=_is_asked))
async def pay(ctx: ToolContext, amount: int) -> str:
    """Pay somebody.

    Args:
        ctx: of the call.
        amount: how much.
    """
    return f"paid {amount}"


@tool(needs_approval=ApprovalPolicy(expires_in=PATIENCE_S, on_expiry="approved"))
async def lend(ctx: ToolContext) -> str:
    """Lend something, unless somebody objects in time."""
    return "lent"


@tool(needs_approval=True)
async def stamp(ctx: ToolContext) -> str:
    """Stamp something."""
    return "stamped"


async def _sign(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if any(isinstance(message, ModelResponse) for message in messages):
        yield "Done."
        return
    yield {0: DeltaToolCall("pay", '{"amount": 1}', tool_call_id="call_a")}
    yield {1: DeltaToolCall("pay", '{"amount": 2}', tool_call_id="call_b")}
    yield {2: DeltaToolCall("lend", "{}", tool_call_id="call_lend")}
    yield {3: DeltaToolCall("deputy", '{"message": "go"}', tool_call_id="call_deputy")}


def _calls_once(name: str, arguments: str) -> FunctionModel:
    """Return a model that makes one call, and then says that all is stamped."""

    async def answer(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
        if any(isinstance(message, ModelResponse) for message in messages):
            yield "Stamped."
        else:
            yield {0: DeltaToolCall(name, arguments, tool_call_id=f"call_{name}")}

    return FunctionModel(stream_function=answer)


clerk = Agent(
    description="Stamps things.",
    model=_calls_once("stamp", "{}"),
    tools=[stamp],
    access="internal",
)

deputy = Agent(
    description="Has things stamped.",
    model=_calls_once("clerk", '{"message": "go"}'),
    tools=[clerk],
    access="internal",
)

signer = Agent(
    description="Signs what people let it sign.",
    model=FunctionModel(stream_function=_sign),
    tools=[pay, lend, deputy],
    access="public",
)
