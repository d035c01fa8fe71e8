"""What every ``RunStore`` keeps, whatever it is made of: starting, claiming, recording."""

from datetime import timedelta

import pytest

from app.domain.approval import approval_step
from app.domain.errors import Conflict, Forbidden, RecordRefused
from app.domain.message import (
    MessageStatus,
    Role,
    result_key,
)
from app.domain.ports import Serves, Verdict
from app.domain.record import FilledMessage, Record, Writes
from app.domain.run import Ending, Fence, RunError, RunStatus, Usage, Waits
from app.domain.thread import ThreadStatus
from tests.support.store_world import (
    StoreWorld,
    a_result,
    a_start,
    a_step,
    a_turn,
    an_answer,
)

# ---- starting ----


@pytest.mark.req("RUN-01", "DUR-06")
async def test_a_start_writes_thread_run_and_message(world: StoreWorld) -> None:
    start = a_start(owner="ann", author="ann", dedupe="send-1", policy={"maxTurns": 3})

    started = await world.store.start(start)

    snapshot = await world.snapshot(started.thread_id)
    assert snapshot.thread.live_run == started.run_id
    assert snapshot.thread.owner == "ann"
    assert (snapshot.thread.status, snapshot.run_status) == ("queued", RunStatus.QUEUED)
    assert snapshot.thread.version == started.version
    (message,) = snapshot.messages
    assert (message.seq, message.role, message.run_id) == (1, Role.USER, started.run_id)
    assert (message.author, message.dedupe) == ("ann", "send-1")
    assert (await world.run(started.run_id)).policy == {"maxTurns": 3}
    assert world.around.announced == [(started.thread_id, started.version)]
    assert world.around.rung == [started.run_id]


@pytest.mark.req("RUN-13")
async def test_a_busy_thread_refuses_a_second_run_and_names_the_first(world: StoreWorld) -> None:
    started = await world.start()

    with pytest.raises(Conflict) as refused:
        await world.start(thread_key=started.thread_key)

    assert refused.value.data == {"runId": started.run_id, "status": "queued"}
    assert len((await world.snapshot(started.thread_id)).messages) == 1


@pytest.mark.req("ACC-01", "ACC-03")
async def test_an_owned_thread_answers_to_its_owner_and_to_admins(world: StoreWorld) -> None:
    claimed = await world.drive(owner="ann")
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    key = claimed.thread.key

    with pytest.raises(Forbidden):
        await world.start(thread_key=key, owner="bob")
    with pytest.raises(Forbidden):
        await world.start(thread_key=key)
    await world.start(thread_key=key, owner="root", as_admin=True)

    assert (await world.thread(claimed.thread.id)).owner == "ann"


@pytest.mark.req("RUN-02", "RUN-09")
async def test_a_later_run_goes_on_with_the_thread_as_it_is(world: StoreWorld) -> None:
    claimed = await world.drive(title="Order")
    await world.store.finish(claimed.fence, Ending.failed("MODEL", "no model"), None)
    before = await world.thread(claimed.thread.id)

    started = await world.start(
        thread_key=before.key, agent="another", title="Other", owner="somebody"
    )

    thread = await world.thread(before.id)
    assert started.thread_id == before.id
    assert (thread.title, thread.agent, thread.owner) == ("Order", before.agent, None)
    assert (before.error, thread.error) == (RunError("MODEL", "no model"), None)
    assert [message.seq for message in await world.store.history(before.id)] == [1, 2]


# ---- the queue ----


async def test_a_claim_takes_the_oldest_runs_of_its_agents(world: StoreWorld) -> None:
    started = [await world.start(agent="a") for _ in range(3)]
    await world.start(agent="b")

    first = await world.store.claim("w", Serves.of("a", "c"), 2)
    rest = await world.store.claim("w", Serves.of("a", "c"), 5)

    claimed = [one.run.id for one in first + rest]
    assert claimed == [one.run_id for one in started]


