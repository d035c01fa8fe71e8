"""Timers, events, retries and changes of state, raced by several processes."""

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.errors import Conflict
from app.domain.facts import NewTimer, event_fact, timer_fact
from app.domain.ports import ClaimedRun, OnBusy, Serves, StartedRun, Verdict
from app.domain.run import Ending, Run, RunStatus, Waits
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, a_start, postgres_world

DUE, ROUNDS = timedelta(0), 40
NAP = timer_fact("nap")


async def _napping(world: StoreWorld, after: timedelta = DUE) -> ClaimedRun:
    claimed = await world.drive()
    await world.store.park(claimed.fence, 0, Waits.for_all([NAP]), [NewTimer(NAP, after)])
    return claimed


async def _fire_all(world: StoreWorld) -> int:
    fired = 0
    while now := await world.store.fire_due(10):
        fired += now
    return fired


@pytest.mark.req("SCH-06", "DUR-12")
async def test_each_timer_is_fired_by_one_of_three_processes(
    world: StoreWorld, database_url: str
) -> None:
    napping = [await _napping(world) for _ in range(30)]
    starts = [a_start() for _ in range(30)]
    for start in starts:
        await world.store.schedule(f"at-{start.run_id}", start, datetime.now(UTC))

    async with postgres_world(database_url) as second, postgres_world(database_url) as third:
        worlds = (world, second, third)
        fired = await asyncio.gather(*(_fire_all(each) for each in worlds))
        left = await _fire_all(world)
        rung = Counter(run_id for each in worlds for run_id in each.around.rung)

    assert sum(fired) + left == 60
    for one in napping:
        assert rung[one.run.id] in {1, 2}  # its own start rang too
        assert (await world.run(one.run.id)).status is RunStatus.QUEUED
        assert (await world.thread(one.thread.id)).wakes == 1
    for start in starts:
        assert rung[start.run_id] == 1
        assert len(await world.store.history(start.thread_id)) == 1
    assert await world.store.stranded() == []


async def test_b26_a_thread_that_is_held_does_not_hold_up_other_timers(
    world: StoreWorld, rival: Rival
) -> None:
    """Field case B26: one stuck item blocks a queue."""
    stuck, free = await _napping(world), await _napping(world)
    start = a_start(thread_key=stuck.thread.key)
    await world.store.schedule("stuck", start, datetime.now(UTC) - timedelta(days=1))

    async with rival.holding(stuck.thread.id), asyncio.timeout(2):
        fired = await world.store.fire_due(10)

    assert fired == 1
    assert (await world.run(free.run.id)).status is RunStatus.QUEUED
    assert await world.store.fire_due(10) == 2


@pytest.mark.req("SCH-04")
async def test_a_scheduled_start_that_is_refused_is_not_tried_for_ever(world: StoreWorld) -> None:
    owned = await world.start(owner="ann")
    past = datetime.now(UTC) - timedelta(days=1)
    await world.store.schedule("bad", a_start(thread_key=owned.thread_key, owner="bob"), past)
    await world.store.schedule("worse", a_start(parts="not JSON"), past)
    good = a_start()
    await world.store.schedule("good", good, past)

    assert await world.store.fire_due(10) == 3

    assert await world.store.fire_due(10) == 0
    assert (await world.run(good.run_id)).status is RunStatus.QUEUED
    assert await world.store.stranded() == []


@pytest.mark.req("DUR-12")
@pytest.mark.parametrize("send_first", [True, False])
async def test_an_event_and_a_park_in_either_order(
    world: StoreWorld, rival: Rival, *, send_first: bool
) -> None:
    claimed = await world.drive()

    async def send() -> bool:
        return await world.store.send_event(claimed.run.id, "paid", "1")

    async def park() -> Verdict:
        return await world.store.park(claimed.fence, 0, Waits.for_all([event_fact("paid", 0)]))

    async with asyncio.TaskGroup() as group, rival.holding(claimed.thread.id):
        first = group.create_task(send() if send_first else park())
        await rival.until_waited_for(1)
        second = group.create_task(park() if send_first else send())
        await rival.until_waited_for(2)

    parked = second.result() if send_first else first.result()
    run = await world.run(claimed.run.id)
    assert parked is (Verdict.MOVED if send_first else Verdict.DONE)
    assert run.status is (RunStatus.RUNNING if send_first else RunStatus.QUEUED)


async def test_events_that_are_sent_at_once_are_numbered_without_gaps(world: StoreWorld) -> None:
    claimed = await world.drive()

    await asyncio.gather(
        *(world.store.send_event(claimed.run.id, "paid", str(n)) for n in range(20))
    )

    facts = await world.facts(claimed)
    assert set(facts) == {event_fact("paid", n) for n in range(20)}
    assert sorted(int(str(each)) for each in facts.values()) == list(range(20))


