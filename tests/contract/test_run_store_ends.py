"""What every ``RunStore`` keeps, whatever it is made of: waiting, deciding, ending."""

import pytest

from app.domain.approval import ApprovalStatus, Decision, approval_step
from app.domain.errors import Conflict, NotFound
from app.domain.facts import child_fact
from app.domain.identity import ANONYMOUS, Identity
from app.domain.message import INTERRUPTED_OUTPUT, MessageStatus, plain_text
from app.domain.output_policy import SCHEMA
from app.domain.ports import Serves, Verdict
from app.domain.record import Record, Writes
from app.domain.run import Ending, Fence, RunError, RunStatus, Usage, Waits
from app.domain.storable import Json, decode, encode
from app.domain.thread import ThreadStatus
from tests.support.deciding import decide
from tests.support.store_world import (
    StoreWorld,
    a_child,
    a_result,
    a_step,
    a_turn,
    an_answer,
    shown,
)

ANN, BOB = Identity("ann"), Identity("bob")


# ---- parking and deciding ----


@pytest.mark.req("APR-02", "DUR-08")
async def test_a_parked_run_is_held_by_no_worker(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])

    verdict = await world.store.park(claimed.fence, 0, Waits.for_all([approval_step("call_1")]))

    snapshot = await world.snapshot(claimed.thread.id)
    run = await world.run(claimed.run.id)
    assert verdict is Verdict.DONE
    assert (run.status, run.worker) == (RunStatus.AWAITING_INPUT, None)
    assert snapshot.thread.status is ThreadStatus.AWAITING_INPUT
    assert snapshot.thread.epoch == claimed.thread.epoch
    assert [approval.tool_call_id for approval in snapshot.approvals] == ["call_1"]
    assert world.around.announced[-1] == (claimed.thread.id, snapshot.thread.version)
    assert await world.store.beats() == {}


async def test_a_park_whose_answer_was_lost_can_be_repeated(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    version = (await world.thread(claimed.thread.id)).version

    assert (
        await world.store.park(claimed.fence, 0, Waits.for_all([approval_step("call_1")]))
        is Verdict.DONE
    )
    assert (await world.thread(claimed.thread.id)).version == version


@pytest.mark.req("APR-02")
async def test_nobody_parks_or_completes_past_a_decision_he_has_not_seen(
    world: StoreWorld,
) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None)

    parked = await world.store.park(claimed.fence, 0, Waits.for_all([approval_step("call_1")]))
    finished = await world.store.finish(claimed.fence, Ending.completed("final"), 0)
    open_turn = await world.store.open_turn(claimed.fence)

    assert (parked, finished) == (Verdict.MOVED, Verdict.MOVED)
    assert open_turn is not None
    assert open_turn.wakes == 1
    assert "approval:call_1" in open_turn.steps
    assert world.around.rung == [claimed.run.id]


