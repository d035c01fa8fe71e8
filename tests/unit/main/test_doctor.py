"""What the doctor takes for broken, what it mends, and what it leaves to its own devices."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from redis.exceptions import ConnectionError as RedisAway

from app.domain.facts import event_fact
from app.domain.run import Ending, Fence, Waits
from app.main import doctor
from app.main.doctor import Doctor, Finding
from app.testing.memory_database import MemoryDatabase
from tests.support.store_world import StoreWorld, memory_world


@dataclass
class Surgery:
    """A doctor, and what is around."""

    world: StoreWorld
    keys: set[str] = field(default_factory=set)
    redis_is_away: bool = False

    @property
    def database(self) -> MemoryDatabase:
        found: MemoryDatabase = self.world.store._db  # type: ignore[attr-defined]  # the memory store's own
        return found

    @property
    def doctor(self) -> Doctor:
        return Doctor(
            store=self.world.store,
            reader=self.world.reader,
            journal=self.world.around.journal,
            mend_threads=self._mend,
            threads_with_keys=self._threads,
        )

    async def _mend(self) -> int:
        for run in self.database.runs.values():
            if run.status == "waiting":
                self.database.waits[run.id] = Waits.for_all(["event:never#0"])
        return 1

    async def _threads(self) -> set[str]:
        if self.redis_is_away:
            raise RedisAway("gone")
        return self.keys


@pytest.fixture
async def surgery(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Surgery]:
    monkeypatch.setattr(doctor, "SILENT_S", 0.01)
    async with memory_world() as world:
        yield Surgery(world)


@pytest.mark.parametrize("mend", [True, False])
async def test_where_all_is_well_nothing_is_found(surgery: Surgery, *, mend: bool) -> None:
    await surgery.world.start()

    assert await surgery.doctor.examine(mend) == []


async def test_a_worker_that_beats_is_left_alone(surgery: Surgery) -> None:
    await surgery.world.register("alive", ["support"])
    started = await surgery.world.start()
    running = await surgery.world.claim(worker="alive")
    assert running.run.id == started.run_id

    async def beat() -> None:
        beats = itertools.count(2)
        while True:
            surgery.database.workers["alive"] = (next(beats), frozenset({"support"}))
            await asyncio.sleep(0.001)

    beating = asyncio.create_task(beat())
    try:
        assert await surgery.doctor.examine(mend=True) == []
    finally:
        beating.cancel()
    assert (await surgery.world.run(running.run.id)).status == "running"


async def test_the_runs_of_a_silent_worker_go_on(surgery: Surgery) -> None:
    running = await surgery.world.drive()

    (told,) = await surgery.doctor.examine(mend=False)
    (mended,) = await surgery.doctor.examine(mend=True)

    assert (told.kind, told.is_mended) == ("worker", False)
    assert mended == Finding(
        "worker",
        "worker worker-1 is silent, and nobody has taken over its runs: 1 went on",
        is_mended=True,
    )
    assert (await surgery.world.run(running.run.id)).status == "queued"
    assert await surgery.doctor.examine(mend=False) == []


async def test_a_stranded_run_is_mended_only_if_it_then_is(surgery: Surgery) -> None:
    parked = await surgery.world.drive()
    fact = event_fact("paid", 0)
    await surgery.world.store.park(parked.fence, parked.thread.wakes, Waits.for_all([fact]))
    surgery.database.steps[parked.run.id][fact] = (0, "null")

    (told,) = await surgery.doctor.examine(mend=False)
    (mended,) = await surgery.doctor.examine(mend=True)

    assert told.sentence == f"run {parked.run.id} is parked though what it waits for is there"
    assert mended == replace(told, is_mended=True)


async def test_a_run_that_nobody_takes_is_told_of(surgery: Surgery) -> None:
    await surgery.world.register("alive", ["support"])
    await surgery.world.start()
    later = surgery.database.now() + timedelta(minutes=3)
    surgery.database.now = lambda: later

    found = await surgery.doctor.examine(mend=False)

    told = next(each for each in found if each.kind == "queue")
    assert not told.is_mended
    assert "no worker takes it" in told.sentence


async def test_keys_that_no_run_needs_are_dropped_and_others_kept(surgery: Surgery) -> None:
    world, journal = surgery.world, surgery.world.around.journal
    queued = await world.start()
    ended = await world.drive()
    await journal.open(ended.fence)
    await world.store.finish(ended.fence, Ending.completed("final"), None)
    gone = Fence("no-thread", "no-run", 5)
    await journal.open(gone)
    surgery.keys = {queued.thread_id, ended.thread.id, "no-thread"}

    found = await surgery.doctor.examine(mend=True)

    assert {(each.kind, each.is_mended) for each in found} == {("redis-keys", True)}
    assert sorted(each.sentence.split()[1] for each in found) == sorted(
        [ended.thread.id, "no-thread"]
    )
    assert (await journal.open(gone)).fence_above is None


async def test_without_redis_the_rest_is_looked_at(surgery: Surgery) -> None:
    surgery.redis_is_away = True

    (told,) = await surgery.doctor.examine(mend=True)

    assert (told.kind, told.is_mended) == ("redis", False)
