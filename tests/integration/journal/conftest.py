"""A journal on the session's Redis, and a fence to write under."""

import uuid
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from app.domain.run import Fence
from app.journal import RedisJournal
from app.keyspace import Keys, connect


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    redis = connect(redis_url)
    yield redis
    await redis.aclose()


@pytest.fixture
def keys(redis_namespace: str) -> Keys:
    return Keys(redis_namespace)


@pytest.fixture
def journal(client: Redis, keys: Keys) -> RedisJournal:
    return RedisJournal(client, keys)


@pytest.fixture
def fence() -> Fence:
    return Fence(str(uuid.uuid4()), str(uuid.uuid4()), epoch=7)
