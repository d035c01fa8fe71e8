"""What every ``RunStore`` does with one more start on a busy thread, and with a thread's state."""

import pytest

from app.domain.errors import Conflict, Forbidden
from app.domain.message import INTERRUPTED_OUTPUT, MessageStatus, plain_text, text_part
from app.domain.ports import ClaimedRun, OnBusy, Serves, StartedRun
from app.domain.run import Ending, Fence, RunStatus
from app.domain.storable import encode
from app.domain.thread import ThreadStatus
from tests.support.store_world import StoreWorld, a_result, a_start, an_answer, shown


def _says(text: str) -> str:
    return encode([text_part(text)])


async def _again(
    world: StoreWorld, claimed: ClaimedRun, on_busy: OnBusy, **changes: object
) -> StartedRun:
    return await world.start(
        thread_key=claimed.thread.key, agent=claimed.run.agent, on_busy=on_busy, **changes
    )


async def _complete(world: StoreWorld, claimed: ClaimedRun) -> None:
    await world.store.record(claimed.fence, an_answer(claimed.fence, 0))
    await world.store.finish(claimed.fence, Ending.completed("final"), None)


# ---- replace ----


@pytest.mark.req("CON-03", "CON-01")
async def test_a_replacing_start_ends_the_live_run_and_takes_its_place(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence, journal = claimed.fence, world.around.journal
    await world.ask(claimed, "call_1", "call_2")
    await journal.open(fence)
    await journal.complete(fence, a_result(fence, 0, 0, "call_1", "charged"), [])
    journal.show(fence.thread_id, fence.epoch, shown(fence, 1, "I see"))

    started = await _again(world, claimed, OnBusy.REPLACE)

    snapshot = await world.snapshot(fence.thread_id)
    *_, first, second, seen, said = snapshot.messages
    assert (await world.run(claimed.run.id)).status is RunStatus.CANCELLED
    assert (snapshot.thread.live_run, snapshot.run_status) == (started.run_id, "queued")
    assert snapshot.thread.version == started.version
    assert (first.status, first.parts[0]["output"]) == (MessageStatus.COMPLETE, "charged")
    assert (second.status, second.parts[0]["output"]) == ("interrupted", INTERRUPTED_OUTPUT)
    assert (seen.status, plain_text(seen.parts)) == ("interrupted", "I see")
    assert (said.run_id, said.seq) == (started.run_id, len(snapshot.messages))
    assert world.around.aborted == [("worker-1", fence)]
    assert world.around.rung[-1] == started.run_id
    assert journal.held(fence.thread_id) == []
    assert await world.store.record(fence, an_answer(fence, 1)) is None
    assert (await world.claim(claimed.run.agent)).run.id == started.run_id


@pytest.mark.req("CON-05")
async def test_a_start_that_is_sent_again_replaces_nothing(world: StoreWorld) -> None:
    first = await world.drive()
    start = a_start(thread_key=first.thread.key, agent=first.run.agent, on_busy=OnBusy.REPLACE)
    await world.store.start(start)
    live = await world.claim(first.run.agent)
    later = await _again(world, live, OnBusy.REPLACE)

    again = await world.store.start(start)

    assert again.run_id == start.run_id
    assert (await world.thread(first.thread.id)).live_run == later.run_id
    assert (await world.run(start.run_id)).status is RunStatus.CANCELLED


@pytest.mark.req("CON-03")
async def test_nobody_replaces_a_run_on_a_foreign_thread(world: StoreWorld) -> None:
    claimed = await world.drive(owner="ann")

    with pytest.raises(Forbidden):
        await _again(world, claimed, OnBusy.REPLACE, owner="bob")

    assert await world.store.holds(claimed.fence)


@pytest.mark.parametrize("on_busy", list(OnBusy))
async def test_on_a_free_thread_a_start_is_a_start(world: StoreWorld, on_busy: OnBusy) -> None:
    started = await world.start(on_busy=on_busy)

    assert (started.steered, started.position) == (False, None)
    assert (await world.thread(started.thread_id)).live_run == started.run_id


# ---- queue ----


@pytest.mark.req("CON-04", "CON-01", "DUR-12")
async def test_held_back_runs_start_in_order_as_the_thread_gets_free(world: StoreWorld) -> None:
    claimed = await world.drive()
    held = [
        await _again(world, claimed, OnBusy.QUEUE, parts=_says(f"number {n}"), dedupe=f"d{n}")
        for n in range(3)
    ]
    before = await world.snapshot(claimed.thread.id)

    drives = [claimed]
    for _ in held:
        await _complete(world, drives[-1])
        drives.append(await world.claim(claimed.run.agent))
    await _complete(world, drives[-1])
    ends = [(await world.run(drive.run.id)).finished_at for drive in drives]

    after = await world.snapshot(claimed.thread.id)
    assert [each.position for each in held] == [1, 2, 3]
    assert [each.text for each in before.waiting] == ["number 0", "number 1", "number 2"]
    assert [each.id for each in before.waiting] == [each.run_id for each in held]
    assert [(each.is_run, each.dedupe) for each in before.waiting] == [
        (True, f"d{n}") for n in range(3)
    ]
    assert [message.run_id for message in before.messages] == [claimed.run.id]
    assert [one.run.id for one in drives[1:]] == [each.run_id for each in held]
    assert [message.seq for message in after.messages] == list(range(1, 9))
    assert [message.run_id for message in after.messages] == [
        one.run.id for one in drives for _ in range(2)
    ]
    assert [message.dedupe for message in after.messages[2::2]] == ["d0", "d1", "d2"]
    assert (list(after.waiting), after.thread.live_run) == ([], None)
    waited_since = [drive.run.queued_at for drive in drives[1:]]
    assert all(
        end and since and end <= since for end, since in zip(ends, waited_since, strict=False)
    )
    assert world.around.rung == [one.run.id for one in drives]
    assert await world.store.stranded() == []


@pytest.mark.req("CON-04", "CON-07")
async def test_a_held_back_run_is_a_visible_change_and_nothing_to_claim(world: StoreWorld) -> None:
    claimed = await world.drive()
    before = await world.thread(claimed.thread.id)

    held = await _again(world, claimed, OnBusy.QUEUE)

    thread, run = await world.thread(before.id), await world.run(held.run_id)
    assert thread.version == held.version == before.version + 1
    assert (thread.status, thread.live_run, thread.wakes) == (
        before.status,
        claimed.run.id,
        before.wakes,
    )
    assert run.status is RunStatus.PENDING
    assert world.around.announced[-1] == (thread.id, thread.version)
    assert world.around.rung == [claimed.run.id]
    assert await world.store.claim("w", Serves.of(claimed.run.agent), 5) == []


@pytest.mark.req("CON-04", "CON-05")
async def test_a_held_back_start_that_is_sent_again_keeps_its_place(world: StoreWorld) -> None:
    claimed = await world.drive()
    start = a_start(thread_key=claimed.thread.key, on_busy=OnBusy.QUEUE)
    first = await world.store.start(start)
    await _again(world, claimed, OnBusy.QUEUE)

    again = await world.store.start(start)

    assert (again.run_id, again.position) == (first.run_id, 1)
    assert len((await world.snapshot(claimed.thread.id)).waiting) == 2


@pytest.mark.req("CON-04", "RUN-03")
async def test_a_held_back_run_is_cancelled_by_name(world: StoreWorld) -> None:
    claimed = await world.drive()
    first = await _again(world, claimed, OnBusy.QUEUE)
    second = await _again(world, claimed, OnBusy.QUEUE)
    before = await world.thread(claimed.thread.id)

    run = await world.store.cancel(claimed.thread.id, first.run_id)

    snapshot = await world.snapshot(claimed.thread.id)
    assert run is not None
    assert (run.id, run.status) == (first.run_id, RunStatus.CANCELLED)
    assert (snapshot.thread.live_run, snapshot.thread.epoch) == (claimed.run.id, before.epoch)
    assert snapshot.thread.version == before.version + 1
    assert [each.id for each in snapshot.waiting] == [second.run_id]
    assert await world.store.cancel(claimed.thread.id, first.run_id) is None
    assert await world.store.holds(claimed.fence)
    await _complete(world, claimed)
    assert (await world.claim(claimed.run.agent)).run.id == second.run_id


@pytest.mark.req("CON-03", "CON-04")
async def test_held_back_runs_outlast_a_cancel_and_a_replacement(world: StoreWorld) -> None:
    claimed = await world.drive()
    first = await _again(world, claimed, OnBusy.QUEUE)
    second = await _again(world, claimed, OnBusy.QUEUE)

    await world.store.cancel(claimed.thread.id, claimed.run.id)
    promoted = await world.claim(claimed.run.agent)
    replacing = await _again(world, claimed, OnBusy.REPLACE)
    replaced = await world.run(promoted.run.id)
    newest = await world.claim(claimed.run.agent)
    await world.store.finish(newest.fence, Ending.failed("MODEL", "no answer"), None)
    last = await world.claim(claimed.run.agent)

    assert [promoted.run.id, newest.run.id, last.run.id] == [
        first.run_id,
        replacing.run_id,
        second.run_id,
    ]
    assert replaced.status is RunStatus.CANCELLED
    rows = await world.store.history(claimed.thread.id)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert (await world.thread(claimed.thread.id)).error is None


async def test_how_a_thread_stopped_is_said_by_the_run_that_ended_last(world: StoreWorld) -> None:
    claimed = await world.drive()
    held = await _again(world, claimed, OnBusy.QUEUE)
    await _again(world, claimed, OnBusy.REPLACE)
    await world.store.finish((await world.claim(claimed.run.agent)).fence, _FAILED, None)
    promoted = await world.claim(claimed.run.agent)
    unheard = await _again(world, claimed, OnBusy.QUEUE)
    await world.store.cancel(claimed.thread.id, unheard.run_id)
    busy = await world.snapshot(claimed.thread.id)
    await world.store.finish(promoted.fence, Ending.completed("maxTurns"), None)

    free = await world.snapshot(claimed.thread.id)
    assert promoted.run.id == held.run_id
    assert (busy.stopped, free.stopped) == (None, "maxTurns")
    assert free.thread.status is ThreadStatus.COMPLETED


_FAILED = Ending.failed("MODEL", "no answer")


@pytest.mark.req("CON-02", "CON-06")
async def test_a_rejected_start_leaves_nothing(world: StoreWorld) -> None:
    claimed = await world.drive()
    before = await world.snapshot(claimed.thread.id)
    start = a_start(thread_key=claimed.thread.key, initial_state='{"n":1}')

    with pytest.raises(Conflict):
        await world.store.start(start)

    assert await world.snapshot(claimed.thread.id) == before
    assert await world.reader.run(start.run_id) is None
    assert await world.reader.state(claimed.thread.id) is None


# ---- steer ----


@pytest.mark.req("CON-07", "SIG-04", "SIG-08")
async def test_a_steered_send_waits_for_the_live_run(world: StoreWorld) -> None:
    claimed = await world.drive()
    start = a_start(
        thread_key=claimed.thread.key,
        on_busy=OnBusy.STEER,
        parts=_says("rather the blue one"),
        author="ann",
        dedupe="d1",
    )
    before = await world.thread(claimed.thread.id)

    steered = await world.store.start(start)

    snapshot = await world.snapshot(claimed.thread.id)
    open_turn = await world.store.open_turn(claimed.fence)
    assert (steered.run_id, steered.steered, steered.position) == (claimed.run.id, True, None)
    assert snapshot.thread.version == steered.version == before.version + 1
    assert snapshot.thread.wakes == before.wakes + 1
    (waiting,) = snapshot.waiting
    assert (waiting.id, waiting.is_run) == (start.message_id, False)
    assert (waiting.text, waiting.author, waiting.dedupe) == ("rather the blue one", "ann", "d1")
    assert len(snapshot.messages) == 1
    assert open_turn is not None
    (signal,) = open_turn.signals
    assert (signal.id, signal.mode, signal.sender) == (start.message_id, "steer", "user:ann")
    assert await world.reader.run(start.run_id) is None
    assert world.around.announced[-1] == (snapshot.thread.id, steered.version)


@pytest.mark.req("CON-07")
async def test_a_steered_send_that_is_sent_again_is_one(world: StoreWorld) -> None:
    claimed = await world.drive()
    start = a_start(thread_key=claimed.thread.key, agent=claimed.run.agent, on_busy=OnBusy.STEER)
    first = await world.store.start(start)

    again = await world.store.start(start)
    waiting = (await world.snapshot(claimed.thread.id)).waiting
    await _complete(world, claimed)
    reader = await world.claim(claimed.run.agent)
    after_it_was_read = await world.store.start(start)

    assert again == first
    assert len(waiting) == 1
    assert (after_it_was_read.run_id, after_it_was_read.steered) == (reader.run.id, True)
    assert len(await world.store.history(claimed.thread.id)) == 3


# ---- the thread's state ----


@pytest.mark.req("STA-01", "STA-04", "STA-09")
async def test_only_a_new_thread_is_seeded(world: StoreWorld) -> None:
    seeded = await world.start(initial_state='{"step":1}')
    claimed = await world.claim()
    await world.store.write_state(claimed.fence, '{"step":2}')
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    bare = await world.drive()

    await world.start(thread_key=seeded.thread_key, initial_state='{"step":1}')
    await _again(world, bare, OnBusy.REPLACE, initial_state="[]")

    assert await world.reader.state(seeded.thread_id) == '{"step":2}'
    assert await world.store.read_state(bare.thread.id) is None
    assert await world.reader.state("no-thread") is None
    assert await world.store.read_state("no-thread") is None


@pytest.mark.req("STA-03", "STA-08")
async def test_a_written_state_replaces_the_whole_and_is_a_visible_change(
    world: StoreWorld,
) -> None:
    claimed = await world.drive(initial_state='{"kept":1,"dropped":2}')
    before = await world.thread(claimed.thread.id)

    assert await world.store.write_state(claimed.fence, '{"kept":3}')

    thread = await world.thread(claimed.thread.id)
    assert await world.store.read_state(thread.id) == '{"kept":3}'
    assert thread.version == before.version + 1
    assert world.around.announced[-1] == (thread.id, thread.version)


@pytest.mark.req("STA-07")
async def test_an_update_is_applied_once_per_receipt(world: StoreWorld) -> None:
    claimed = await world.drive()
    seen: list[str | None] = []

    def count(state: str | None) -> str:
        seen.append(state)
        return str(int(state or 0) + 1)

    for receipt in ("tool:a:1/state:0", "tool:a:1/state:0", "tool:a:1/state:1"):
        assert await world.store.update_state(claimed.fence, receipt, 0, count)

    open_turn = await world.store.open_turn(claimed.fence)
    assert await world.store.read_state(claimed.thread.id) == "2"
    assert seen == [None, "1"]
    assert open_turn is not None
    assert {"tool:a:1/state:0", "tool:a:1/state:1"} <= open_turn.steps.keys()


@pytest.mark.req("STA-07")
async def test_an_update_that_raises_leaves_nothing(world: StoreWorld) -> None:
    claimed = await world.drive(initial_state="1")
    before = await world.snapshot(claimed.thread.id)

    def refuse(state: str | None) -> str:
        raise ArithmeticError(state)

    with pytest.raises(ArithmeticError):
        await world.store.update_state(claimed.fence, "tool:a:1/state:0", 0, refuse)

    assert await world.snapshot(claimed.thread.id) == before
    assert await world.store.update_state(claimed.fence, "tool:a:1/state:0", 0, lambda _: "2")
    assert await world.store.read_state(claimed.thread.id) == "2"


@pytest.mark.req("STA-02")
@pytest.mark.parametrize("by", [-1, 1])
async def test_a_state_is_written_under_the_fence_alone(world: StoreWorld, by: int) -> None:
    claimed = await world.drive(initial_state="1")
    stale = Fence(claimed.thread.id, claimed.run.id, claimed.thread.epoch + by)

    assert not await world.store.write_state(stale, "2")
    assert not await world.store.update_state(stale, "step/state:0", 0, lambda _: "3")
    assert await world.store.spawn(stale, a_start()) is None

    assert await world.store.read_state(claimed.thread.id) == "1"
