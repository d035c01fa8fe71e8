"""A direct look into Postgres, past the storm's network, that outlasts restarts."""

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg

_AWAY = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    EOFError,
)


class Look:
    """One connection, made again when it is lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._lock = asyncio.Lock()

    async def rows(self, statement: str, *arguments: object) -> list[asyncpg.Record] | None:
        """Return rows, or nothing while Postgres is away."""
        async with self._lock:
            try:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await asyncpg.connect(self._url, timeout=5)
                return await self._connection.fetch(statement, *arguments, timeout=10)
            except _AWAY:
                await self._drop()
                return None

    async def sure(self, statement: str, *arguments: object) -> list[dict[str, Any]]:
        """Return rows as soon as Postgres answers."""
        async with asyncio.timeout(60):
            while (found := await self.rows(statement, *arguments)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return [dict(row) for row in found]

    async def close(self) -> None:
        """Close it."""
        async with self._lock:
            await self._drop()

    async def _drop(self) -> None:
        if self._connection is not None:
            with suppress(*_AWAY):
                self._connection.terminate()
            self._connection = None
