"""Lanes on the servers of a test session, or on servers of their own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.support.crash_points.lane import Lane, lane
from tests.support.crash_points.zygote import ROOT, Zygote, zygote
from tests.support.embedded_stores import Databases

AGENTS = ROOT / "tests" / "chaos" / "agents"
LANES = 3
"""Of two cores: a lane waits for a takeover most of the time."""


@asynccontextmanager
async def lanes(
    databases: Databases, template: str, redis_url: str, folder: Path, *, count: int = LANES
) -> AsyncIterator[tuple[Zygote, list[Lane]]]:
    """Yield a process that forks, and lanes whose workers it forks.

    Args:
        databases: where each lane gets one.
        template: a migrated and audited database.
        redis_url: where each lane gets a namespace.
        folder: for traces and logs.
        count: how many.
    """
    async with AsyncExitStack() as stack:
        forking = await stack.enter_async_context(zygote(AGENTS))
        found = []
        for number in range(count):
            url = stack.enter_context(databases.fresh(template))
            found.append(
                await stack.enter_async_context(
                    lane(
                        forking,
                        database_url=url,
                        redis_url=redis_url,
                        folder=folder / f"lane-{number}",
                        agents=AGENTS,
                    )
                )
            )
        yield forking, found
