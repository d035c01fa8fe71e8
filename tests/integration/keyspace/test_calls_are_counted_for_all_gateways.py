"""Calls are counted in Redis, by its own clock, for all gateways together, and outlive Redis."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from redis.asyncio import Redis

from app.domain.errors import RateLimited
from app.domain.identity import ANONYMOUS, Identity
from app.keyspace import Keys, connect
from app.keyspace.calls_bucket import CallLimiter
from app.main.embedded import EmbeddedRedis
from app.main.embedded.ports import free_port
from app.testing.world import HandClock

pytestmark = pytest.mark.req("IMP-04")

ANN, BOB = Identity("ann"), Identity("bob")
HERE, THERE = "1.1.1.1", "2.2.2.2"


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with connect(redis_url) as client:
        yield client


@pytest.fixture
def keys(redis_namespace: str) -> Keys:
    return Keys(redis_namespace)


async def admitted(limiter: CallLimiter, caller: Identity, address: str, calls: int) -> int:
    """Return how many of so many calls pass."""
    passed = 0
    for _ in range(calls):
        with suppress(RateLimited):
            await limiter.admit(caller, address)
            passed += 1
    return passed


async def test_a_burst_passes_and_the_next_call_is_told_when_to_come(
    redis: Redis, keys: Keys
) -> None:
    limiter = CallLimiter(redis, keys, per_second=0.1, burst=5)

    assert await admitted(limiter, ANN, HERE, 5) == 5
    with pytest.raises(RateLimited) as refused:
        await limiter.admit(ANN, HERE)

    assert refused.value.data is not None
    assert 5 < float(str(refused.value.data["retryAfter"])) <= 10  # he may have come for seconds
    assert re.search(r"come again in [\d.]+ s", refused.value.message)


async def test_who_comes_again_when_he_was_told_to_passes(redis: Redis, keys: Keys) -> None:
    limiter = CallLimiter(redis, keys, per_second=20, burst=1)
    await limiter.admit(ANN, HERE)
    with pytest.raises(RateLimited) as refused:
        await limiter.admit(ANN, HERE)
    assert refused.value.data is not None

    await asyncio.sleep(float(str(refused.value.data["retryAfter"])))

    await limiter.admit(ANN, HERE)


async def test_a_user_is_one_wherever_he_is_and_nobody_is_his_address(
    redis: Redis, keys: Keys
) -> None:
    limiter = CallLimiter(redis, keys, per_second=0.1, burst=2)

    assert await admitted(limiter, ANN, HERE, 3) == 2
    assert await admitted(limiter, ANN, THERE, 1) == 0
    assert await admitted(limiter, BOB, HERE, 3) == 2
    assert await admitted(limiter, ANONYMOUS, HERE, 3) == 2
    assert await admitted(limiter, ANONYMOUS, THERE, 3) == 2
    assert await admitted(limiter, Identity(f"from {HERE}"), THERE, 1) == 1


async def test_gateways_count_together_and_refused_calls_cost_nothing(
    redis: Redis, keys: Keys
) -> None:
    gateways = [CallLimiter(redis, keys, per_second=0.1, burst=30) for _ in range(3)]

    passed = await asyncio.gather(*(admitted(each, ANN, HERE, 40) for each in gateways))
    wait = await _refused_for(gateways[0])

    assert sum(passed) == 30
    assert wait <= 10, "ninety refused calls have not moved the moment"


async def _refused_for(limiter: CallLimiter) -> float:
    with pytest.raises(RateLimited) as refused:
        await limiter.admit(ANN, HERE)
    assert refused.value.data is not None
    return float(str(refused.value.data["retryAfter"]))


async def test_a_bucket_is_gone_when_it_is_full_again(redis: Redis, keys: Keys) -> None:
    limiter = CallLimiter(redis, keys, per_second=1, burst=100)

    await admitted(limiter, ANN, HERE, 5)

    (key,) = await redis.keys(f"{keys.namespace}:calls:*")
    assert b"ann" not in key
    assert 0 < await redis.pttl(key) <= 5000


async def test_a_clock_that_was_set_back_shuts_nobody_out_for_long(
    redis: Redis, keys: Keys
) -> None:
    limiter = CallLimiter(redis, keys, per_second=10, burst=10)
    await limiter.admit(ANN, HERE)
    (key,) = await redis.keys(f"{keys.namespace}:calls:*")
    await redis.set(key, str(10**17), px=60_000)  # full again in a thousand years

    wait = await _refused_for(limiter)

    assert wait <= 0.1


async def test_no_limit_asks_nobody(keys: Keys) -> None:
    async with connect(f"redis://127.0.0.1:{free_port()}/0") as nowhere:
        limiter = CallLimiter(nowhere, keys, per_second=0, burst=1)

        assert await admitted(limiter, ANN, HERE, 100) == 100


async def test_calls_pass_while_redis_is_away_and_it_is_said_once(
    keys: Keys, redis_server: EmbeddedRedis, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    limiter = CallLimiter(redis, keys, per_second=0.1, burst=1, clock=clock.boot_s)
    redis_server.stop()
    try:
        for _ in range(3):
            assert await admitted(limiter, ANN, HERE, 20) == 20
            clock.now_s += 6
    finally:
        redis_server.start()

    assert await admitted(limiter, ANN, HERE, 5) == 1
    said = [each for each in caplog.records if "not limited" in each.getMessage()]
    assert len(said) == 1
    assert (limiter.uncounted, limiter.refused) == (60, 4)
