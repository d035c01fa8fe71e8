"""Whether a gateway may get traffic: its stores answer, the schema is current, hints are heard.

Each check says what is wrong in words, or nothing.  All are bounded: a balancer that
asks must have its answer before it gives up on us.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redis.asyncio import Redis

from app.fanout.listener import Listener
from app.main.migrating import is_up_to_date
from app.store.database import Database

CHECK_S = 1.5
"""A check that takes longer has failed."""


@dataclass
class Readiness:
    """The checks of one gateway."""

    database: Database
    database_url: str
    redis: Redis
    listener: Listener
    agents: Path
    """The team's folder: its migrations are to be applied, too."""
    is_leaving: bool = False
    _is_current: bool = field(default=False, init=False)

    async def __call__(self) -> Mapping[str, str | None]:
        """Return what was checked, and what is wrong with it."""
        checks: Mapping[str, Callable[[], Awaitable[str | None]]] = {
            "postgres": self._postgres,
            "schema": self._schema,
            "redis": self._redis,
            "notifications": self._notifications,
            "server": self._server,
        }
        problems = await asyncio.gather(*(_in_time(check) for check in checks.values()))
        return dict(zip(checks, problems, strict=True))

    async def _postgres(self) -> str | None:
        await self.database.fetch("SELECT 1")
        return None

    async def _schema(self) -> str | None:
        # What was current stays so while this code runs: a later migration only expands.
        if not self._is_current:
            self._is_current = await asyncio.to_thread(
                is_up_to_date, self.database_url, self.agents
            )
        return None if self._is_current else "migrations are missing: run `ropewalk migrate`"

    async def _redis(self) -> str | None:
        await self.redis.ping()
        return None

    async def _notifications(self) -> str | None:
        return None if self.listener.is_listening else "Postgres is not heard"

    async def _server(self) -> str | None:
        return "going away" if self.is_leaving else None


async def _in_time(check: Callable[[], Awaitable[str | None]]) -> str | None:
    try:
        async with asyncio.timeout(CHECK_S):
            return await check()
    except TimeoutError:
        return f"no answer within {CHECK_S:g} s"
    except Exception as error:  # noqa: BLE001  # whatever a driver raises means not ready
        return f"{type(error).__name__}: {error}"
