"""Whoever lost the thread writes nothing, also when he lost it while he waited for its lock."""

import asyncio

import pytest

from app.domain.approval import approval_step
from app.domain.ports import Verdict
from app.domain.run import Ending, Waits
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, a_step, an_answer

pytestmark = pytest.mark.req("DUR-03", "DUR-07")

LOSE = "UPDATE agent_threads SET epoch = epoch + 1 WHERE id = $1"


async def test_an_epoch_that_rises_while_a_record_waits(world: StoreWorld, rival: Rival) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    await world.store.record(fence, a_step(fence, "warm"))  # the statement is prepared

    async with asyncio.TaskGroup() as group, rival.holding(fence.thread_id) as connection:
        record = group.create_task(world.store.record(fence, an_answer(fence, 0)))
        await rival.until_waited_for()
        await connection.execute(LOSE, fence.thread_id)

    snapshot = await world.snapshot(fence.thread_id)
    assert record.result() is None
    assert len(snapshot.messages) == 1
    assert snapshot.thread.version == claimed.thread.version + 1
    steps = await rival.watch.fetch("SELECT name FROM agent_steps WHERE run = $1", fence.run_id)
    assert [row["name"] for row in steps] == ["warm"]


async def test_every_other_write_loses_as_well(world: StoreWorld, rival: Rival) -> None:
    claimed = await world.drive()
    fence, store = claimed.fence, world.store

    async with asyncio.TaskGroup() as group, rival.holding(fence.thread_id) as connection:
        park = group.create_task(store.park(fence, 0, Waits.for_all([approval_step("call_1")])))
        finish = group.create_task(store.finish(fence, Ending.completed("final"), None))
        release = group.create_task(store.release(fence))
        raised = group.create_task(store.raise_epoch(fence, 7))
        holds = group.create_task(store.holds(fence))
        await rival.until_waited_for(5)
        await connection.execute(LOSE, fence.thread_id)

    assert (park.result(), finish.result()) == (Verdict.LOST, Verdict.LOST)
    assert (release.result(), raised.result(), holds.result()) == (False, None, False)
    assert (await world.run(fence.run_id)).status == "running"


async def test_what_came_while_a_record_waited_is_seen_by_it(
    world: StoreWorld, rival: Rival
) -> None:
    claimed = await world.drive()
    fence = claimed.fence

    async with asyncio.TaskGroup() as group, rival.holding(fence.thread_id) as connection:
        record = group.create_task(world.store.record(fence, an_answer(fence, 0)))
        await rival.until_waited_for()
        await connection.execute(
            "UPDATE agent_threads SET wakes = wakes + 1, version = version + 5, seq = 9"
            " WHERE id = $1",
            fence.thread_id,
        )

    answer = record.result()
    assert answer is not None
    assert (answer.wakes, answer.version) == (1, claimed.thread.version + 6)
    row = (await world.store.history(fence.thread_id))[-1]
    assert (row.seq, row.version) == (10, answer.version)


async def test_who_asks_waits_for_whoever_is_ending_the_run(
    world: StoreWorld, rival: Rival
) -> None:
    claimed = await world.drive()
    fence = claimed.fence

    async with asyncio.TaskGroup() as group, rival.holding(fence.thread_id):
        holds = group.create_task(world.store.holds(fence))
        await rival.until_waited_for()
        answered_too_early = holds.done()

    assert not answered_too_early
    assert holds.result()
