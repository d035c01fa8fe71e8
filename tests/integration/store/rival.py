"""Somebody else at the same row, held at the moment that matters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg

from tests.support.wait_until import wait_until

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

_WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@dataclass(frozen=True, slots=True)
class Rival:
    """Holds a thread's row until the others wait for it."""

    connection: Connection
    watch: Connection

    @asynccontextmanager
    async def holding(self, thread_id: str) -> AsyncIterator[Connection]:
        """Hold the thread's lock inside the block, and commit at its end."""
        async with self.connection.transaction():
            await self.connection.execute(
                "SELECT FROM agent_threads WHERE id = $1 FOR NO KEY UPDATE", thread_id
            )
            yield self.connection

    async def until_waited_for(self, waiters: int = 1) -> None:
        """Return when this many sessions wait for a lock."""

        async def enough() -> bool:
            waiting: int = await self.watch.fetchval(_WAITING)
            return waiting >= waiters

        await wait_until(enough, description=f"{waiters} sessions wait for a lock")
