"""Several bodies at once."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

R = TypeVar("R")


async def concurrently(bodies: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Return what the bodies return, in their order; the first that raises cuts the others off.

    One alone runs in the caller's task: most turns have one call.
    """
    if len(bodies) == 1:
        return [await bodies[0]]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(body) for body in bodies]
    return [task.result() for task in tasks]
