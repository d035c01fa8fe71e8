"""Owns the gateway's tasks: each is known, a failure is logged, none outlives ``close``.

Unlike ``asyncio.TaskGroup`` one that fails takes no other with it: sockets have nothing
to do with each other.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

_log = logging.getLogger(__name__)


class Tasks:
    """A set of running tasks."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def __len__(self) -> int:
        """Return how many run."""
        return len(self._running)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run ``work`` until it ends or ``close`` is called; after that, not at all."""
        if self._is_closed:
            work.close()
            return
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)

    async def ended(self, *, within_s: float) -> None:
        """Wait until none runs, new ones included, but no longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._running:
                    await asyncio.wait(tuple(self._running))

    async def close(self) -> None:
        """Cancel what runs and wait for it."""
        self._is_closed = True
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed", task.get_name(), exc_info=error)
