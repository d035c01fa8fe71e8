"""Crons for the end-to-end tests: some each second, some that have to be let come."""

import asyncio
import os
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import ActionContext, Agent, MutationContext, action, agents, crons, mutation
from tests.support.counted import note

FAR = os.environ["FAR_MINUTE"]
"""A minute that does not come while the tests run."""


async def tick_on(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
    yield "tick"


ticking = Agent(
    name="Ticking",
    model=FunctionModel(stream_function=tick_on),
    access="public",
    instructions="Tick.",
)


@mutation(internal=True)
async def tidy(ctx: MutationContext, key: str) -> None:
    """Write down that it was called."""
    note("tidied", f"{key}/{ctx.auth.user_id}")


@action(internal=True)
async def dawdle(ctx: ActionContext) -> None:
    """Take longer than a second."""
    note("start", "dawdle")
    await asyncio.sleep(1.3)
    note("end", "dawdle")


@mutation
async def tidy_later(ctx: MutationContext, key: str) -> str:
    """Schedule a call."""
    return (await ctx.scheduler.run_after(300, tidy, {"key": key})).id


crons.cron("tick", "* * * * * *", agents.ticking, {"input": "tick"})
crons.cron("dawdle", "* * * * * *", dawdle)
for word in ("skip", "one", "all"):
    crons.cron(
        word,
        f"{FAR} * * * *",
        ticking,
        {"input": word, "thread_key": f"caught-{word}"},
        catch_up=word,
    )
