"""Redis may be slow, away, restarted, flushed: the drive notices nothing, the text comes later."""

import asyncio
import os
import signal
import uuid

import pytest

from app.domain.run import Fence
from app.fanout import tokens
from app.fanout.tokens import RedisTokenSink
from app.keyspace import Keys, connect
from app.main.embedded import EmbeddedRedis
from tests.integration.fanout.conftest import Stage
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("SUB-07", "SUB-08", "SUB-09")

ATTEMPT = 300


async def test_a_worker_without_a_fresh_lease_sends_nothing(stage: Stage) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stage.lease_is_fresh = False
    before = stage.sink.flushes

    stream.add(0, "text", "frozen ")
    await asyncio.sleep(tokens.WINDOW_S * 4)
    assert (screen.heard, await stage.shown(), stage.sink.flushes) == ([], {}, before)

    stage.lease_is_fresh = True
    stream.add(0, "text", "and thawed")
    await wait_until(lambda: screen.texts == {0: "frozen and thawed"}, description="all is shown")


@pytest.mark.parametrize("step", range(5))
async def test_nothing_is_published_once_close_has_returned(stage: Stage, step: int) -> None:
    for turn in range(20):
        stream = stage.sink.open(stage.fence, turn, ATTEMPT, 1)
        stream.add(0, "text", "a")
        for _ in range(step):
            await asyncio.sleep(0)
        stream.add(0, "text", "b")
        await stream.close()
        stream.add(0, "text", "late")
        shown = await stage.source.shown(stage.fence.thread_id)
        published = await stage.redis.info("commandstats")
        await asyncio.sleep(0.002)
        assert await stage.source.shown(stage.fence.thread_id) == shown
        after = await stage.redis.info("commandstats")
        assert after.get("cmdstat_publish") == published.get("cmdstat_publish")


async def test_closing_forgets_what_is_pending(stage: Stage) -> None:
    stage.lease_is_fresh = False
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stream.add(0, "text", "never sent")
    await stream.close()
    stage.lease_is_fresh = True

    other = stage.sink.open(stage.fence, 1, ATTEMPT, 1)
    screen = await stage.watch()
    other.add(0, "text", "sent")

    await wait_until(lambda: screen.texts == {0: "sent"}, description="the other one is shown")
    assert all(delta["turn"] == 1 for delta in screen.heard)


async def test_the_text_of_a_flushed_redis_is_whole_again_once_the_drive_has_reopened(
    stage: Stage,
) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stream.add(0, "text", "before, ")
    await wait_until(lambda: screen.texts, description="the text is shown")

    await stage.redis.flushall()
    stream.add(0, "text", "during, ")
    await wait_until(lambda: stage.sink.flushes > 1, description="it was refused")
    await stage.journal.open(stage.fence)

    async def is_whole() -> bool:
        stream.add(0, "text", ".")
        return screen.texts.get(0, "").startswith("before, during, .")

    await wait_until(is_whole, description="all of it is shown", interval_s=0.05)
    assert (await stage.shown())[0].startswith("before, during, .")


async def test_a_restart_in_the_middle_costs_nothing_of_the_text(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stream.add(0, "text", "before, ")
    await wait_until(lambda: screen.texts, description="the text is shown")

    redis_server.stop()
    try:
        stream.add(0, "text", "during, ")
        await wait_until(lambda: stage.sink.failures, description="a flush failed")
        stream.add(0, "text", "still, ")
    finally:
        redis_server.start()
    await stage.journal.drop(stage.fence.thread_id, stage.fence.epoch)
    await stage.journal.open(stage.fence)
    await wait_until(lambda: stage.gaps, description="the source is connected again")
    screen = await stage.watch()

    async def is_whole() -> bool:
        stream.add(0, "text", ".")
        return screen.texts.get(0, "").startswith("before, during, still, .")

    await wait_until(is_whole, description="all of it is shown", interval_s=0.05)


@pytest.mark.impatient
async def test_b47_a_silent_redis_holds_up_neither_add_nor_close(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    loop, flushes = asyncio.get_running_loop(), stage.sink.flushes
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        began = loop.time()
        for _ in range(1000):
            stream.add(0, "text", "word ")
        added = loop.time() - began
        await wait_until(lambda: stage.sink.flushes > flushes, description="a flush is under way")
        began = loop.time()
        await stream.close()
        closed = loop.time() - began
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    assert added < LATE_S
    assert closed < tokens.FLUSH_S + LATE_S


async def test_b47_a_redis_that_is_not_there_raises_nothing_and_is_asked_ever_less_often() -> None:
    async with connect("redis://127.0.0.1:1") as nobody:
        sink = RedisTokenSink(nobody, Keys("nobody"), lambda: True)
        fence = Fence(str(uuid.uuid4()), str(uuid.uuid4()), 1)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with running(sink.run()):
            stream = sink.open(fence, 0, ATTEMPT, 1)
            for _ in range(60):
                stream.add(0, "text", "word ")
                await asyncio.sleep(0.01)
            await stream.close()
        took = loop.time() - began

    assert 0 < sink.failures < 7 + took / tokens.LONGEST_RETRY_S  # each pause is twice the last


async def test_a_stream_without_end_is_cut_off_from_the_screen_not_from_the_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MAX_CHARACTERS", 1000)
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)

    for _ in range(300):
        stream.add(0, "text", "word ")

    assert stream.is_over
    await stream.close()
