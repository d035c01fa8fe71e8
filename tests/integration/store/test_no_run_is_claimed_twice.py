"""The table is the queue: each queued run is given to exactly one worker."""

import asyncio
from collections import Counter

import pytest

from app.domain.ports import ClaimedRun, Serves
from tests.integration.store.rival import Rival
from tests.support.store_world import AGENT, StoreWorld, a_step

pytestmark = pytest.mark.req("DUR-03", "DUR-07")

RUNS, CLAIMERS = 200, 8


async def _claim_all(world: StoreWorld, worker: str) -> list[ClaimedRun]:
    claimed: list[ClaimedRun] = []
    for _ in range(RUNS):
        found = await world.store.claim(worker, Serves.of(AGENT), 3)
        claimed += found
        for one in found:  # each drive writes at once, as it does in life
            assert await world.store.record(one.fence, a_step(one.fence, "first")) is not None
    return claimed


async def test_eight_workers_share_two_hundred_runs(world: StoreWorld) -> None:
    started = [await world.start() for _ in range(RUNS)]

    shares = await asyncio.gather(*(_claim_all(world, f"w{n}") for n in range(CLAIMERS)))

    claimed = [one.run.id for share in shares for one in share]
    assert Counter(claimed) == Counter(one.run_id for one in started)
    assert {one.thread.epoch for share in shares for one in share} == {1}
    assert await world.store.stranded() == []


async def test_runs_that_go_back_and_forth_have_one_owner_at_a_time(world: StoreWorld) -> None:
    started = [await world.start() for _ in range(10)]
    epochs: list[tuple[str, int]] = []

    async def claim_and_give_back(worker: str) -> None:
        for _ in range(25):
            for one in await world.store.claim(worker, Serves.of(AGENT), 2):
                epochs.append((one.run.id, one.thread.epoch))
                assert await world.store.holds(one.fence)
                assert await world.store.release(one.fence)

    await asyncio.gather(*(claim_and_give_back(f"w{n}") for n in range(CLAIMERS)))

    assert max(Counter(epochs).values()) == 1
    assert {run_id for run_id, _ in epochs} <= {one.run_id for one in started}


async def test_a_claim_does_not_wait_for_a_thread_that_is_held(
    world: StoreWorld, rival: Rival
) -> None:
    held, free = await world.start(), await world.start()

    async with rival.holding(held.thread_id), asyncio.timeout(2):
        claimed = await world.store.claim("w", Serves.of(AGENT), 5)

    assert [one.run.id for one in claimed] == [free.run_id]
    assert [one.run.id for one in await world.store.claim("w", Serves.of(AGENT), 5)] == [
        held.run_id
    ]


async def test_two_sweepers_take_a_dead_workers_runs_once(world: StoreWorld) -> None:
    for _ in range(50):
        await world.start()
    claimed = await world.store.claim("dead", Serves.of(AGENT), 50)

    taken = await asyncio.gather(*(world.store.take_over("dead") for _ in range(6)))
    left = await world.store.take_over("dead")

    assert sum(each or 0 for each in (*taken, left)) == 50
    for one in claimed:
        assert (await world.thread(one.thread.id)).epoch == one.thread.epoch + 1
