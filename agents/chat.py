"""The chat's own functions: clients call them as ``chat:startRun`` and ``chat:cancelRun``.

A page may as well call the built-in ``agents:agentRun``.  Functions of your own are
where your rules go: who may talk to which agent, and what else is written with it.
"""

from app import ActionContext, MutationContext, action, mutation


@mutation
async def start_run(ctx: MutationContext, input: str, thread_key: str) -> dict[str, str]:
    """Say something to the support agent, in a new conversation or an old one.

    The run is part of this mutation's transaction: if it fails, nothing has started.
    """
    run = await ctx.agents.support.run(input=input, owner=ctx.auth.user_id, thread_key=thread_key)
    return {"id": run.id}


@action(idempotent=True)
async def cancel_run(
    ctx: ActionContext, thread_key: str, run_id: str | None = None
) -> dict[str, bool]:
    """Stop a run of the caller's own conversation; without an id, whatever runs there now."""
    cancelled = await ctx.agents.support.cancel(run_id, thread_key=thread_key, by=ctx.auth)
    return {"cancelled": cancelled}
