"""What every ``RunStore`` keeps of events, timers and child runs: the facts that runs wait for."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.facts import NewTimer, child_fact, event_fact, timer_fact
from app.domain.message import MessageStatus
from app.domain.ports import OnBusy, Serves, Verdict
from app.domain.run import Ending, RunStatus, Waits
from app.domain.thread import ThreadStatus
from tests.support.store_world import StoreWorld, a_child, a_start, a_turn, an_answer

AT_ONCE, NEVER = timedelta(0), timedelta(days=1)


def _in(delay: timedelta) -> datetime:
    return datetime.now(UTC) + delay


# ---- events ----


@pytest.mark.req("DUR-12")
async def test_an_event_wakes_the_run_that_waits_for_it(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.wait(claimed, event_fact("paid", 0))
    parked = await world.snapshot(claimed.thread.id)
    world.around.rung.clear()

    other = await world.store.send_event(claimed.run.id, "shipped", "1")
    still = await world.run(claimed.run.id)
    sent = await world.store.send_event(claimed.run.id, "paid", '{"amount":5}')

    again = await world.claim(claimed.run.agent)
    assert (parked.thread.status, parked.run_status) == ("running", RunStatus.WAITING)
    assert (other, still.status, sent) == (True, RunStatus.WAITING, True)
    assert again.thread.wakes == claimed.thread.wakes + 2
    assert world.around.rung == [claimed.run.id]
    facts = await world.facts(again)
    assert (facts["event:paid#0"], facts["event:shipped#0"]) == ({"amount": 5}, 1)


async def test_events_of_a_name_are_counted(world: StoreWorld) -> None:
    claimed = await world.drive()

    for name, payload in (("a", "1"), ("a", "2"), ("a#0", "3"), ("a", "4"), ("b%_", "5")):
        assert await world.store.send_event(claimed.run.id, name, payload)

    assert await world.facts(claimed) == {
        "event:a#0": 1,
        "event:a#1": 2,
        "event:a#0#0": 3,
        "event:a#2": 4,
        "event:b%_#0": 5,
    }


async def test_an_event_is_found_in_any_later_turn(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.send_event(claimed.run.id, "paid", "1")

    await world.store.record(claimed.fence, a_turn(claimed.fence, 3, ["call_1"]))

    assert "event:paid#0" in await world.facts(claimed)


async def test_an_event_is_for_an_unfinished_run(world: StoreWorld) -> None:
    claimed = await world.drive()
    held = await world.start(thread_key=claimed.thread.key, on_busy=OnBusy.QUEUE)
    wakes = (await world.thread(claimed.thread.id)).wakes

    early = await world.store.send_event(held.run_id, "paid", "1")
    wakes_after = (await world.thread(claimed.thread.id)).wakes
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    begun = await world.claim()

    assert early
    assert wakes_after == wakes
    assert await world.facts(begun) == {"event:paid#0": 1}
    assert not await world.store.send_event(claimed.run.id, "paid", "1")
    assert not await world.store.send_event("no-run", "paid", "1")


# ---- timers ----


@pytest.mark.req("DUR-12", "SCH-06")
async def test_a_timer_wakes_its_run_once_when_it_is_due(world: StoreWorld) -> None:
    claimed = await world.drive()
    nap, night = timer_fact("nap"), timer_fact("night")
    timers = [NewTimer(nap, AT_ONCE), NewTimer(night, NEVER)]
    verdict = await world.store.park(claimed.fence, 0, Waits.for_all([nap]), timers)
    world.around.rung.clear()

    fired = [await world.store.fire_due(10) for _ in range(2)]

    again = await world.claim(claimed.run.agent)
    assert (verdict, fired) == (Verdict.DONE, [1, 0])
    assert world.around.rung == [claimed.run.id]
    assert await world.facts(again) == {nap: None}
    assert again.thread.wakes == 1
    assert await world.store.stranded() == []


async def test_a_timer_is_set_once_however_often_the_run_parks(world: StoreWorld) -> None:
    claimed = await world.drive()
    nap, paid = timer_fact("nap"), event_fact("paid", 0)
    either = Waits(((nap, paid),))
    await world.store.park(claimed.fence, 0, either, [NewTimer(nap, NEVER)])
    await world.store.send_event(claimed.run.id, "paid", "1")
    again = await world.claim(claimed.run.agent)

    await world.store.park(
        again.fence, again.thread.wakes, Waits.for_all([nap]), [NewTimer(nap, AT_ONCE)]
    )

    assert await world.store.fire_due(10) == 0
    assert (await world.run(claimed.run.id)).status is RunStatus.WAITING


async def test_a_timer_that_fired_is_not_set_again(world: StoreWorld) -> None:
    claimed = await world.drive()
    nap, paid = timer_fact("nap"), event_fact("paid", 0)
    await world.store.park(claimed.fence, 0, Waits.for_all([nap]), [NewTimer(nap, AT_ONCE)])
    await world.store.fire_due(10)
    again = await world.claim(claimed.run.agent)

    waits = Waits.for_all([nap, paid])
    await world.store.park(again.fence, again.thread.wakes, waits, [NewTimer(nap, AT_ONCE)])

    assert await world.store.fire_due(10) == 0


@pytest.mark.req("RUN-03")
async def test_a_runs_timers_go_with_its_end(world: StoreWorld) -> None:
    claimed = await world.drive()
    nap = timer_fact("nap")
    await world.store.park(claimed.fence, 0, Waits.for_all([nap]), [NewTimer(nap, AT_ONCE)])

    await world.store.cancel(claimed.thread.id, None)

    assert await world.store.fire_due(10) == 0
    assert (await world.thread(claimed.thread.id)).status is ThreadStatus.CANCELLED


async def test_no_more_timers_fire_than_are_asked_for(world: StoreWorld) -> None:
    for _ in range(3):
        claimed = await world.drive()
        nap = timer_fact("nap")
        await world.store.park(claimed.fence, 0, Waits.for_all([nap]), [NewTimer(nap, AT_ONCE)])

    assert [await world.store.fire_due(2) for _ in range(3)] == [2, 1, 0]


@pytest.mark.req("SCH-04", "SCH-06")
async def test_a_scheduled_start_starts_one_run_when_it_is_due(world: StoreWorld) -> None:
    start = a_start(owner="ann", author="ann", policy={"maxTurns": 3}, timeout=NEVER)
    late = a_start()
    for _ in range(2):
        await world.store.schedule("due", start, _in(-timedelta(seconds=1)))
        await world.store.schedule("later", late, _in(NEVER))
    before = await world.reader.run(start.run_id)

    fired = [await world.store.fire_due(10) for _ in range(2)]
    await world.store.schedule("due", start, _in(-timedelta(seconds=1)))

    claimed = await world.claim()
    assert (before, fired) == (None, [1, 0])
    assert await world.store.fire_due(10) == 0
    assert (claimed.run.id, claimed.run.policy) == (start.run_id, {"maxTurns": 3})
    assert claimed.thread.owner == "ann"
    assert [row.author for row in await world.store.history(claimed.thread.id)] == ["ann"]
    assert world.around.rung == [start.run_id]
    assert await world.reader.run(late.run_id) is None


@pytest.mark.req("SCH-04", "CON-04")
async def test_a_scheduled_start_on_a_busy_thread_is_held_back(world: StoreWorld) -> None:
    claimed = await world.drive()
    start = a_start(thread_key=claimed.thread.key, agent=claimed.run.agent)
    await world.store.schedule("due", start, _in(-timedelta(seconds=1)))

    assert await world.store.fire_due(10) == 1

    assert (await world.run(start.run_id)).status is RunStatus.PENDING
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    assert (await world.claim(claimed.run.agent)).run.id == start.run_id


# ---- children ----


@pytest.mark.req("TOOL-05", "TOOL-06", "DUR-12")
async def test_a_childs_end_wakes_its_parent_with_its_answer(world: StoreWorld) -> None:
    parent = await world.drive()
    await world.ask(parent, "call_1")
    child = await world.spawn(parent)
    await world.wait(parent, child_fact("call_1"))
    world.around.rung.clear()
    await world.store.record(child.fence, an_answer(child.fence, 0, "Let me see."))
    await world.store.record(child.fence, an_answer(child.fence, 1, "It is blue."))

    await world.store.finish(child.fence, Ending.completed("final"), None)

    again = await world.claim(parent.run.agent)
    assert child.run.parent == a_child(parent).parent
    assert again.run.id == parent.run.id
    assert again.thread.wakes == parent.thread.wakes + 1
    assert (await world.facts(again))["child:call_1"] == {
        "runId": child.run.id,
        "status": "completed",
        "answer": "It is blue.",
        "error": None,
    }
    assert world.around.rung == [parent.run.id]


@pytest.mark.req("TOOL-06", "CON-05")
async def test_a_child_is_started_once(world: StoreWorld) -> None:
    parent = await world.drive()
    child = a_child(parent)

    first = await world.store.spawn(parent.fence, child)
    again = await world.store.spawn(parent.fence, child)
    claimed = await world.claim(child.agent)
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    ended = await world.store.spawn(parent.fence, child)

    assert first is not None
    assert again == first
    assert ended is not None
    assert (ended.run_id, ended.thread_id) == (first.run_id, first.thread_id)
    assert len(await world.store.history(first.thread_id)) == 1
    assert (await world.thread(first.thread_id)).live_run is None


@pytest.mark.req("TOOL-05")
async def test_a_failed_child_says_why(world: StoreWorld) -> None:
    parent = await world.drive()
    child = await world.spawn(parent)

    await world.store.finish(child.fence, Ending.failed("MODEL", "no answer"), None)

    assert (await world.facts(parent))["child:call_1"] == {
        "runId": child.run.id,
        "status": "failed",
        "answer": "",
        "error": {"code": "MODEL", "message": "no answer"},
    }
    assert (await world.run(parent.run.id)).status is RunStatus.RUNNING


@pytest.mark.req("TOOL-05", "RUN-03")
async def test_a_cancelled_child_is_a_fact_too(world: StoreWorld) -> None:
    parent = await world.drive()
    child = await world.spawn(parent)
    await world.wait(parent, child_fact("call_1"))

    await world.store.cancel(child.thread.id, child.run.id)

    again = await world.claim(parent.run.agent)
    fact = (await world.facts(again))["child:call_1"]
    assert isinstance(fact, dict)
    assert fact["status"] == "cancelled"


@pytest.mark.req("TOOL-05", "RUN-03")
@pytest.mark.parametrize("how", ["cancel", "fail", "replace", "complete"])
async def test_a_runs_children_end_with_it_down_to_the_last(world: StoreWorld, how: str) -> None:
    parent = await world.drive()
    child = await world.spawn(parent)
    await world.ask(child, "call_1")
    grandchild = await world.spawn(child)
    journal, deep = world.around.journal, grandchild.fence
    await journal.open(deep)
    await journal.complete(deep, an_answer(deep, 0, "As far as I can see"), [])
    await world.wait(child, child_fact("call_1"))
    if how in {"cancel", "replace"}:
        both = Waits(((child_fact("call_1"), timer_fact("late")),))
        await world.store.park(parent.fence, 0, both, [NewTimer(timer_fact("late"), AT_ONCE)])

    match how:
        case "cancel":
            await world.store.cancel(parent.thread.id, None)
        case "replace":
            await world.start(thread_key=parent.thread.key, on_busy=OnBusy.REPLACE)
        case "fail":
            await world.store.finish(parent.fence, Ending.failed("MODEL", "no answer"), None)
        case _:
            await world.store.finish(parent.fence, Ending.completed("final"), None)

    for one in (child, grandchild):
        run, thread = await world.run(one.run.id), await world.thread(one.thread.id)
        assert run.status is RunStatus.CANCELLED
        assert (thread.status, thread.live_run) == (ThreadStatus.CANCELLED, None)
        assert (thread.id, thread.version) in world.around.announced
        assert await world.store.record(one.fence, an_answer(one.fence, 5)) is None
    assert (await world.store.history(child.thread.id))[-1].status is MessageStatus.INTERRUPTED
    assert (await world.store.history(deep.thread_id))[-1].status is MessageStatus.COMPLETE
    assert ("worker-1", deep) in world.around.aborted
    assert journal.held(deep.thread_id) == []
    assert await world.store.fire_due(10) == 0
    assert await world.store.stranded() == []


async def test_a_child_that_is_held_back_is_cancelled_with_its_parent(world: StoreWorld) -> None:
    parent, busy = await world.drive(), await world.drive()
    child = a_child(parent, thread_key=busy.thread.key, agent=busy.run.agent, on_busy=OnBusy.QUEUE)
    await world.store.spawn(parent.fence, child)

    await world.store.cancel(parent.thread.id, None)

    assert (await world.run(child.run_id)).status is RunStatus.CANCELLED
    assert await world.store.holds(busy.fence)
    await world.store.finish(busy.fence, Ending.completed("final"), None)
    assert await world.store.claim("w", Serves.of(busy.run.agent), 5) == []


@pytest.mark.req("CON-06")
async def test_only_the_own_children_end_with_a_run(world: StoreWorld) -> None:
    parent, other = await world.drive(), await world.drive()
    child, others = await world.spawn(parent), await world.spawn(other)

    await world.store.cancel(parent.thread.id, None)

    assert (await world.run(child.run.id)).status is RunStatus.CANCELLED
    assert await world.store.holds(others.fence)


# ---- time limits ----


@pytest.mark.req("RUN-14")
@pytest.mark.parametrize("status", ["queued", "running", "waiting"])
async def test_a_run_that_is_past_its_time_fails_wherever_it_is(
    world: StoreWorld, status: str
) -> None:
    started = await world.start(agent="a", timeout=AT_ONCE)
    if status in {"running", "waiting"}:
        claimed = await world.claim("a")
        if status == "waiting":
            await world.wait(claimed, event_fact("paid", 0))
    before = await world.run(started.run_id)
    unlimited, in_time = await world.start(), await world.start(timeout=NEVER)

    failed = [await world.store.fail_overdue() for _ in range(2)]

    run = await world.run(started.run_id)
    assert (before.status, failed) == (status, [1, 0])
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.code == "TIMED_OUT"
    assert len(world.around.aborted) == (1 if status == "running" else 0)
    assert (await world.thread(started.thread_id)).error == run.error
    for other in (unlimited, in_time):
        assert (await world.run(other.run_id)).status is RunStatus.QUEUED


@pytest.mark.req("RUN-14", "CON-04")
async def test_the_time_of_a_run_that_is_held_back_begins_when_it_may_begin(
    world: StoreWorld,
) -> None:
    busy = await world.drive()
    held = await world.start(thread_key=busy.thread.key, on_busy=OnBusy.QUEUE, timeout=AT_ONCE)

    while_held = await world.store.fail_overdue()
    await world.store.finish(busy.fence, Ending.completed("final"), None)

    assert while_held == 0
    assert (await world.run(held.run_id)).status is RunStatus.QUEUED
    assert await world.store.fail_overdue() == 1
    assert (await world.thread(held.thread_id)).error is not None
