"""The stage for live text: a worker's sink, a gateway's source, a thread with its fence set."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from redis.asyncio import Redis

from app.domain.run import Fence
from app.fanout.token_source import RedisTokenSource
from app.fanout.tokens import RedisTokenSink
from app.journal import RedisJournal
from app.keyspace import Keys, connect
from tests.integration.fanout.screen import Screen
from tests.support.running import running
from tests.support.wait_until import wait_until


@dataclass
class Stage:
    """One worker and one gateway around one Redis."""

    redis: Redis
    url: str
    keys: Keys
    fence: Fence
    lease_is_fresh: bool = True
    gaps: int = 0
    screens: dict[str, Screen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.journal = RedisJournal(self.redis, self.keys)
        self.sink = RedisTokenSink(self.redis, self.keys, lambda: self.lease_is_fresh)
        self.source = RedisTokenSource(
            self.url,
            self.redis,
            self.keys,
            on_token=lambda thread, delta: self.screens[thread].on_token(thread, delta),
            on_gap=self._gap,
        )

    async def watch(self, thread_id: str | None = None) -> Screen:
        """Join a thread now."""
        thread = thread_id or self.fence.thread_id
        screen = self.screens[thread] = Screen()
        await self.source.watch(thread)
        screen.join(tuple(await self.source.shown(thread)))
        return screen

    async def shown(self) -> dict[int, str]:
        """Return the stored text by part."""
        return {piece.part: piece.text for piece in await self.source.shown(self.fence.thread_id)}

    def _gap(self) -> None:
        self.gaps += 1


@pytest.fixture
async def stage(redis_url: str, redis_namespace: str) -> AsyncIterator[Stage]:
    fence = Fence(str(uuid.uuid4()), str(uuid.uuid4()), epoch=3)
    async with connect(redis_url) as redis:
        made = Stage(redis, redis_url, Keys(redis_namespace), fence)
        await made.journal.open(fence)
        async with running(made.sink.run(), made.source.run()):
            await wait_until(lambda: made.source.is_connected, description="the source listens")
            yield made
