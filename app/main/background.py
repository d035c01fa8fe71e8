"""Loops that run beside the rest of a process, for as long as a block lasts."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background(**loops: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run ``loops``, each named by its keyword, until the block ends.

    A loop that fails ends the block, and its error is raised as it is.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(loop, name=name) for name, loop in loops.items()]
            yield
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        # The first one is the cause; what failed because the block was cut off is not.
        raise errors.exceptions[0] from errors