@pytest.mark.req("RUN-14", "CON-06")
async def test_a_retry_and_a_start_exclude_each_other(world: StoreWorld) -> None:
    async def one_round(number: int) -> None:
        claimed = await world.drive()
        await world.store.finish(claimed.fence, Ending.failed("X", "broke"), None)
        calls = [
            world.store.retry(claimed.thread.id, claimed.run.id),
            world.start(thread_key=claimed.thread.key),
        ]
        answers = await asyncio.gather(
            *(calls if number % 2 else reversed(calls)), return_exceptions=True
        )
        (won,) = [each for each in answers if not isinstance(each, BaseException)]
        (lost,) = [each for each in answers if isinstance(each, BaseException)]
        assert isinstance(lost, Conflict)
        winner = won.id if isinstance(won, Run) else won.run_id if won else None
        assert (await world.thread(claimed.thread.id)).live_run == winner

    await asyncio.gather(*(one_round(number) for number in range(ROUNDS)))
    assert await world.store.stranded() == []


@pytest.mark.req("RUN-14")
async def test_a_run_is_retried_once_however_often_it_is_asked_for(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.failed("X", "broke"), None)

    answers = await asyncio.gather(
        *(world.store.retry(claimed.thread.id, None) for _ in range(5)), return_exceptions=True
    )

    assert sum(isinstance(each, Run) for each in answers) == 1
    assert sum(isinstance(each, Conflict) for each in answers) == 4


@pytest.mark.req("STA-07")
async def test_a_change_of_state_that_is_tried_again_is_made_once(world: StoreWorld) -> None:
    claimed = await world.drive()

    def count(state: str | None) -> str:
        return str(int(state or 0) + 1)

    async def change(receipt: int) -> bool:
        step = f"tool:add:call_{receipt}/state:0"
        return await world.store.update_state(claimed.fence, step, 0, count)

    answers = await asyncio.gather(*(change(n % 10) for n in range(50)))

    assert all(answers)
    assert await world.reader.state(claimed.thread.id) == "10"


@pytest.mark.req("DUR-12")
async def test_a_thousand_parked_runs_are_woken_and_claimed_in_seconds(world: StoreWorld) -> None:
    begun = time.monotonic()
    for _ in range(100):
        await asyncio.gather(*(world.start(agent="a") for _ in range(10)))
    claimed = await world.store.claim("w", Serves.of("a"), 1000)
    for n in range(0, 1000, 10):
        await asyncio.gather(*(_park_for_good(world, one) for one in claimed[n : n + 10]))
    parked = time.monotonic()
    fired = 0
    while fired < 1000:
        fired += await world.store.fire_due(100)
    again = [one for _ in range(100) for one in await world.store.claim("w2", Serves.of("a"), 10)]
    woken = time.monotonic()

    assert {one.run.id for one in again} == {one.run.id for one in claimed}
    assert await world.store.stranded() == []
    # It is three times what it took to start and to park them here, whatever else goes on here.
    assert woken - parked < 10 * (parked - begun)


async def _park_for_good(world: StoreWorld, claimed: ClaimedRun) -> None:
    verdict = await world.store.park(claimed.fence, 0, Waits.for_all([NAP]), [NewTimer(NAP, DUE)])
    assert verdict is Verdict.DONE


@pytest.mark.req("RUN-14")
async def test_b18_a_run_whose_version_nobody_has_fails_and_says_so(
    world: StoreWorld, rival: Rival
) -> None:
    """Field case B18: runs of the old version are never resumed, and nobody says so."""
    await rival.connection.execute(
        "INSERT INTO agent_workers (id, beat, agents, versions) VALUES ('w', 1, $1, $2)",
        ["a", "b"],
        ["2", None],
    )
    kept = [await world.start(agent="a", agent_version="2"), await world.start(agent="b")]
    lost = await world.start(agent="a", agent_version="1")

    assert await world.store.fail_unknown_agents(timedelta(0)) == 1

    error = (await world.run(lost.run_id)).error
    assert error is not None
    assert error.code == "UNKNOWN_AGENT"
    assert error.message == "no worker has version '1' of the agent 'a', to which the run is pinned"
    for one in kept:
        assert (await world.run(one.run_id)).status is RunStatus.QUEUED


async def test_what_the_laws_do_not_allow_is_found(world: StoreWorld, rival: Rival) -> None:
    claimed, busy = await world.drive(), await world.drive()
    held = await world.start(thread_key=busy.thread.key, on_busy=OnBusy.QUEUE)
    assert isinstance(held, StartedRun)
    await _napping(world, timedelta(days=1))
    broken = rival.connection.execute
    await broken("UPDATE agent_threads SET live_run = NULL WHERE id = $1", busy.thread.id)
    await broken("UPDATE agent_timers SET due_at = due_at - interval '2 days'")
    await broken(
        "INSERT INTO agent_signals (id, thread, place, mode, text, sender, terms)"
        " VALUES ('s', $1, 1, 'inject', 'x', 'y', '{}')",
        busy.thread.id,
    )
    await broken(
        "UPDATE agent_runs SET status = 'waiting', waits = '[]' WHERE id = $1", claimed.run.id
    )

    found = "\n".join(await world.store.stranded())

    for part in (
        f"run {busy.run.id} is unfinished, but",
        f"run {held.run_id} is held back though",
        "signal s is unread though",
        f"run {claimed.run.id} is parked though",
        "has been due for",
    ):
        assert part in found
