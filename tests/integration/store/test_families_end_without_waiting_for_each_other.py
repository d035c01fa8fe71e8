"""A child's end and its parent's park, cancel or end: in any order none is lost or stuck."""

import asyncio

import pytest

from app.domain.facts import child_fact
from app.domain.ports import ClaimedRun, OnBusy, Verdict
from app.domain.run import FINAL, Ending, RunStatus, Waits
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, a_child, an_answer

ROUNDS, AT_ONCE = 200, 10
DONE = Ending.completed("final")
FACT = child_fact("call_1")

pytestmark = pytest.mark.req("TOOL-05", "TOOL-06", "DUR-12")


@pytest.fixture
async def no_referee(rival: Rival) -> None:
    """Let a deadlock end in an error, instead of being settled by the server unseen.

    For sessions that are opened from now on.
    """
    name = await rival.connection.fetchval("SELECT current_database()")
    await rival.connection.execute(f"ALTER DATABASE {name} SET deadlock_timeout = '1min'")


async def _family(world: StoreWorld) -> tuple[ClaimedRun, ClaimedRun]:
    parent = await world.drive()
    return parent, await world.spawn(parent)


@pytest.mark.parametrize("end_first", [True, False])
async def test_a_childs_end_and_its_parents_park_in_either_order(
    world: StoreWorld, rival: Rival, *, end_first: bool
) -> None:
    parent, child = await _family(world)

    async def end() -> Verdict:
        return await world.store.finish(child.fence, DONE, None)

    async def park() -> Verdict:
        return await world.store.park(parent.fence, 0, Waits.for_all([FACT]))

    async with asyncio.TaskGroup() as group, rival.holding(parent.thread.id):
        first = group.create_task(end() if end_first else park())
        await rival.until_waited_for(1)
        second = group.create_task(park() if end_first else end())
        await rival.until_waited_for(2)

    parked = second.result() if end_first else first.result()
    run = await world.run(parent.run.id)
    assert parked is (Verdict.MOVED if end_first else Verdict.DONE)
    assert run.status is (RunStatus.RUNNING if end_first else RunStatus.QUEUED)
    assert (await world.run(child.run.id)).status is RunStatus.COMPLETED
    assert await world.store.stranded() == []


@pytest.mark.usefixtures("no_referee")
@pytest.mark.req("RUN-03")
@pytest.mark.parametrize("how", ["cancel", "replace", "fail"])
async def test_a_parents_end_and_its_childs_end_do_not_deadlock(
    world: StoreWorld, how: str
) -> None:
    async def end_parent(parent: ClaimedRun) -> object:
        match how:
            case "cancel":
                return await world.store.cancel(parent.thread.id, parent.run.id)
            case "replace":
                return await world.start(thread_key=parent.thread.key, on_busy=OnBusy.REPLACE)
            case _:
                return await world.store.finish(parent.fence, Ending.failed("X", "broke"), None)

    async def one_round(number: int) -> None:
        parent, child = await _family(world)
        ends = [world.store.finish(child.fence, DONE, None), end_parent(parent)]
        await asyncio.gather(*(ends if number % 2 else reversed(ends)))
        for one in (parent, child):
            assert (await world.run(one.run.id)).status in FINAL
            assert (await world.thread(one.thread.id)).live_run != one.run.id

    for batch in range(ROUNDS // AT_ONCE):
        await asyncio.gather(*(one_round(batch + number) for number in range(AT_ONCE)))

    assert await world.store.stranded() == []


@pytest.mark.usefixtures("no_referee")
@pytest.mark.req("RUN-03")
async def test_three_generations_end_from_both_sides(world: StoreWorld) -> None:
    async def one_round(number: int) -> None:
        parent, child = await _family(world)
        grandchild = await world.spawn(child)
        ends = [
            world.store.cancel(parent.thread.id, None),
            world.store.finish(grandchild.fence, DONE, None),
            world.store.cancel(child.thread.id, None),
        ]
        await asyncio.gather(*ends[number % 3 :], *ends[: number % 3])
        for one in (parent, child, grandchild):
            assert (await world.run(one.run.id)).status in FINAL

    for batch in range(6):
        await asyncio.gather(*(one_round(batch + number) for number in range(AT_ONCE)))

    assert await world.store.stranded() == []


async def test_a_child_is_started_or_its_parent_has_ended(world: StoreWorld) -> None:
    async def one_round(number: int) -> None:
        parent = await world.drive()
        child = a_child(parent)
        calls = [
            world.store.spawn(parent.fence, child),
            world.store.cancel(parent.thread.id, None),
        ]
        await asyncio.gather(*(calls if number % 2 else reversed(calls)))
        run = await world.reader.run(child.run_id)
        assert run is None or run.status is RunStatus.CANCELLED

    await asyncio.gather(*(one_round(number) for number in range(40)))
    assert await world.store.stranded() == []


async def test_a_spawn_that_is_asked_for_many_times_starts_one_child(world: StoreWorld) -> None:
    parent = await world.drive()
    child = a_child(parent)

    answers = await asyncio.gather(*(world.store.spawn(parent.fence, child) for _ in range(10)))

    assert answers == [answers[0]] * 10
    assert len(await world.store.history(child.thread_id)) == 1


async def test_all_children_of_a_parent_end_at_once(world: StoreWorld) -> None:
    parent = await world.drive()
    calls = [f"call_{n}" for n in range(20)]
    children = [await world.spawn(parent, call) for call in calls]
    await world.wait(parent, *map(child_fact, calls))
    world.around.rung.clear()

    for child in children:
        await world.store.record(child.fence, an_answer(child.fence, 0))
    await asyncio.gather(*(world.store.finish(each.fence, DONE, None) for each in children))

    again = await world.claim(parent.run.agent)
    assert set(await world.facts(again)) == set(map(child_fact, calls))
    assert again.thread.wakes == len(calls)
    assert world.around.rung == [parent.run.id]