async def test_a_claim_gives_the_run_to_the_worker_under_a_new_epoch(world: StoreWorld) -> None:
    started = await world.start()

    claimed = await world.claim(worker="w")

    assert claimed.fence == Fence(started.thread_id, started.run_id, 1)
    assert (claimed.run.status, claimed.run.worker, claimed.run.attempts) == ("running", "w", 1)
    assert claimed.thread.status is ThreadStatus.RUNNING
    assert claimed.thread.version == started.version + 1
    assert world.around.announced[-1] == (started.thread_id, claimed.thread.version)
    assert await world.store.claim("w", Serves.of(claimed.run.agent), 1) == []


async def test_a_claim_without_room_or_agents_takes_nothing(world: StoreWorld) -> None:
    await world.start()

    assert await world.store.claim("w", Serves.of("support"), 0) == []
    assert await world.store.claim("w", Serves.of(), 5) == []


@pytest.mark.req("IMP-31")
async def test_a_released_run_is_queued_under_a_new_epoch(world: StoreWorld) -> None:
    claimed = await world.drive()

    assert await world.store.release(claimed.fence)

    again = await world.claim(claimed.run.agent)
    assert (again.thread.epoch, again.run.attempts) == (claimed.thread.epoch + 2, 2)
    assert world.around.rung == [claimed.run.id] * 2
    assert not await world.store.release(claimed.fence)
    assert await world.store.record(claimed.fence, a_step(claimed.fence, "late")) is None


async def test_a_run_that_is_given_back_keeps_its_place_in_the_queue(world: StoreWorld) -> None:
    first = await world.drive()
    await world.start(agent=first.run.agent)

    await world.store.release(first.fence)

    assert (await world.claim(first.run.agent)).run.id == first.run.id


@pytest.mark.req("DUR-07", "IMP-31")
async def test_a_dead_workers_runs_are_queued_again_and_it_is_forgotten(world: StoreWorld) -> None:
    await world.register("w", ["a"])
    dead = [await world.drive() for _ in range(2)]
    parked = await world.drive()
    await world.ask(parked, "call_1", gated=["call_1"])
    await world.park(parked, "call_1")
    elsewhere = await world.start(agent="a")
    await world.claim("a", worker="w")

    taken = await world.store.take_over(dead[0].run.worker or "")
    again = await world.store.take_over(dead[0].run.worker or "")

    assert (taken, again) == (2, 0)
    for claimed in dead:
        assert (await world.run(claimed.run.id)).status is RunStatus.QUEUED
        assert (await world.thread(claimed.thread.id)).epoch == claimed.thread.epoch + 1
        assert await world.store.record(claimed.fence, a_step(claimed.fence, "late")) is None
    assert (await world.run(parked.run.id)).status is RunStatus.AWAITING_INPUT
    assert (await world.run(elsewhere.run_id)).status is RunStatus.RUNNING
    assert await world.store.beats() == {"w": 1}
    assert set(world.around.rung[-2:]) == {claimed.run.id for claimed in dead}


async def test_a_worker_that_holds_a_run_without_a_beat_is_watched(world: StoreWorld) -> None:
    await world.register("w", ["a"])
    claimed = await world.drive()

    assert await world.store.beats() == {"w": 1, claimed.run.worker: 0}


@pytest.mark.req("DUR-07")
async def test_a_worker_that_beats_again_keeps_its_runs(world: StoreWorld) -> None:
    await world.register("w", ["a"])
    await world.start(agent="a")
    claimed = await world.claim("a", worker="w")

    frozen_long_ago = await world.store.take_over("w", 0)
    run = await world.run(claimed.run.id)
    silent = await world.store.take_over("w", 1)

    assert (frozen_long_ago, run.status, run.worker) == (None, RunStatus.RUNNING, "w")
    assert silent == 1
    assert (await world.run(claimed.run.id)).status is RunStatus.QUEUED


