"""What every ``RunStore`` does with a message that comes from outside."""

from datetime import timedelta

import pytest

from app.domain.approval import Decision
from app.domain.errors import RecordRefused
from app.domain.identity import Identity
from app.domain.message import Role, plain_text
from app.domain.ports import ClaimedRun, OnBusy, OpenTurn, Verdict
from app.domain.record import Record, Writes
from app.domain.run import Ending, RunStatus
from app.domain.signal import Signal, SignalMode, messages_of
from tests.support.deciding import decide
from tests.support.store_world import StoreWorld, a_signal, a_start, an_answer

AT_ONCE = timedelta(microseconds=1)


async def _open(world: StoreWorld, claimed: ClaimedRun) -> OpenTurn:
    open_turn = await world.store.open_turn(claimed.fence)
    assert open_turn is not None
    return open_turn


def _reading(claimed: ClaimedRun, signals: list[Signal], turn: int = 0) -> Record:
    """Return the record of a step that reads signals."""
    ids = tuple(signal.id for signal in signals)
    writes = Writes(messages=messages_of(claimed.run.id, signals), consumed=ids)
    return Record(claimed.run.id, claimed.thread.id, f"inject:{turn}", turn, "null", writes)


@pytest.mark.req("SIG-02", "SIG-05", "SIG-08")
async def test_a_signal_wakes_an_idle_thread(world: StoreWorld) -> None:
    claimed = await world.drive(agent_version=None)
    await world.store.finish(claimed.fence, Ending.failed("MODEL", "no answer"), None)
    signal = a_signal(claimed.thread.id, "are you there?", sender="user:bob")

    answer = await world.store.signal(signal)

    snapshot = await world.snapshot(claimed.thread.id)
    assert answer is not None
    assert (answer.woke, answer.run_id) == (True, signal.run_id)
    assert (snapshot.thread.live_run, snapshot.thread.error) == (signal.run_id, None)
    assert (snapshot.thread.status, list(snapshot.waiting)) == ("queued", [])
    said = snapshot.messages[-1]
    assert (said.role, said.run_id, said.seq) == (Role.USER, signal.run_id, 2)
    assert (plain_text(said.parts).strip(), said.author) == (
        "[message] are you there?",
        "user:bob",
    )
    assert world.around.rung[-1] == signal.run_id
    assert (await world.claim(claimed.thread.agent)).run.id == signal.run_id


@pytest.mark.req("SIG-02", "SIG-03", "CON-07")
async def test_a_signal_to_a_busy_thread_waits(world: StoreWorld) -> None:
    claimed = await world.drive()
    before = await world.thread(claimed.thread.id)
    queued = a_signal(before.id, "later", mode=SignalMode.QUEUE, sender="user:bob")
    injected = a_signal(before.id, "now", mode=SignalMode.INJECT, sender="user:bob")

    answers = [await world.store.signal(each) for each in (queued, injected)]

    snapshot, open_turn = await world.snapshot(before.id), await _open(world, claimed)
    assert [answer and answer.woke for answer in answers] == [False, False]
    assert [answer and answer.run_id for answer in answers] == [claimed.run.id] * 2
    assert snapshot.thread.version == before.version + 2
    assert snapshot.thread.wakes == before.wakes + 2
    assert [(each.id, each.is_run) for each in snapshot.waiting] == [
        (queued.id, False),
        (injected.id, False),
    ]
    assert [signal.id for signal in open_turn.signals] == [injected.id]
    assert open_turn.signals[0].sender == "user:bob"
    assert open_turn.wakes == snapshot.thread.wakes
    assert world.around.announced[-1] == (before.id, snapshot.thread.version)
    assert world.around.rung == [claimed.run.id]


@pytest.mark.req("SIG-02")
async def test_a_signal_to_no_thread_is_none(world: StoreWorld) -> None:
    assert await world.store.signal(a_signal("no-thread", "hello")) is None


