"""A full worker, a Redis that is away, a stop in the middle: a ring may be late, nothing breaks."""

import asyncio
import os
import signal
from dataclasses import dataclass

import pytest

from app.keyspace import Keys, connect
from app.main.embedded import EmbeddedRedis
from app.queue import RedisDoorbell
from tests.integration.queue.conftest import House
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("IMP-31", "IMP-32")


PATIENCE_S = 15.0
A_TURN = 2
"""How often a worker asks whether there is room, at least, until it waits for something."""


@dataclass
class Rooms:
    """Whether a worker has room, and how often it has asked."""

    are_there: bool
    asked: int = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.are_there

    async def were_asked(self, times: int) -> None:
        """Return when it has asked so often from now on."""
        enough = self.asked + times
        await wait_until(lambda: self.asked >= enough, description="it turns", timeout_s=PATIENCE_S)


async def heard(house: House, count: int) -> None:
    await wait_until(
        lambda: len(house.heard) >= count, description=f"{count} heard", timeout_s=PATIENCE_S
    )


async def noticed(caplog: pytest.LogCaptureFixture) -> None:
    """Return when the worker says that it hears nothing."""
    await wait_until(
        lambda: "the doorbell is not heard" in caplog.text,
        description="the worker has noticed",
        timeout_s=PATIENCE_S,
    )


async def test_a_full_worker_leaves_the_ring_to_others(house: House) -> None:
    rooms = Rooms(are_there=False)
    full = house.worker(lambda: pytest.fail("it has no room"), has_room=rooms)
    async with running(full.serve()):
        await house.bell.ring("run-1")
        await rooms.were_asked(A_TURN + 1)  # so it has looked at the queue itself meanwhile
        assert await house.waiting() == 1

        async with running(house.worker().serve()):
            await heard(house, 1)


async def test_room_made_is_used_at_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.queue.worker.POLL_S", 4 * PATIENCE_S)  # nothing else would tell it
    rooms = Rooms(are_there=False)
    worker = house.worker(has_room=rooms)
    async with running(worker.serve()):
        await rooms.were_asked(A_TURN)
        await house.bell.ring("run-1")
        rooms.are_there = True
        worker.room_made()

        await heard(house, 1)


async def test_the_last_slot_may_go_while_a_nudge_is_on_its_way(house: House) -> None:
    rooms = Rooms(are_there=True)
    worker = house.worker(has_room=rooms)
    async with running(worker.serve()):
        await wait_until(house.is_listened_to, description="it waits for a nudge")
        rooms.are_there = False
        await house.bell.ring("run-1")
        await wait_until(
            lambda: house.redis.llen(house.keys.nudges), description="the nudge is passed on"
        )
        assert (await house.waiting(), house.heard) == (1, [])


@pytest.mark.impatient
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
    house: House, redis_server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(house.worker().serve()):
        await house.bell.ring("run-1")
        await heard(house, 1)
        redis_server.stop()
        await noticed(caplog)
        redis_server.start()

        await house.bell.ring("run-2")
        await heard(house, 2)


async def test_a_worker_may_start_before_redis(
    house: House, redis_server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_server.stop()
    try:
        async with running(house.worker().serve()):
            await noticed(caplog)
            redis_server.start()

            await house.bell.ring("run-1")
            await heard(house, 1)
    finally:
        if not redis_server.is_running():
            redis_server.start()


async def test_a_redis_that_was_silent_is_heard_again(
    house: House, redis_server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(house.worker().serve()):
        await wait_until(house.is_listened_to, description="it waits for a nudge")
        os.kill(redis_server.pid, signal.SIGSTOP)
        try:
            await noticed(caplog)
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
