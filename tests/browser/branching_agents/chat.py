"""The functions that the page calls."""

from app import ActionContext, MutationContext, action, mutation


@mutation
async def start_run(
    ctx: MutationContext,
    input: str,  # noqa: A002 - the wire's word
    thread_key: str,
) -> dict[str, str]:
    """Say something."""
    run = await ctx.agents.support.run(
        input=input,
        owner=ctx.auth.user_id,
        thread_key=thread_key,
    )
    return {"id": run.id}


@action(idempotent=True)
async def cancel_run(
    ctx: ActionContext, thread_key: str, run_id: str | None = None
) -> dict[str, bool]:
    """Stop a run of the caller's own conversation."""
    cancelled = await ctx.agents.support.cancel(run_id, thread_key=thread_key, by=ctx.auth)
    return {"cancelled": cancelled}
