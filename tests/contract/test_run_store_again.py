"""What every ``RunStore`` does with runs that crash, that fail and go on, and with versions."""

from datetime import timedelta

import pytest

from app.domain.approval import Decision
from app.domain.errors import Conflict
from app.domain.facts import NewTimer, child_fact, timer_fact
from app.domain.identity import Identity
from app.domain.message import MessageStatus
from app.domain.ports import OnBusy, Serves
from app.domain.run import Ending, RunStatus, Waits
from app.domain.thread import ThreadStatus
from tests.support.deciding import decide
from tests.support.store_world import (
    StoreWorld,
    a_child,
    a_result,
    a_step,
    a_turn,
)

ANN = Identity("ann")
FAILED = Ending.failed("MODEL", "no answer")
NOW, TOMORROW = timedelta(0), timedelta(days=1)


# ---- retry ----


@pytest.mark.req("RUN-14", "DUR-03")
async def test_a_failed_run_goes_on_from_its_last_finished_step(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    await world.store.record(fence, a_turn(fence, 0, ["call_1"]))
    await world.store.record(fence, a_result(fence, 0, 0, "call_1"))
    await world.store.record(fence, a_turn(fence, 1, ["call_2", "call_3", "call_4"], ["call_4"]))
    await world.store.record(fence, a_result(fence, 1, 1, "call_3"))
    steps = await world.facts(claimed)
    before = await world.snapshot(fence.thread_id)
    await world.store.finish(fence, FAILED, None)
    world.around.rung.clear()

    run = await world.store.retry(fence.thread_id, claimed.run.id)

    after = await world.snapshot(fence.thread_id)
    assert run is not None
    assert (run.id, run.status, run.error, run.stopped) == (
        claimed.run.id,
        RunStatus.QUEUED,
        None,
        None,
    )
    assert run.finished_at is None
    assert (after.thread.status, after.thread.error) == (ThreadStatus.QUEUED, None)
    assert (after.thread.live_run, after.thread.wakes) == (run.id, before.thread.wakes + 1)
    assert after.thread.epoch == claimed.thread.epoch + 2
    assert world.around.rung == [run.id]
    assert world.around.announced[-1] == (fence.thread_id, after.thread.version)
    assert [(row.status, row.parts) for row in after.messages] == [
        (row.status, row.parts) for row in before.messages
    ]
    assert {row.version for row in after.messages if row.status is MessageStatus.OPEN} == {
        after.thread.version
    }
    assert [approval.tool_call_id for approval in after.approvals] == ["call_4"]
    again = await world.claim(claimed.run.agent)
    assert (again.run.id, again.run.turn) == (run.id, 1)
    assert await world.facts(again) == steps
    assert await world.store.record(again.fence, a_result(again.fence, 1, 0, "call_2"))
    decided = await decide(world.store, fence.thread_id, "call_4", Decision.APPROVED, ANN, None)
    assert decided is not None
    assert await world.store.stranded() == []


@pytest.mark.req("RUN-14")
async def test_decisions_that_were_made_stay_made(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", gated=["call_1", "call_2"])
    await decide(world.store, claimed.thread.id, "call_1", Decision.DENIED, ANN, "no")
    await world.store.finish(claimed.fence, FAILED, None)

    await world.store.retry(claimed.thread.id, None)

    pending = (await world.snapshot(claimed.thread.id)).approvals
    assert [approval.tool_call_id for approval in pending] == ["call_2"]


@pytest.mark.req("RUN-14")
async def test_only_the_newest_run_can_be_retried_and_only_if_it_failed(world: StoreWorld) -> None:
    first = await world.drive()
    thread_id, key, agent = first.thread.id, first.thread.key, first.run.agent
    with pytest.raises(Conflict):
        await world.store.retry(thread_id, first.run.id)
    await world.store.finish(first.fence, FAILED, None)
    await world.start(thread_key=key, agent=agent)
    with pytest.raises(Conflict):
        await world.store.retry(thread_id, None)
    second = await world.claim(agent)
    await world.store.finish(second.fence, Ending.completed("final"), None)
    before = await world.snapshot(thread_id)

    for run_id in (first.run.id, second.run.id, None):
        with pytest.raises(Conflict):
            await world.store.retry(thread_id, run_id)

    assert await world.snapshot(thread_id) == before
    assert await world.store.retry(thread_id, "no-run") is None
    assert await world.store.retry("no-thread", None) is None
    other = await world.drive()
    assert await world.store.retry(thread_id, other.run.id) is None


@pytest.mark.req("RUN-14", "CON-04")
async def test_a_run_that_was_withdrawn_before_it_began_is_in_nobodys_way(
    world: StoreWorld,
) -> None:
    failed = await world.drive()
    held = await world.start(thread_key=failed.thread.key, on_busy=OnBusy.QUEUE)
    await world.store.cancel(failed.thread.id, held.run_id)
    await world.store.finish(failed.fence, FAILED, None)

    again = await world.store.retry(failed.thread.id, None)

    assert again is not None
    assert again.id == failed.run.id


@pytest.mark.req("RUN-14", "TOOL-06")
async def test_a_retried_run_finds_the_ends_of_its_children(world: StoreWorld) -> None:
    parent = await world.drive()
    await world.ask(parent, "call_1")
    child = await world.spawn(parent)
    await world.store.finish(parent.fence, FAILED, None)
    await world.store.retry(parent.thread.id, None)
    again = await world.claim(parent.run.agent)

    await world.store.spawn(again.fence, a_child(parent))

    fact = (await world.facts(again))[child_fact("call_1")]
    assert isinstance(fact, dict)
    assert (fact["runId"], fact["status"]) == (child.run.id, "cancelled")


async def test_a_retried_run_sets_its_timers_anew(world: StoreWorld) -> None:
    nap = timer_fact("nap")
    late = await world.drive(timeout=NOW)
    await world.store.park(late.fence, 0, Waits.for_all([nap]), [NewTimer(nap, TOMORROW)])
    await world.store.fail_overdue()

    await world.store.retry(late.thread.id, None)
    again = await world.claim(late.run.agent)
    await world.store.park(
        again.fence, again.thread.wakes, Waits.for_all([nap]), [NewTimer(nap, NOW)]
    )

    assert await world.store.fire_due(10) == 1


# ---- poison ----


@pytest.mark.req("DUR-07")
async def test_a_run_that_kills_its_workers_fails_at_the_last_of_its_tries(
    world: StoreWorld,
) -> None:
    started = await world.start(agent="a")
    for attempt in range(4):
        await world.store.claim(f"w{attempt}", Serves.of("a"), 1)
        assert await world.store.take_over(f"w{attempt}") == 1
        assert (await world.run(started.run_id)).crashes == attempt + 1

    assert await world.store.claim("w4", Serves.of("a"), 1, last_try=True)
    assert await world.store.fail_poison("w4") == 1
    await world.store.take_over("w4")

    snapshot, run = await world.snapshot(started.thread_id), await world.run(started.run_id)
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert (run.error.code, snapshot.thread.error) == ("POISON", run.error)
    assert "5" in run.error.message
    assert (snapshot.thread.status, snapshot.thread.live_run) == (ThreadStatus.FAILED, None)
    assert world.around.announced[-1] == (started.thread_id, snapshot.thread.version)
    assert await world.store.take_over("w4") == 0
    assert await world.store.stranded() == []
    await world.start(thread_key=started.thread_key, agent="a")
    assert len(await world.store.claim("w5", Serves.of("a"), 1)) == 1


@pytest.mark.req("DUR-07")
async def test_a_finished_step_forgives_the_crashes_before_it(world: StoreWorld) -> None:
    started = await world.start(agent="a")
    for attempt in range(3):
        await world.store.claim(f"w{attempt}", Serves.of("a"), 1)
        await world.store.take_over(f"w{attempt}")

    (claimed,) = await world.store.claim("w", Serves.of("a"), 1)
    await world.store.record(claimed.fence, a_step(claimed.fence, "first"))

    assert claimed.run.crashes == 3
    assert (await world.run(started.run_id)).crashes == 0


async def test_a_hand_over_is_no_crash(world: StoreWorld) -> None:
    claimed = await world.drive()

    await world.store.release(claimed.fence)

    assert (await world.run(claimed.run.id)).crashes == 0


@pytest.mark.req("DUR-07")
async def test_a_run_at_its_last_try_is_taken_alone(world: StoreWorld) -> None:
    suspect = await world.start(agent="a")
    for attempt in range(4):
        await world.store.claim(f"w{attempt}", Serves.of("a"), 1)
        await world.store.take_over(f"w{attempt}")
    innocent = await world.start(agent="a")
    waited = await world.store.last_try_waits(Serves.of("a"))

    others = await world.store.claim("w", Serves.of("a"), 5)
    alone = await world.store.claim("w", Serves.of("a"), 5, last_try=True)

    assert waited is not None
    assert timedelta(0) <= waited < timedelta(minutes=1)
    assert [one.run.id for one in others] == [innocent.run_id]
    assert [one.run.id for one in alone] == [suspect.run_id]
    assert await world.store.last_try_waits(Serves.of("a")) is None


async def test_a_run_at_its_last_try_waits_for_who_serves_it(world: StoreWorld) -> None:
    await world.start(agent="a")
    for attempt in range(4):
        await world.store.claim(f"w{attempt}", Serves.of("a"), 1)
        await world.store.take_over(f"w{attempt}")

    assert await world.store.last_try_waits(Serves.of("b")) is None


@pytest.mark.req("RUN-14")
async def test_a_retry_begins_to_count_anew(world: StoreWorld) -> None:
    started = await world.start(agent="a")
    for attempt in range(5):
        await world.store.claim(f"w{attempt}", Serves.of("a"), 1, last_try=attempt == 4)
        await world.store.fail_poison(f"w{attempt}")
        await world.store.take_over(f"w{attempt}")

    run = await world.store.retry(started.thread_id, None)

    assert run is not None
    assert run.crashes == 0
    assert len(await world.store.claim("w", Serves.of("a"), 1)) == 1


# ---- versions ----


async def test_a_pinned_run_is_taken_by_a_worker_that_has_its_version(world: StoreWorld) -> None:
    pinned = await world.start(agent="a", agent_version="2")
    free = await world.start(agent="a")
    claim = world.store.claim

    without = await claim("w0", Serves.of("a"), 5)
    await world.store.release(without[0].fence)
    older = await claim("w1", Serves({"a": "1", "b": "2"}), 5)
    newer = await claim("w2", Serves({"b": "1", "a": "2"}), 5)

    assert [one.run.id for one in without] == [free.run_id]
    assert [one.run.id for one in older] == [free.run_id]
    assert [(one.run.id, one.run.agent_version) for one in newer] == [(pinned.run_id, "2")]


async def test_a_held_back_run_keeps_its_pin(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.start(
        thread_key=claimed.thread.key, agent="a", agent_version="2", on_busy=OnBusy.QUEUE
    )
    await world.store.finish(claimed.fence, Ending.completed("final"), None)

    assert await world.store.claim("w", Serves.of("a"), 5) == []
    assert len(await world.store.claim("w", Serves({"a": "2"}), 5)) == 1