async def test_who_never_beat_is_taken_over_as_one_who_never_did(world: StoreWorld) -> None:
    claimed = await world.drive()
    worker = claimed.run.worker or ""

    assert await world.store.take_over(worker, 1) is None
    assert await world.store.take_over(worker, 0) == 1
    assert await world.store.beats() == {}


async def test_how_long_the_queue_waits_is_known(world: StoreWorld) -> None:
    assert await world.store.oldest_queued() is None

    await world.start()

    waited = await world.store.oldest_queued()
    assert waited is not None
    assert timedelta(0) <= waited < timedelta(minutes=1)


async def test_a_run_whose_agent_nobody_knows_fails_by_name(world: StoreWorld) -> None:
    await world.register("w", ["known"])
    known = await world.start(agent="known")
    lost = await world.start(agent="lost")

    assert await world.store.fail_unknown_agents(timedelta(minutes=1)) == 0
    assert await world.store.fail_unknown_agents(timedelta(0)) == 1

    thread = await world.thread(lost.thread_id)
    assert (thread.status, thread.live_run) == (ThreadStatus.FAILED, None)
    assert thread.error is not None
    assert "lost" in thread.error.message
    assert (await world.run(known.run_id)).status is RunStatus.QUEUED


# ---- recording ----


@pytest.mark.req("DUR-03", "DUR-06")
async def test_a_step_is_recorded_once_however_often_it_is_stored(world: StoreWorld) -> None:
    claimed = await world.drive()
    record = an_answer(claimed.fence, 0)

    first = await world.store.record(claimed.fence, record)
    again = await world.store.record(claimed.fence, record)

    assert first is not None
    assert again is not None
    assert (first.was_new, again.was_new) == (True, False)
    assert first.version == again.version == claimed.thread.version + 1
    assert [message.seq for message in await world.store.history(claimed.thread.id)] == [1, 2]
    assert world.around.announced[-1] == (claimed.thread.id, first.version)
    assert len(world.around.announced) == 3


async def test_a_record_says_everything_that_it_changes(world: StoreWorld) -> None:
    claimed = await world.drive()
    thread_usage = Usage(4, 40, 20, 3, 2)
    record = an_answer(claimed.fence, 2)
    writes = Writes(
        messages=record.writes.messages,
        turn=2,
        run_usage=Usage(3, 30, 15),
        thread_usage=thread_usage,
    )

    await world.store.record(
        claimed.fence, Record(record.run_id, record.thread_id, record.step, 2, "1", writes)
    )

    run, thread = await world.run(claimed.run.id), await world.thread(claimed.thread.id)
    assert (run.turn, run.usage, thread.usage) == (2, Usage(3, 30, 15), thread_usage)
    message = (await world.store.history(thread.id))[-1]
    assert message.model == record.writes.messages[0].model
    assert (message.model_name, message.turn) == ("demo:", 2)
    assert message.usage == Usage(1, 10, 5).to_json()


