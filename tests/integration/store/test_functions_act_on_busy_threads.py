"""In a function's own transaction a busy thread is treated as outside: all of it, or nothing."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.domain.errors import AgentFault, InvalidArgument
from app.domain.message import MessageStatus
from app.domain.ports import OnBusy, Verdict
from app.domain.run import Ending, RunStatus
from app.domain.signal import SignalMode
from app.store.transactions import PostgresTransactions
from tests.support.store_world import (
    IDS,
    StoreWorld,
    a_result,
    a_signal,
    a_start,
    an_answer,
    shown,
)

PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
async def transactions(database_url: str, world: StoreWorld) -> AsyncIterator[PostgresTransactions]:
    """Units of work that tell the same surroundings as the store."""
    around = world.around
    async with PostgresTransactions(
        database_url,
        announce=around.announce,
        announce_writes=around.announce_writes,
        doorbell=around,
        journal=around.journal,
        aborts=around,
        ids=IDS,
    ) as made:
        yield made


@pytest.mark.req("CON-03")
async def test_a_function_replaces_a_run_with_all_that_hangs_on_it(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    claimed = await world.drive()
    fence, journal, around = claimed.fence, world.around.journal, world.around
    await world.ask(claimed, "call_1", "call_2")
    child = await world.spawn(claimed)
    await journal.open(fence)
    await journal.complete(fence, a_result(fence, 0, 0, "call_1", "charged"), [])
    await journal.complete(fence, a_result(fence, 7, 0, "call_of_no_turn"), [])
    journal.show(fence.thread_id, fence.epoch, shown(fence, 1, "I see"))

    async with transactions.begin() as unit:
        started = await unit.start(a_start(thread_key=claimed.thread.key, on_busy=OnBusy.REPLACE))
        told_too_early = (list(around.aborted), journal.held(fence.thread_id))

    snapshot = await world.snapshot(fence.thread_id)
    *_, first, second, seen, said = snapshot.messages
    assert told_too_early[0] == []
    assert told_too_early[1] != []
    assert (await world.run(claimed.run.id)).status is RunStatus.CANCELLED
    assert (await world.run(child.run.id)).status is RunStatus.CANCELLED
    assert [row.status for row in (first, second, seen)] == [
        MessageStatus.COMPLETE,
        MessageStatus.INTERRUPTED,
        MessageStatus.INTERRUPTED,
    ]
    assert (said.run_id, snapshot.thread.live_run) == (started.run_id, started.run_id)
    assert around.aborted == [("worker-1", fence), ("worker-1", child.fence)]
    assert journal.held(fence.thread_id) == []
    assert around.rung[-1] == started.run_id


@pytest.mark.req("CON-03", "APR-33")
async def test_a_function_that_replaces_what_asked_below_takes_its_card_from_the_top(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    top = await world.drive()
    await world.ask(top, "call_1")
    middle = await world.spawn(top)
    await world.ask(middle, "call_1")
    bottom = await world.spawn(middle)
    await world.ask(bottom, "call_1", gated=["call_1"])
    await world.park(bottom, "call_1")
    before = await world.snapshot(top.thread.id)
    assert len(before.approvals) == 1

    async with transactions.begin() as unit:
        await unit.start(a_start(thread_key=bottom.thread.key, on_busy=OnBusy.REPLACE))

    after = await world.snapshot(top.thread.id)
    assert after.approvals == []
    assert after.thread.version > before.thread.version
    assert (top.thread.id, after.thread.version) in world.around.announced


@pytest.mark.req("CON-03")
async def test_a_replacement_that_is_rolled_back_has_ended_nothing(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    claimed = await world.drive()

    async def undone() -> None:
        async with transactions.begin() as unit:
            await unit.start(a_start(thread_key=claimed.thread.key, on_busy=OnBusy.REPLACE))
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await undone()

    assert await world.store.record(claimed.fence, an_answer(claimed.fence, 0))
    assert await world.store.finish(claimed.fence, Ending.completed("final"), 0) is Verdict.DONE
    assert world.around.aborted == []


@pytest.mark.req("CON-04", "CON-07", "SIG-02")
async def test_what_a_function_leaves_waiting_is_there_with_its_commit(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    claimed = await world.drive()
    key, thread_id = claimed.thread.key, claimed.thread.id

    async with transactions.begin() as unit:
        held = await unit.start(a_start(thread_key=key, on_busy=OnBusy.QUEUE))
        steered = await unit.start(a_start(thread_key=key, on_busy=OnBusy.STEER))
        signalled = await unit.signal(a_signal(thread_id, "later", mode=SignalMode.QUEUE))
        sent = await unit.send_event(claimed.run.id, "paid", "1")
        before = (await world.snapshot(thread_id)).waiting

    after = (await world.snapshot(thread_id)).waiting
    assert (held.position, steered.run_id, sent) == (1, claimed.run.id, True)
    assert signalled is not None
    assert not signalled.woke
    assert (len(before), len(after)) == (0, 3)
    assert await world.facts(claimed) == {"event:paid#0": 1}
    assert world.around.announced[-1] == (thread_id, (await world.thread(thread_id)).version)


@pytest.mark.req("SCH-04", "SCH-06")
async def test_a_function_schedules_with_its_commit(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    kept, undone = a_start(timeout=timedelta(days=1)), a_start()

    async def schedule_and_fail() -> None:
        async with transactions.begin() as unit:
            await unit.schedule("undone", undone, PAST)
            _ = 1 / 0

    async with transactions.begin() as unit:
        await unit.schedule("kept", kept, PAST)
    with pytest.raises(ZeroDivisionError):
        await schedule_and_fail()

    assert await world.store.fire_due(10) == 1
    assert (await world.run(kept.run_id)).status is RunStatus.QUEUED


@pytest.mark.parametrize("what", ["schedule", "queue", "signal"])
async def test_a_promise_cannot_be_rolled_back_unseen(
    world: StoreWorld, transactions: PostgresTransactions, what: str
) -> None:
    claimed = await world.drive()

    async def promise() -> None:
        async with transactions.begin() as unit:
            match what:
                case "schedule":
                    await unit.schedule("t", a_start(), PAST)
                case "queue":
                    await unit.start(a_start(thread_key=claimed.thread.key, on_busy=OnBusy.QUEUE))
                case _:
                    await unit.signal(a_signal(claimed.thread.id, "hello"))
            await unit.session.rollback()

    with pytest.raises(AgentFault, match="rolled back"):
        await promise()


async def test_what_cannot_be_stored_is_named_and_the_transaction_goes_no_further(
    world: StoreWorld, transactions: PostgresTransactions
) -> None:
    claimed = await world.drive()

    async def bad() -> None:
        async with transactions.begin() as unit:
            await unit.signal(a_signal(claimed.thread.id, "\x00"))

    with pytest.raises(InvalidArgument, match="the signal cannot be stored"):
        await bad()


async def test_a_functions_connection_still_reads_json_as_the_team_does(
    transactions: PostgresTransactions,
) -> None:
    async with transactions.begin() as unit:
        await unit.start(a_start(policy={"maxTurns": 3}))
        connection = await unit.session.connection()
        found = (await connection.execute(text("SELECT '{\"a\": 1}'::json"))).scalar_one()

    assert found == {"a": 1}
