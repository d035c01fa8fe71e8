"""Who is alive, and whose run it is."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.ports import ClaimedRun, OpenedJournal, Serves
from app.domain.run import Ending, Fence, RunStatus
from app.engine.durable_run import DurableRun
from app.engine.sweeper import DEAD_AFTER_S, BeatWatch
from app.testing.world import MemoryWorld
from tests.support.wait_until import wait_until


async def endless(run: DurableRun) -> None:
    """Never end."""
    await asyncio.Event().wait()
    await run.finish(Ending.completed("final"))


def test_a_worker_is_dead_when_one_beat_was_read_for_two_seconds() -> None:
    watch = BeatWatch()

    assert watch.observe({"w1": 7, "w2": 1}, 100.0) == {}
    assert watch.observe({"w1": 7, "w2": 2}, 101.9) == {}
    assert watch.observe({"w1": 7, "w2": 3}, 102.0) == {"w1": 2.0}


def test_counting_starts_anew_after_a_read_that_failed() -> None:
    watch = BeatWatch()
    watch.observe({"w1": 7}, 100.0)

    watch.forget()

    assert watch.observe({"w1": 7}, 110.0) == {}
    assert watch.observe({"w1": 7}, 112.0) == {"w1": 2.0}


@given(st.lists(st.floats(min_value=0.01, max_value=1.9), min_size=1, max_size=30))
def test_a_worker_that_beats_is_never_dead(gaps: list[float]) -> None:
    watch, now = BeatWatch(), 0.0
    for beat, gap in enumerate(gaps):
        now += gap
        assert watch.observe({"w1": beat}, now) == {}
        assert gap < DEAD_AFTER_S


async def test_a_drive_whose_run_was_taken_is_stopped_by_the_beat() -> None:
    async with MemoryWorld({"a": endless}) as world:
        worker = world.worker(slots=1)
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.RUNNING)
        await world.take_over(worker)
        world.clock.now_s += 1
        worker.pool.on_beat(world.clock.boot_s(), ours=[])
        await world.until(started.run_id, RunStatus.RUNNING)

        assert world.database.runs[started.run_id].attempts == 2


async def test_a_beat_sent_before_the_claim_was_answered_takes_nothing_away() -> None:
    async with MemoryWorld({"a": endless}) as world:
        worker = world.worker()
        sent_at = world.clock.boot_s()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.RUNNING)
        await asyncio.sleep(0)
        worker.pool.on_beat(sent_at, ours=[])

        assert worker.pool.size == 1


@pytest.mark.req("IMP-31")
async def test_a_run_whose_claim_was_never_answered_is_released_after_two_beats() -> None:
    async with MemoryWorld({"a": endless}) as world:
        started = await world.start("a")
        claimed = await world.store.claim("worker-1", Serves.of("a"), 1)
        worker = world.worker(slots=1)
        for _ in range(10):  # its first claim is answered: nothing is queued
            await asyncio.sleep(0)
        lost: Fence = claimed[0].fence
        for beats in range(2):
            world.clock.now_s += 0.5
            assert world.database.runs[started.run_id].attempts == 1, beats
            worker.pool.on_beat(world.clock.boot_s(), ours=[lost])
        await world.until(started.run_id, RunStatus.RUNNING)
        await wait_until(
            lambda: world.database.runs[started.run_id].attempts == 2, description="claimed again"
        )


@pytest.mark.req("DUR-06")
async def test_what_a_claim_under_way_brings_to_a_worker_that_leaves_goes_back_at_once() -> None:
    async with MemoryWorld({"a": endless}) as world:
        worker = world.worker(slots=1)
        asked, answer = asyncio.Event(), asyncio.Event()
        claim = world.store.claim

        async def slow(
            worker_id: str, serves: Serves, limit: int, *, last_try: bool = False
        ) -> list[ClaimedRun]:
            claimed = await claim(worker_id, serves, limit, last_try=last_try)
            if claimed:
                asked.set()
                await answer.wait()
            return claimed

        vars(world.store)["claim"] = slow
        started = await world.start("a")
        await asked.wait()
        leaving = asyncio.create_task(worker.terminate())
        await asyncio.sleep(0)
        answer.set()
        await leaving

        run = world.database.runs[started.run_id]
        assert (run.status, run.worker, run.crashes) == (RunStatus.QUEUED, None, 0)


@pytest.mark.req("DUR-12")
async def test_a_journal_that_is_opened_after_the_end_of_its_run_is_not_left_behind() -> None:
    async with MemoryWorld({"a": endless}) as world:
        opening, ended = asyncio.Event(), asyncio.Event()
        open_journal = world.journal.open

        async def slow(fence: Fence) -> OpenedJournal:
            opening.set()
            await ended.wait()
            return await open_journal(fence)

        vars(world.journal)["open"] = slow
        worker = world.worker()
        started = await world.start("a")
        # A first drive does not ask the journal what was left behind: this is the second one.
        await world.until(started.run_id, RunStatus.RUNNING)
        await worker.terminate()
        worker = world.worker()
        vars(worker.pool)["abort"] = lambda _: None  # it comes too late
        await opening.wait()
        await world.store.cancel(started.thread_id, None)
        ended.set()
        await wait_until(lambda: worker.pool.size == 0, description="the drive is over")

        assert not world.journal.knows(started.thread_id)


async def test_an_abort_for_an_older_epoch_leaves_the_newer_drive_alone() -> None:
    async with MemoryWorld({"a": endless}) as world:
        worker = world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.RUNNING)
        await asyncio.sleep(0)
        epoch = world.database.threads[started.thread_id].epoch
        fence = Fence(started.thread_id, started.run_id, epoch)
        worker.pool.abort(replace(fence, epoch=epoch - 1))
        await asyncio.sleep(0)
        assert worker.pool.size == 1
        worker.pool.abort(fence)
        await wait_until(lambda: worker.pool.size == 0, description="the drive is stopped")
