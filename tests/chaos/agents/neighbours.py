"""What happens around runs that are killed: sends that wait or replace, a failure that is mended.

Here are the agents that answer such sends, and the functions through which others reach them: each
thing once inside a transaction, and once at once.
"""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import ActionContext, Agent, MutationContext, ToolContext, action, mutation, tool
from app.authoring.producer import RunOptions

GOES = "go"
"""How a prompt begins that is answered by a call and by words; others by words alone."""
LOOK_S = 0.15
TIME_LIMIT_S = 0.9
"""After which a run fails that nobody has decided."""

Deltas = AsyncIterator[str | dict[int, DeltaToolCall]]


@tool
async def look(ctx: ToolContext) -> str:
    """Look around for a while."""
    await asyncio.sleep(LOOK_S)
    return "nothing"


@tool(needs_approval=True)
async def sign(ctx: ToolContext) -> str:
    """Sign something that only a person may have signed."""
    return "signed"


def _is_first(messages: list[ModelMessage]) -> bool:
    """Return whether nothing was answered since the newest prompt that asks for a call."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            return False
        if any(
            isinstance(part, UserPromptPart) and str(part.content).startswith(GOES)
            for part in message.parts
        ):
            return True
    return False


def _calls_first(tool_name: str) -> FunctionModel:
    """Return a model that calls a tool, and then says that it is done."""

    async def answer(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
        if _is_first(messages):
            yield {0: DeltaToolCall(tool_name, "{}", tool_call_id=f"call_{len(messages)}")}
        else:
            yield "Done."

    return FunctionModel(stream_function=answer)


queueing = Agent(
    description="Takes one thing after the other.",
    model=_calls_first("look"),
    tools=[look],
    on_concurrent_run="queue",
    access="public",
)

replacing = Agent(
    description="Drops what it does for what is said last.",
    model=_calls_first("look"),
    tools=[look],
    on_concurrent_run="replace",
    access="public",
)

hasty = Agent(
    description="Gives up when nobody decides in time.",
    model=_calls_first("sign"),
    tools=[sign],
    timeout=TIME_LIMIT_S,
    access="public",
)


@mutation
async def tell(ctx: MutationContext, key: str, text: str) -> None:
    """Put a message into a conversation, when this commits."""
    await ctx.agents.queueing.signal(key, text, "inject")


@action
async def tell_at_once(ctx: ActionContext, key: str, text: str) -> None:
    """Put a message into a conversation."""
    await ctx.agents.queueing.signal(key, text, "queue")


@mutation
async def poke(ctx: MutationContext, run_id: str) -> None:
    """Give a run an event, when this commits."""
    await ctx.agents.queueing.send_event(run_id, "poke")


@action
async def poke_at_once(ctx: ActionContext, run_id: str) -> None:
    """Give a run an event."""
    await ctx.agents.queueing.send_event(run_id, "poke")


@mutation
async def remind_a_stranger(ctx: MutationContext, key: str) -> None:
    """Let a run of somebody else's start soon under a key that nobody has yet."""
    run: RunOptions = {"input": "go later", "thread_key": key, "owner": "mallory"}
    await ctx.scheduler.run_after(0.3, "queueing", run)


@mutation
async def remind(ctx: MutationContext, key: str) -> None:
    """Let a run start soon, if this commits."""
    owner = ctx.auth.user_id
    run: RunOptions = {"input": "go later", "thread_key": key, "owner": owner}
    await ctx.scheduler.run_after(1, "queueing", run)
