"""Lanes on the session's servers, for tests that are no coroutines: many plays in one loop."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from tests.support.crash_points.campaign import Campaign
from tests.support.crash_points.deployment import lanes
from tests.support.embedded_stores import Databases

T = TypeVar("T")


def play_all(
    databases: Databases,
    template: str,
    redis_url: str,
    seed: int,
    plays: Callable[[Campaign], Awaitable[T]],
) -> T:
    """Return what ``plays`` returns of a campaign on fresh lanes."""

    async def run(folder: Path) -> T:
        async with lanes(databases, template, redis_url, folder) as (forking, found):
            return await plays(Campaign(found, forking.points, seed))

    with tempfile.TemporaryDirectory(prefix="rw-crash-points-") as folder:
        return asyncio.run(run(Path(folder)))
