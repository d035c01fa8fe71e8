"""A doorbell and workers that hear it, on the session's Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
from redis.asyncio import Redis

from app.keyspace import Keys, connect
from app.queue import DoorbellWorker, RedisDoorbell


@dataclass
class House:
    """What stands around one bell."""

    url: str
    redis: Redis
    keys: Keys
    heard: list[float] = field(default_factory=list)
    """When each claim was called, by the event loop's clock."""

    def __post_init__(self) -> None:
        self.bell = RedisDoorbell(self.redis, self.keys)

    def worker(
        self,
        claim: Callable[[], None] | None = None,
        has_room: Callable[[], bool] = lambda: True,
    ) -> DoorbellWorker:
        """Return a worker that notes when it claims."""
        return DoorbellWorker(self.url, self.keys, claim=claim or self.note, has_room=has_room)

    def note(self) -> None:
        """Note a claim."""
        self.heard.append(asyncio.get_running_loop().time())

    async def is_listened_to(self) -> bool:
        """Whether a worker waits for a nudge."""
        return any(client["cmd"] == "blpop" for client in await self.redis.client_list())

    async def waiting(self) -> int:
        """Return how many rings nobody has taken."""
        return int(await self.redis.zcard(self.keys.doorbell))

    async def keys_left(self) -> list[bytes]:
        """Return every key of this house."""
        return [key async for key in self.redis.scan_iter(f"*{self.keys.namespace}*")]


@pytest.fixture
async def house(redis_url: str, redis_namespace: str) -> AsyncIterator[House]:
    async with connect(redis_url) as redis:
        yield House(redis_url, redis, Keys(redis_namespace))
