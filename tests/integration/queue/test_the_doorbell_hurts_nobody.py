"""A full worker, a Redis that is away, a stop in the middle: a ring may be late, nothing breaks."""

import asyncio
import os
import signal

import pytest

from app.keyspace import Keys, connect
from app.main.embedded import EmbeddedRedis
from app.queue import RedisDoorbell
from tests.integration.queue.conftest import House
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("IMP-31", "IMP-32")


async def heard(house: House, count: int) -> None:
    await wait_until(lambda: len(house.heard) >= count, description=f"{count} heard", timeout_s=5)


async def test_a_full_worker_leaves_the_ring_to_others(house: House) -> None:
    full = house.worker(lambda: pytest.fail("it has no room"), has_room=lambda: False)
    async with running(full.serve()):
        await house.bell.ring("run-1")
        await asyncio.sleep(0.7)  # longer than its look at the queue itself
        assert await house.waiting() == 1

        async with running(house.worker().serve()):
            await heard(house, 1)


async def test_room_made_is_used_at_once(house: House) -> None:
    rooms = [False]
    worker = house.worker(has_room=lambda: rooms[0])
    loop = asyncio.get_running_loop()
    async with running(worker.serve()):
        await asyncio.sleep(0.05)
        await house.bell.ring("run-1")
        rooms[0] = True
        began = loop.time()
        worker.room_made()

        await heard(house, 1)

    assert house.heard[0] - began < 0.05


async def test_the_last_slot_may_go_while_a_nudge_is_on_its_way(house: House) -> None:
    rooms = [True]
    worker = house.worker(has_room=lambda: rooms[0])
    async with running(worker.serve()):
        await asyncio.sleep(0.05)  # it waits for a nudge
        rooms[0] = False
        await house.bell.ring("run-1")
        await wait_until(
            lambda: house.redis.llen(house.keys.nudges), description="the nudge is passed on"
        )
        assert (await house.waiting(), house.heard) == (1, [])


async def test_ringing_without_redis_neither_raises_nor_waits(
    house: House, redis_server: EmbeddedRedis
) -> None:
    loop = asyncio.get_running_loop()
    async with connect("redis://127.0.0.1:1") as nobody:
        absent = RedisDoorbell(nobody, Keys("nobody"))
        await absent.ring("run-1")
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        began = loop.time()
        await house.bell.ring("run-1")
        took = loop.time() - began
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    assert (absent.lost, house.bell.lost) == (1, 1)
    assert took < 0.4 + LATE_S


async def test_a_worker_outlives_a_restart_of_redis(
    house: House, redis_server: EmbeddedRedis
) -> None:
    async with running(house.worker().serve()):
        await house.bell.ring("run-1")
        await heard(house, 1)
        redis_server.stop()
        await asyncio.sleep(0.2)
        redis_server.start()

        await house.bell.ring("run-2")
        await heard(house, 2)


async def test_a_worker_may_start_before_redis(house: House, redis_server: EmbeddedRedis) -> None:
    redis_server.stop()
    try:
        async with running(house.worker().serve()):
            await asyncio.sleep(0.2)
            redis_server.start()

            await house.bell.ring("run-1")
            await heard(house, 1)
    finally:
        if not redis_server.is_running():
            redis_server.start()


async def test_a_redis_that_was_silent_is_heard_again(
    house: House, redis_server: EmbeddedRedis
) -> None:
    async with running(house.worker().serve()):
        os.kill(redis_server.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(3)  # longer than the worker waits for any answer
        finally:
            os.kill(redis_server.pid, signal.SIGCONT)

        await house.bell.ring("run-1")
        await heard(house, 1)


async def test_killed_connections_and_a_flush_are_survived(house: House) -> None:
    async with running(house.worker().serve()):
        await house.bell.ring("run-1")
        await heard(house, 1)
        async with house.redis.client() as admin:
            await admin.client_kill_filter(skipme=True, _type="normal")
            await admin.flushall()

        await house.bell.ring("run-2")
        await heard(house, 2)


async def test_a_claim_that_fails_does_not_stop_the_worker(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    def claim() -> None:
        house.note()
        if len(house.heard) == 1:
            raise RuntimeError("a bug")

    async with running(house.worker(claim).serve()):
        await house.bell.ring("run-1")
        await heard(house, 1)
        await house.bell.ring("run-2")
        await heard(house, 2)

    assert "a bug" in caplog.text


@pytest.mark.usefixtures("patient_bell")
@pytest.mark.parametrize("after_ms", [0, 2, 5, 10, 20])
async def test_a_worker_that_stops_in_a_burst_is_gone_within_a_second(
    house: House, after_ms: int
) -> None:
    loop = asyncio.get_running_loop()
    worker = house.worker()
    serving = asyncio.create_task(worker.serve())
    await asyncio.gather(*(house.bell.ring(f"run-{number}") for number in range(100)))
    await asyncio.sleep(after_ms / 1000)

    began = loop.time()
    serving.cancel()
    await asyncio.wait([serving], timeout=10)

    assert serving.cancelled()
    assert loop.time() - began < 1.5 + LATE_S
    assert worker.job_counter == 0
    assert worker.rings + await house.waiting() >= 99  # one may be on its way


async def test_a_worker_stops_without_redis_too(house: House, redis_server: EmbeddedRedis) -> None:
    loop = asyncio.get_running_loop()
    async with running(house.worker().serve()):
        await house.bell.ring("run-1")
        await heard(house, 1)
        redis_server.stop()
        began = loop.time()
    took = loop.time() - began
    redis_server.start()

    assert took < 1.5 + LATE_S