@pytest.mark.req("APR-05", "APR-06", "APR-08")
async def test_the_last_of_several_decisions_wakes_the_run_once(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", "call_3", gated=["call_1", "call_2", "call_3"])
    await world.park(claimed, "call_1", "call_2", "call_3")
    world.around.rung.clear()
    thread_id = claimed.thread.id

    await decide(world.store, thread_id, "call_2", Decision.APPROVED, ANN, None)
    await decide(world.store, thread_id, "call_1", Decision.DENIED, BOB, "too much")
    still = await world.run(claimed.run.id)
    rung_before_the_last = list(world.around.rung)
    await decide(world.store, thread_id, "call_3", Decision.APPROVED, ANN, None)

    again = await world.claim(claimed.run.agent)
    open_turn = await world.store.open_turn(again.fence)
    assert (still.status, rung_before_the_last) == (RunStatus.AWAITING_INPUT, [])
    assert world.around.rung == [claimed.run.id]
    assert again.thread.wakes == 3
    assert open_turn is not None
    assert decode(open_turn.steps["approval:call_1"]) == {
        "decision": "denied",
        "by": "bob",
        "reason": "too much",
    }


@pytest.mark.req("APR-08")
async def test_a_decision_on_something_else_does_not_wake_the_run(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", gated=["call_1", "call_2"])
    await world.park(claimed, "call_1")

    await decide(world.store, claimed.thread.id, "call_2", Decision.APPROVED, ANN, None)
    waiting = await world.run(claimed.run.id)
    await decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None)

    assert waiting.status is RunStatus.AWAITING_INPUT
    assert (await world.run(claimed.run.id)).status is RunStatus.QUEUED


@pytest.mark.req("APR-33")
async def test_a_call_is_decided_once(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    thread_id = claimed.thread.id

    first = await decide(world.store, thread_id, "call_1", Decision.APPROVED, ANN, "fine")
    version = (await world.thread(thread_id)).version
    same = await decide(world.store, thread_id, "call_1", Decision.APPROVED, ANN, "again")
    for decision, person in ((Decision.DENIED, ANN), (Decision.APPROVED, BOB)):
        with pytest.raises(Conflict) as refused:
            await decide(world.store, thread_id, "call_1", decision, person)
        assert refused.value.data == {
            "toolCallId": "call_1",
            "status": "approved",
            "decidedBy": "ann",
        }

    assert (first.status, first.decided_by, first.reason) == ("approved", "ann", "fine")
    assert first.decided_at is not None
    assert same == first
    assert (await world.thread(thread_id)).version == first.version == version


async def test_an_unknown_call_cannot_be_decided(world: StoreWorld) -> None:
    claimed = await world.drive()

    for thread_id in (claimed.thread.id, "no-thread"):
        with pytest.raises(NotFound):
            await decide(world.store, thread_id, "call_1", Decision.APPROVED, ANONYMOUS)


# ---- ending ----


@pytest.mark.req("RUN-13")
async def test_a_completed_run_frees_its_thread(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.record(claimed.fence, an_answer(claimed.fence, 0))

    verdict = await world.store.finish(claimed.fence, Ending.completed("final"), 0)

    snapshot, run = await world.snapshot(claimed.thread.id), await world.run(claimed.run.id)
    assert verdict is Verdict.DONE
    assert (run.status, run.stopped, run.worker) == (RunStatus.COMPLETED, "final", None)
    assert run.finished_at is not None
    assert (snapshot.thread.live_run, snapshot.run_status) == (None, RunStatus.COMPLETED)
    assert snapshot.thread.status is ThreadStatus.COMPLETED
    assert snapshot.thread.epoch == claimed.thread.epoch + 1
    assert snapshot.stopped == "final"
    assert world.around.announced[-1] == (claimed.thread.id, snapshot.thread.version)
    assert await world.store.finish(claimed.fence, Ending.completed("final"), 0) is Verdict.LOST
    assert await world.store.record(claimed.fence, an_answer(claimed.fence, 1)) is None
    assert (await world.start(thread_key=claimed.thread.key)).thread_id == claimed.thread.id


@pytest.mark.req("RUN-14")
async def test_a_failed_run_leaves_its_error_and_nothing_open(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", "call_2", gated=["call_2"])

    await world.store.finish(claimed.fence, Ending.failed("MODEL", "no answer"), None)

    snapshot, run = await world.snapshot(claimed.thread.id), await world.run(claimed.run.id)
    results = snapshot.messages[-2:]
    assert run.error == snapshot.thread.error == RunError("MODEL", "no answer")
    assert snapshot.thread.status is ThreadStatus.FAILED
    assert [row.status for row in results] == [MessageStatus.INTERRUPTED] * 2
    assert [row.parts[0]["output"] for row in results] == [INTERRUPTED_OUTPUT] * 2
    assert {row.version for row in results} == {snapshot.thread.version}
    assert snapshot.approvals == []
    with pytest.raises(Conflict) as refused:
        await decide(world.store, claimed.thread.id, "call_2", Decision.APPROVED, ANN, None)
    assert refused.value.data == {
        "toolCallId": "call_2",
        "status": ApprovalStatus.CANCELLED,
        "decidedBy": None,
    }


@pytest.mark.req("RUN-03")
@pytest.mark.parametrize("status", ["queued", "running", "awaiting_input"])
async def test_a_cancel_ends_the_run_wherever_it_is(world: StoreWorld, status: str) -> None:
    started = await world.start(agent="a")
    if status != "queued":
        claimed = await world.claim("a")
        await world.ask(claimed, "call_1", gated=["call_1"])
        if status == "awaiting_input":
            await world.park(claimed, "call_1")
    before = await world.thread(started.thread_id)

    run = await world.store.cancel(started.thread_id, started.run_id)

    thread = await world.thread(started.thread_id)
    assert before.status == status
    assert run == await world.run(started.run_id)
    assert run is not None
    assert (run.status, run.stopped) == (RunStatus.CANCELLED, "cancelled")
    assert (thread.status, thread.live_run) == (ThreadStatus.CANCELLED, None)
    assert thread.epoch == before.epoch + 1
    assert world.around.announced[-1] == (thread.id, thread.version)
    fence = Fence(thread.id, run.id, before.epoch)
    assert world.around.aborted == ([("worker-1", fence)] if status == "running" else [])
    assert await world.store.claim("w", Serves.of("a"), 1) == []
    assert await world.store.cancel(thread.id, None) is None


async def test_a_cancel_of_another_run_changes_nothing(world: StoreWorld) -> None:
    claimed = await world.drive()

    assert await world.store.cancel(claimed.thread.id, "another") is None
    assert await world.store.cancel("no-thread", None) is None
    assert await world.store.holds(claimed.fence)


@pytest.mark.req("DUR-03", "RUN-03")
async def test_a_cancel_takes_in_what_the_journal_still_holds(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence, journal = claimed.fence, world.around.journal
    await world.ask(claimed, "call_1", "call_2")
    await journal.open(fence)
    await journal.complete(fence, a_result(fence, 0, 0, "call_1", "charged"), [])

    await world.store.cancel(claimed.thread.id, None)

    *_, first, second = await world.store.history(claimed.thread.id)
    assert (first.status, first.parts[0]["output"]) == (MessageStatus.COMPLETE, "charged")
    assert (second.status, second.parts[0]["output"]) == (
        MessageStatus.INTERRUPTED,
        INTERRUPTED_OUTPUT,
    )
    assert journal.held(claimed.thread.id) == []


async def test_an_entry_that_postgres_refuses_does_not_hold_up_the_end(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence, journal = claimed.fence, world.around.journal
    await journal.open(fence)
    await journal.complete(fence, a_result(fence, 5, 0, "call_of_no_turn"), [])
    await journal.complete(fence, an_answer(fence, 0), [])

    run = await world.store.cancel(claimed.thread.id, None)

    assert run is not None
    assert run.status is RunStatus.CANCELLED
    assert [row.seq for row in await world.store.history(claimed.thread.id)] == [1, 2]


@pytest.mark.req("RUN-03")
@pytest.mark.parametrize("how", ["cancel", "fail"])
async def test_b43_text_that_was_seen_is_kept_and_what_it_cost_is_counted(
    world: StoreWorld, how: str
) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    before = Usage(requests=1, input_tokens=9, output_tokens=9)
    spent = Usage(requests=1, input_tokens=30, output_tokens=3)
    turn = Writes(turn=1, run_usage=before, thread_usage=before + before)
    answer = Record(claimed.run.id, claimed.thread.id, "llm:turn:0", 0, "null", turn)
    await world.store.record(fence, answer)
    await world.around.journal.open(fence)
    world.around.journal.show(fence.thread_id, fence.epoch, shown(fence, 1, "It is on", cost=spent))

    if how == "cancel":
        await world.store.cancel(fence.thread_id, None)
    else:
        await world.store.finish(fence, Ending.failed("MODEL", "cut off"), None)

    snapshot = await world.snapshot(fence.thread_id)
    kept = snapshot.messages[-1]
    assert (kept.status, kept.turn, kept.seq) == (MessageStatus.INTERRUPTED, 1, 2)
    assert plain_text(kept.parts) == "It is on"
    assert kept.version == snapshot.thread.version
    assert kept.usage == spent.to_json()
    assert (await world.run(claimed.run.id)).usage == before + spent
    assert snapshot.thread.usage == before + before + spent


async def test_text_of_a_turn_whose_answer_is_stored_is_not_kept_twice(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    await world.around.journal.open(fence)
    world.around.journal.show(fence.thread_id, fence.epoch, shown(fence, 0, "It is on"))
    await world.around.journal.complete(fence, an_answer(fence, 0, "It is on its way."), [])

    await world.store.cancel(fence.thread_id, None)

    _, answer = await world.store.history(fence.thread_id)
    assert (answer.status, plain_text(answer.parts)) == (
        MessageStatus.COMPLETE,
        "It is on its way.",
    )


async def test_a_run_ends_without_the_journal_when_that_is_away(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1")
    world.around.journal.is_away = True

    run = await world.store.cancel(claimed.thread.id, None)

    assert run is not None
    assert run.status is RunStatus.CANCELLED
    assert (await world.store.history(claimed.thread.id))[-1].status is MessageStatus.INTERRUPTED


@pytest.mark.req("RUN-13")
async def test_a_thread_whose_run_was_cut_off_takes_the_next_one(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    await world.store.cancel(claimed.thread.id, None)

    await world.start(thread_key=claimed.thread.key, agent=claimed.run.agent)
    again = await world.claim(claimed.run.agent)
    await world.store.record(again.fence, a_turn(again.fence, 0, ["call_2"]))
    await world.store.record(again.fence, a_result(again.fence, 0, 0, "call_2"))

    assert again.run.id != claimed.run.id
    rows = await world.store.history(claimed.thread.id)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert await world.store.stranded() == []


async def test_nothing_is_stranded_at_any_moment_of_a_run(world: StoreWorld) -> None:
    found: list[str] = []
    claimed = await world.drive()
    found += await world.store.stranded()
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    found += await world.store.stranded()
    await decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None)
    found += await world.store.stranded()
    again = await world.claim(claimed.run.agent)
    await world.store.finish(again.fence, Ending.completed("final"), None)
    found += await world.store.stranded()

    assert found == []


@pytest.mark.req("DUR-12")
async def test_a_run_whose_condition_is_met_does_not_park(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.record(claimed.fence, a_step(claimed.fence, "event:paid#0"))

    for_nothing = await world.store.park(claimed.fence, 0, Waits.for_all([]))
    either = await world.store.park(claimed.fence, 0, Waits((("timer:late", "event:paid#0"),)))
    both = await world.store.park(claimed.fence, 0, Waits.for_all(["timer:late", "event:paid#0"]))

    assert (for_nothing, either, both) == (Verdict.MOVED, Verdict.MOVED, Verdict.DONE)


async def test_a_run_rests_while_it_is_parked_and_when_it_has_ended(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    driven = await world.store.rests(claimed.run.id)
    await world.park(claimed, "call_1")
    parked = await world.store.rests(claimed.run.id)
    await world.store.cancel(claimed.thread.id, None)

    assert (driven, parked, await world.store.rests(claimed.run.id)) == (False, True, True)


@pytest.mark.req("OUT-03")
@pytest.mark.parametrize("output", [{"name": "Oslo"}, False, 0, "", [], "text", None])
async def test_what_a_run_was_asked_for_is_stored_as_it_ends(
    world: StoreWorld, output: Json
) -> None:
    claimed = await world.drive()

    await world.store.finish(claimed.fence, Ending.completed("final", encode(output)), 0)

    run, snapshot = await world.run(claimed.run.id), await world.snapshot(claimed.thread.id)
    assert (run.status, run.output) == (RunStatus.COMPLETED, output)
    assert type(run.output) is type(snapshot.output) is type(output)
    assert snapshot.output == output


@pytest.mark.req("LOOP-12")
async def test_a_thread_shows_the_output_of_its_newest_run_and_none_while_that_is_live(
    world: StoreWorld,
) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final", encode({"n": 1})), 0)

    await world.start(thread_key=claimed.thread.key, agent=claimed.run.agent)
    live = (await world.snapshot(claimed.thread.id)).output
    again = await world.claim(claimed.run.agent)
    await world.store.finish(again.fence, Ending.completed("final", encode({"n": 2})), 0)

    assert (live, (await world.snapshot(claimed.thread.id)).output) == (None, {"n": 2})


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize("output", [{"name": "Oslo"}, False, None])
async def test_a_child_that_was_asked_for_a_form_answers_with_its_output(
    world: StoreWorld, output: Json
) -> None:
    parent = await world.drive()
    child = await world.spawn(parent)
    await world.store.record(child.fence, an_answer(child.fence, 0))

    await world.store.finish(child.fence, Ending.completed("final", encode(output)), 0)

    told = (await world.facts(parent))[child_fact("call_1")]
    assert isinstance(told, dict)
    assert (told["status"], told["answer"]) == ("completed", output)


@pytest.mark.req("LOOP-12")
async def test_what_a_child_said_is_no_answer_where_it_was_asked_for_a_form(
    world: StoreWorld,
) -> None:
    parent = await world.drive()
    asked = a_child(parent, policy={SCHEMA: {"type": "array"}})
    await world.store.spawn(parent.fence, asked)
    child = await world.claim(asked.agent)
    await world.store.record(child.fence, an_answer(child.fence, 0))

    await world.store.finish(child.fence, Ending.completed("maxTurns"), 0)

    told = (await world.facts(parent))[child_fact("call_1")]
    assert isinstance(told, dict)
    assert (told["status"], "answer" in told) == ("completed", False)