@pytest.mark.req("SIG-04", "SIG-06")
async def test_signals_are_read_in_the_record_before_a_model_request(world: StoreWorld) -> None:
    claimed = await world.drive()
    for text in ("one", "two", "three"):
        await world.store.signal(a_signal(claimed.thread.id, text))
    signals = list((await _open(world, claimed)).signals)
    version = (await world.thread(claimed.thread.id)).version

    recorded = await world.store.record(claimed.fence, _reading(claimed, signals))

    snapshot = await world.snapshot(claimed.thread.id)
    assert recorded is not None
    assert recorded.version == version + 1
    assert [signal.text for signal in signals] == ["one", "two", "three"]
    _, read = snapshot.messages
    assert plain_text(read.parts) == "[message] one\n[message] two\n[message] three\n"
    assert list(snapshot.waiting) == []
    assert list((await _open(world, claimed)).signals) == []


@pytest.mark.req("SIG-04", "DUR-03")
async def test_a_signal_is_read_once(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.signal(a_signal(claimed.thread.id, "one"))
    signals = list((await _open(world, claimed)).signals)
    record = _reading(claimed, signals)
    await world.store.record(claimed.fence, record)
    before = await world.snapshot(claimed.thread.id)
    other = Writes(consumed=record.writes.consumed)

    again = await world.store.record(claimed.fence, record)
    with pytest.raises(RecordRefused, match="read already"):
        await world.store.record(
            claimed.fence, Record(record.run_id, record.thread_id, "inject:1", 1, "null", other)
        )

    assert again is not None
    assert not again.was_new
    assert await world.snapshot(claimed.thread.id) == before
    assert "inject:1" not in (await _open(world, claimed)).steps


@pytest.mark.req("SIG-03", "SIG-04")
@pytest.mark.parametrize("mode", list(SignalMode))
async def test_nobody_completes_past_a_signal_he_has_not_seen(
    world: StoreWorld, mode: SignalMode
) -> None:
    claimed = await world.drive()
    seen = (await _open(world, claimed)).wakes
    await world.store.signal(a_signal(claimed.thread.id, "wait", mode=mode))

    early = await world.store.finish(claimed.fence, Ending.completed("final"), seen)
    seen = (await _open(world, claimed)).wakes
    late = await world.store.finish(claimed.fence, Ending.completed("final"), seen)

    assert (early, late) == (Verdict.MOVED, Verdict.DONE)


@pytest.mark.req("SIG-03", "SIG-06", "CON-04")
async def test_unread_signals_start_the_next_run_before_held_back_ones(world: StoreWorld) -> None:
    claimed = await world.drive()
    key, agent = claimed.thread.key, claimed.run.agent
    held = await world.start(thread_key=key, agent=agent, on_busy=OnBusy.QUEUE)
    for text, mode in (("one", SignalMode.QUEUE), ("two", SignalMode.INJECT)):
        await world.store.signal(a_signal(claimed.thread.id, text, mode=mode))
    steer = a_start(thread_key=key, agent=agent, on_busy=OnBusy.STEER, author="ann", dedupe="d1")
    await world.store.start(steer)
    waiting = [each.id for each in (await world.snapshot(claimed.thread.id)).waiting]

    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    after_the_signals = await world.claim(agent)
    said = [
        message
        for message in await world.store.history(claimed.thread.id)
        if message.run_id == after_the_signals.run.id
    ]
    await world.store.finish(after_the_signals.fence, Ending.completed("final"), None)

    assert waiting[-1] == held.run_id
    assert waiting[2] == steer.message_id
    assert {plain_text(message.parts) for message in said} == {
        "[message] one\n[message] two\n",
        "Where is my order?",
    }
    assert {message.dedupe for message in said} == {None, "d1"}
    assert {message.role for message in said} == {Role.USER}
    assert after_the_signals.run.agent == claimed.thread.agent
    assert (await world.claim(agent)).run.id == held.run_id
    assert list((await world.snapshot(claimed.thread.id)).waiting) == []
    assert await world.store.stranded() == []


@pytest.mark.req("SIG-03")
async def test_a_signal_outlasts_a_cancelled_run(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.signal(a_signal(claimed.thread.id, "still here"))

    await world.store.cancel(claimed.thread.id, None)

    again = await world.claim(claimed.run.agent)
    assert again.run.id != claimed.run.id
    history = await world.store.history(claimed.thread.id)
    assert plain_text(history[-1].parts) == "[message] still here\n"


@pytest.mark.req("SIG-02")
async def test_a_signal_that_is_sent_again_changes_nothing(world: StoreWorld) -> None:
    claimed = await world.drive()
    signal = a_signal(claimed.thread.id, "one")
    first = await world.store.signal(signal)
    before = await world.snapshot(claimed.thread.id)

    unread = await world.store.signal(signal)
    same = await world.snapshot(claimed.thread.id) == before
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    reader = await world.claim(claimed.run.agent)
    await world.store.finish(reader.fence, Ending.completed("final"), None)
    read = await world.store.signal(signal)
    woke = a_signal(claimed.thread.id, "two")
    answers = [await world.store.signal(woke) for _ in range(2)]

    assert first == unread
    assert same
    assert read is not None
    assert (read.woke, read.run_id) == (False, reader.run.id)
    assert [answer and answer.run_id for answer in answers] == [woke.run_id] * 2
    rows = await world.store.history(claimed.thread.id)
    assert [plain_text(row.parts) for row in rows[1:]] == ["[message] one\n", "[message] two\n"]


@pytest.mark.req("SIG-03", "APR-08")
async def test_a_signal_does_not_wake_a_run_that_waits(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")

    await world.store.signal(a_signal(claimed.thread.id, "yes, approved"))
    waiting = await world.run(claimed.run.id)
    ann = Identity("ann")
    await decide(world.store, claimed.thread.id, "call_1", Decision.DENIED, ann, None)

    again = await world.claim(claimed.run.agent)
    assert waiting.status is RunStatus.AWAITING_INPUT
    assert [signal.text for signal in (await _open(world, again)).signals] == ["yes, approved"]


async def test_a_fence_that_is_lost_reads_no_signal(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.signal(a_signal(claimed.thread.id, "one"))
    signals = list((await _open(world, claimed)).signals)
    await world.store.release(claimed.fence)

    assert await world.store.record(claimed.fence, _reading(claimed, signals)) is None

    again = await world.claim(claimed.run.agent)
    assert [signal.id for signal in (await _open(world, again)).signals] == [signals[0].id]
    assert await world.store.record(again.fence, an_answer(again.fence, 0)) is not None


@pytest.mark.req("SIG-02", "CON-04", "RUN-14")
@pytest.mark.parametrize("kind", ["wakes", "unread", "steered"])
async def test_a_run_that_a_signal_starts_goes_as_it_was_told(world: StoreWorld, kind: str) -> None:
    claimed = await world.drive()
    told = {"policy": {"model": "demo:other"}, "agent_version": "2", "timeout": AT_ONCE}
    if kind == "wakes":
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
    if kind == "steered":
        key = claimed.thread.key
        await world.store.start(a_start(thread_key=key, on_busy=OnBusy.STEER, **told))
    else:
        await world.store.signal(a_signal(claimed.thread.id, "go on", **told))
    if kind != "wakes":
        await world.store.cancel(claimed.thread.id, None)

    run_id = (await world.thread(claimed.thread.id)).live_run
    assert run_id is not None
    run = await world.run(run_id)
    assert (run.policy, run.agent_version) == ({"model": "demo:other"}, "2")
    assert await world.store.fail_overdue() == 1


@pytest.mark.req("CON-04", "RUN-14")
async def test_a_steered_send_to_another_agent_starts_a_run_of_that_one(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.start(
        a_start(thread_key=claimed.thread.key, agent="other", on_busy=OnBusy.STEER)
    )

    await world.store.cancel(claimed.thread.id, None)

    live = (await world.thread(claimed.thread.id)).live_run
    assert live is not None
    assert (await world.run(live)).agent == "other"
