"""Background loops that live exactly as long as a test needs them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def running(*loops: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Run ``loops`` meanwhile; one that raises fails the test, the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(loop) for loop in loops]
        yield
        for task in tasks:
            task.cancel()
