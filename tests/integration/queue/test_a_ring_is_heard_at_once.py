"""arq's half-second poll is not felt, and an idle worker costs next to nothing."""

import asyncio
import json
import time

import pytest
from arq.constants import job_key_prefix

from app.queue import jobs
from app.queue.worker import POLL_S
from tests.integration.queue.conftest import House
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("RUN-01", "DUR-08")


async def heard(house: House, count: int) -> None:
    await wait_until(
        lambda: len(house.heard) >= count, description=f"{count} heard", interval_s=0.0005
    )


async def test_a_ring_is_a_claim_without_a_poll(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.queue.worker.POLL_S", 3600)  # what waits for one waits for good
    async with running(house.worker().serve()):
        for number in range(40):
            await house.bell.ring("run")
            await heard(house, number + 1)

    assert len(house.heard) == 40


async def test_two_hundred_rings_at_once_are_all_heard(house: House) -> None:
    worker = house.worker()
    async with running(worker.serve()):
        await asyncio.gather(*(house.bell.ring(f"run-{number}") for number in range(200)))

        await heard(house, 200)
        await wait_until(lambda: worker.job_counter == 0, description="every job is over")

    assert worker.rings == 200
    assert house.bell.lost == 0


async def test_a_ring_wakes_one_worker_and_they_take_turns(house: House) -> None:
    workers = [house.worker() for _ in range(3)]
    async with running(*(worker.serve() for worker in workers)):
        for number in range(30):
            await house.bell.ring(f"run-{number}")
            await heard(house, number + 1)

    assert sum(worker.rings for worker in workers) == 30
    assert min(worker.rings for worker in workers) >= 5


async def test_the_same_run_can_ring_again_and_again(house: House) -> None:
    async with running(house.worker().serve()):
        for number in range(5):
            await house.bell.ring("the same run")
            await heard(house, number + 1)

    assert len(house.heard) == 5


async def test_a_ring_that_lost_its_nudge_waits_for_the_next_look(house: House) -> None:
    async with running(house.worker().serve()):
        await house.bell.ring("first")
        await heard(house, 1)
        await house.bell.ring("second")
        await house.redis.delete(house.keys.nudges)

        await heard(house, 2)

    assert house.heard[1] - house.heard[0] < POLL_S + LATE_S


async def test_rings_from_before_the_first_worker_are_heard_by_it(house: House) -> None:
    for number in range(3):
        await house.bell.ring(f"run-{number}")

    async with running(house.worker().serve()):
        await heard(house, 3)


async def test_nothing_is_left_when_everything_was_heard(house: House) -> None:
    worker = house.worker()
    async with running(worker.serve()):
        await asyncio.gather(*(house.bell.ring(f"run-{number}") for number in range(20)))
        await heard(house, 20)
        await wait_until(lambda: worker.job_counter == 0, description="every job is over")

    async def is_empty() -> bool:
        return await house.keys_left() == []

    await wait_until(is_empty, description="no key is left")


async def test_a_ring_that_is_heard_is_gone_from_the_queue_while_its_job_runs(
    house: House,
) -> None:
    waiting: list[asyncio.Task[int]] = []
    worker = house.worker(lambda: waiting.append(asyncio.ensure_future(house.waiting())))
    async with running(worker.serve()):
        await house.bell.ring("run")
        await wait_until(lambda: waiting, description="it is heard")
        assert await waiting[0] == 0


async def test_no_worker_means_a_bounded_queue_that_expires(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_WAITING", 5)
    for number in range(20):
        await house.bell.ring(f"run-{number}")

    assert await house.waiting() == 5
    for key in await house.keys_left():
        assert 0 < await house.redis.ttl(key) <= 86_400


async def test_a_ring_is_stored_as_json(house: House) -> None:
    await house.bell.ring("run-1")

    (job,) = [key async for key in house.redis.scan_iter(f"{job_key_prefix}*")]
    stored = json.loads(await house.redis.get(job))
    assert (stored["f"], stored["a"]) == ("ring", ["run-1"])


async def test_an_idle_worker_costs_next_to_nothing(house: House) -> None:
    async with running(house.worker().serve()):
        await house.bell.ring("warm-up")
        await heard(house, 1)
        before = await house.redis.info("stats")
        cpu, began = time.process_time(), time.monotonic()
        await asyncio.sleep(1.5)  # time is what is measured
        cpu, took = time.process_time() - cpu, time.monotonic() - began
        after = await house.redis.info("stats")

    commands = after["total_commands_processed"] - before["total_commands_processed"]
    assert commands / took < 10
    assert cpu / took < 0.1
