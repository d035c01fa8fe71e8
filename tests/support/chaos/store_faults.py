"""The hand that flushes, restarts and crashes the stores, and cuts off whom they serve."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import TypeAlias

import redis.asyncio
from redis.exceptions import RedisError

from tests.support.chaos.deployment import Deployment
from tests.support.chaos.faults import Faults
from tests.support.chaos.look import Look

Deed: TypeAlias = Callable[[], Awaitable[None]]

_LISTENERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name LIKE '%listener%'
"""
_BACKENDS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5
"""


class StoreHand:
    """Lays hands on Postgres and Redis."""

    def __init__(self, deployment: Deployment, faults: Faults, look: Look) -> None:
        self._deployment = deployment
        self._faults = faults
        self._look = look
        self._busy = asyncio.Lock()
        """One of them is restarted at a time."""

    def deeds(self, rng: Random) -> list[tuple[int, Deed]]:
        """Return what it does, each with a weight."""
        return [
            (4, self._flush),
            (3, lambda: self._kill_redis_clients("pubsub")),
            (3, lambda: self._kill_redis_clients("normal")),
            (2, lambda: self.restart_redis(rng, keeps=True)),
            (1, lambda: self.restart_redis(rng, keeps=False)),
            (1, lambda: self._turn_redis_back(rng)),
            (2, lambda: self.restart_postgres(rng, immediate=False)),
            (2, lambda: self.restart_postgres(rng, immediate=True)),
            (4, lambda: self._terminate("LISTEN cut", _LISTENERS)),
            (2, lambda: self._terminate("backends terminated", _BACKENDS)),
        ]

    async def _flush(self) -> None:
        async with self._faults.fault("FLUSHALL", "redis"):
            await self._tell_redis("FLUSHALL")

    async def _kill_redis_clients(self, kind: str) -> None:
        async with self._faults.fault(f"CLIENT KILL {kind}", "redis"):
            await self._tell_redis("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    async def restart_redis(self, rng: Random, *, keeps: bool) -> None:
        """Kill Redis and start it again, with what it had or empty."""
        async with self._busy:
            kind = "Redis restarted" if keeps else "Redis restarted empty"
            async with self._faults.fault(kind, "redis") as fault:
                if not keeps:
                    await self._tell_redis("FLUSHALL")
                await self._deployment.stores.restart_redis(away_s=self._away_s(rng))
            self._faults.measure(
                self._faults.meter.until_going_on(
                    time.time(), self._faults.meter.after_redis, fault
                )
            )

    async def _turn_redis_back(self, rng: Random) -> None:
        """Restart it with what it had a second or two ago."""
        async with self._busy:
            then = await asyncio.to_thread(self._deployment.stores.remember_redis)
            await asyncio.sleep(rng.uniform(0.3, 2.0))
            async with self._faults.fault("Redis turned back", "redis"):
                await self._deployment.stores.restart_redis(away_s=0, back_to=then)

    async def restart_postgres(self, rng: Random, *, immediate: bool) -> None:
        """Shut Postgres down, in order or not, and start it again."""
        async with self._busy:
            kind = "Postgres crashed" if immediate else "Postgres restarted"
            async with self._faults.fault(kind, "postgres") as fault:
                await self._deployment.stores.restart_postgres(
                    immediate=immediate, away_s=self._away_s(rng)
                )
            self._faults.measure(
                self._faults.meter.until_going_on(
                    time.time(), self._faults.meter.after_postgres, fault
                )
            )

    async def _terminate(self, kind: str, statement: str) -> None:
        async with self._faults.fault(kind, "postgres"):
            await self._look.rows(statement)

    async def _tell_redis(self, *words: str) -> None:
        with suppress(RedisError, OSError):
            async with redis.asyncio.Redis.from_url(
                self._deployment.redis_url, socket_timeout=2
            ) as client:
                await client.execute_command(*words)

    @staticmethod
    def _away_s(rng: Random) -> float:
        return rng.choice((0.0, 0.0, rng.uniform(0.2, 2.5)))
