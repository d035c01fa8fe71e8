"""The chat's own functions: clients call them as ``chat:startRun`` and ``chat:cancelRun``.

A page may as well call the built-in ``agents:agentRun``.  Functions of your own are
where your rules go: who may talk to which agent, and what else is written with it.
"""

from dataclasses import dataclass
from typing import Literal

from app import ActionContext, MutationContext, action, mutation


@dataclass
class Started:
    """The run that will answer."""

    id: str


@dataclass
class Stopped:
    """Whether there was anything to stop."""

    cancelled: bool


@mutation
async def start_run(
    ctx: MutationContext,
    input: str,
    thread_key: str,
    agent: Literal["support", "order-desk"] = "support",
) -> Started:
    """Say something to an agent, in a new conversation or an old one.

    The run is part of this mutation's transaction: if it fails, nothing has started.
    """
    asked = ctx.agents.support if agent == "support" else ctx.agents.order_desk
    run = await asked.run(input=input, owner=ctx.auth.user_id, thread_key=thread_key)
    return Started(run.id)


@action(idempotent=True)
async def cancel_run(ctx: ActionContext, thread_key: str, run_id: str | None = None) -> Stopped:
    """Stop a run of the caller's own conversation; without an id, whatever runs there now."""
    for agent in (ctx.agents.support, ctx.agents.order_desk):
        if await agent.cancel(run_id, thread_key=thread_key, by=ctx.auth):
            return Stopped(cancelled=True)
    return Stopped(cancelled=False)