async def test_a_record_that_says_nothing_of_turn_and_usage_leaves_them(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.record(claimed.fence, an_answer(claimed.fence, 1))

    await world.store.record(claimed.fence, a_step(claimed.fence, "memory:retrieve"))

    run = await world.run(claimed.run.id)
    assert (run.turn, run.usage) == (1, Usage(2, 10, 5))


@pytest.mark.parametrize("by", [-1, 1])
async def test_a_writer_with_another_epoch_changes_nothing(world: StoreWorld, by: int) -> None:
    claimed = await world.drive()
    stale = Fence(claimed.thread.id, claimed.run.id, claimed.thread.epoch + by)
    before = await world.snapshot(claimed.thread.id)

    assert await world.store.record(stale, an_answer(stale, 0)) is None
    assert (
        await world.store.park(stale, 0, Waits.for_all([approval_step("call_1")])) is Verdict.LOST
    )
    assert await world.store.finish(stale, Ending.completed("final"), None) is Verdict.LOST
    assert not await world.store.release(stale)
    assert not await world.store.holds(stale)
    assert await world.store.raise_epoch(stale, 9) is None
    assert await world.store.open_turn(stale) is None

    assert await world.snapshot(claimed.thread.id) == before


async def test_a_fence_of_an_unknown_thread_is_lost(world: StoreWorld) -> None:
    nowhere = Fence("no-thread", "no-run", 1)

    assert await world.store.record(nowhere, a_step(nowhere, "step")) is None
    assert await world.store.open_turn(nowhere) is None
    assert not await world.store.holds(nowhere)


@pytest.mark.req("DUR-06", "SUB-01")
async def test_results_stand_in_call_order_whoever_finishes_first(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2")

    await world.store.record(claimed.fence, a_result(claimed.fence, 0, 1, "call_2"))
    between = await world.store.history(claimed.thread.id)
    await world.store.record(claimed.fence, a_result(claimed.fence, 0, 0, "call_1"))

    after = await world.store.history(claimed.thread.id)
    assert [row.seq for row in after] == [1, 2, 3, 4]
    assert [row.status for row in between[2:]] == [MessageStatus.OPEN, MessageStatus.COMPLETE]
    assert [row.parts[0]["toolCallId"] for row in after[2:]] == ["call_1", "call_2"]
    assert after[2].version > after[3].version > between[1].version
    assert after[2].model is not None


@pytest.mark.req("DUR-03")
async def test_a_result_for_a_row_that_is_not_open_is_refused_whole(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1")
    await world.store.record(claimed.fence, a_result(claimed.fence, 0, 0, "call_1"))
    before = await world.snapshot(claimed.thread.id)
    filled = FilledMessage(
        result_key(claimed.run.id, 0, 0), MessageStatus.COMPLETE, '[{"type":"text","text":"x"}]'
    )
    missing = FilledMessage(result_key(claimed.run.id, 7, 7), MessageStatus.COMPLETE, "[]")

    for wrong in (filled, missing):
        record = Record(
            claimed.run.id, claimed.thread.id, "tool:again", 0, "1", Writes(filled=wrong)
        )
        with pytest.raises(RecordRefused, match="open"):
            await world.store.record(claimed.fence, record)

    assert await world.snapshot(claimed.thread.id) == before
    open_turn = await world.store.open_turn(claimed.fence)
    assert open_turn is not None
    assert "tool:again" not in open_turn.steps


@pytest.mark.req("DUR-06")
async def test_a_message_key_is_written_once(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.record(claimed.fence, an_answer(claimed.fence, 0))
    other = an_answer(claimed.fence, 0)

    with pytest.raises(RecordRefused):
        await world.store.record(
            claimed.fence, Record(other.run_id, other.thread_id, "other", 0, "1", other.writes)
        )

    assert len(await world.store.history(claimed.thread.id)) == 2


# ---- resuming ----


@pytest.mark.req("DUR-03")
async def test_a_drive_resumes_with_the_steps_of_the_open_turn(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    for record in (
        a_step(fence, "memory:retrieve", {"notes": ["naïve 😀"]}),
        a_turn(fence, 0, ["call_1"]),
        a_result(fence, 0, 0, "call_1"),
        a_turn(fence, 1, ["call_2"]),
        a_result(fence, 1, 0, "call_2"),
        a_step(fence, "inject:2", turn=2),
    ):
        await world.store.record(fence, record)

    open_turn = await world.store.open_turn(fence)

    assert open_turn is not None
    assert open_turn.steps == {
        "memory:retrieve": '{"notes":["naïve 😀"]}',
        "llm:turn:1": "{}",
        "tool:look_up:call_2": '"found"',
        "inject:2": '"done"',
    }
    assert open_turn.wakes == 0
    assert open_turn.version == (await world.thread(fence.thread_id)).version


async def test_an_epoch_is_raised_above_what_the_journal_remembers(world: StoreWorld) -> None:
    claimed = await world.drive()

    raised = await world.store.raise_epoch(claimed.fence, 41)

    assert raised == Fence(claimed.thread.id, claimed.run.id, 42)
    assert await world.store.holds(raised)
    assert not await world.store.holds(claimed.fence)
