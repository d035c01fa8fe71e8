"""Killed connections, restarts, flushes, silence: nothing but ``JournalUnavailable`` comes out."""

import asyncio
import os
import signal
import time
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from app.domain.errors import JournalUnavailable
from app.domain.ports import JournalFenceLost
from app.domain.record import Record
from app.domain.run import Fence
from app.journal import RedisJournal
from app.keyspace import Keys, RedisMayEvict, connect, refuse_eviction
from app.main.embedded import EmbeddedRedis
from tests.support.late import LATE_S

pytestmark = pytest.mark.req("IMP-32", "DUR-03")


def a_record(fence: Fence, step: str) -> Record:
    return Record(fence.run_id, fence.thread_id, step, turn=0, value="1")


async def test_a_killed_connection_is_replaced_without_anybody_noticing(
    journal: RedisJournal, client: Redis, fence: Fence
) -> None:
    await journal.open(fence)
    async with client.client() as one:
        await one.client_kill_filter(skipme=True, _type="normal")

    assert await journal.complete(fence, a_record(fence, "llm:turn:0"), []) is None


async def test_a_restarted_server_has_forgotten_the_scripts_and_learns_them_again(
    journal: RedisJournal, redis_server: EmbeddedRedis, fence: Fence
) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    redis_server.stop()
    try:
        with pytest.raises(JournalUnavailable):
            await journal.complete(fence, a_record(fence, "tool:a:1"), [])
    finally:
        redis_server.start()

    await journal.drop(fence.thread_id, fence.epoch)
    opened = await journal.open(fence)
    assert opened.fence_above is None


async def test_after_a_flush_the_same_drive_opens_again_under_its_own_epoch(
    journal: RedisJournal, client: Redis, fence: Fence
) -> None:
    await journal.open(fence)
    await client.flushall()
    with pytest.raises(JournalFenceLost):
        await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    opened = await journal.open(fence)

    assert opened.fence_above is None
    assert await journal.complete(fence, a_record(fence, "llm:turn:0"), []) is None


@pytest.mark.impatient
async def test_closing_waits_a_quarter_of_a_second_at_most(
    journal: RedisJournal, redis_server: EmbeddedRedis, fence: Fence
) -> None:
    await journal.open(fence)
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(JournalUnavailable):
            await journal.close(fence.thread_id, fence.epoch)
        took = time.monotonic() - began
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    assert took < 0.25 + LATE_S


@pytest.mark.impatient
async def test_a_silent_server_is_an_unavailable_one_within_seconds(
    journal: RedisJournal, redis_server: EmbeddedRedis, fence: Fence
) -> None:
    await journal.open(fence)
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(JournalUnavailable):
            await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
        took = time.monotonic() - began
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    assert took < 4 + LATE_S


async def test_nobody_listening_is_an_unavailable_journal(keys: Keys, fence: Fence) -> None:
    async with connect("redis://127.0.0.1:1") as nobody:
        journal = RedisJournal(nobody, keys)
        with pytest.raises(JournalUnavailable):
            await journal.open(fence)
        with pytest.raises(JournalUnavailable):
            await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
        with pytest.raises(JournalUnavailable):
            await journal.close(fence.thread_id, fence.epoch)
        with pytest.raises(JournalUnavailable):
            await journal.drop(fence.thread_id, fence.epoch)


async def test_a_full_redis_refuses_the_write_and_says_unavailable(
    journal: RedisJournal, client: Redis, fence: Fence
) -> None:
    await journal.open(fence)
    await client.config_set("maxmemory", "1")
    try:
        with pytest.raises(JournalUnavailable):
            await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
    finally:
        await client.config_set("maxmemory", "0")


async def test_a_redis_that_may_evict_is_refused_with_the_fix(client: Redis) -> None:
    await refuse_eviction(client)
    await client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(RedisMayEvict, match="CONFIG SET maxmemory-policy noeviction"):
            await refuse_eviction(client)
    finally:
        await client.config_set("maxmemory-policy", "noeviction")


async def test_each_write_refreshes_the_day_that_a_journal_lives(
    journal: RedisJournal, client: Redis, keys: Keys, fence: Fence
) -> None:
    at = keys.thread(fence.thread_id)
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
    await client.expire(at.fence, 60)
    await client.expire(at.journal, 60)

    await journal.complete(fence, a_record(fence, "tool:a:1"), [])

    assert await client.ttl(at.fence) > 86_000
    assert await client.ttl(at.journal) > 86_000


async def test_a_dropped_journal_leaves_no_key(
    journal: RedisJournal, client: Redis, keys: Keys, fence: Fence
) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    await journal.drop(fence.thread_id, fence.epoch)

    assert [key async for key in client.scan_iter(f"{keys.namespace}:*")] == []


async def test_a_call_is_one_round_trip(journal: RedisJournal, client: Redis, fence: Fence) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "warm:up"), [])
    await client.config_resetstat()

    await journal.complete(fence, a_record(fence, "llm:turn:0"), ["warm:up"])
    await journal.open(replace(fence, epoch=8))

    stats = await client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 2
    assert "cmdstat_eval" not in stats


async def test_a_call_that_is_cancelled_at_any_moment_is_cancelled(
    journal: RedisJournal, fence: Fence
) -> None:
    await journal.open(fence)
    for moment in [*range(16)] * 4:
        call = asyncio.create_task(journal.complete(fence, a_record(fence, f"s{moment}"), []))
        for _ in range(moment):
            await asyncio.sleep(0)
        was_under_way = call.cancel()
        await asyncio.wait([call])
        assert call.cancelled() == was_under_way
