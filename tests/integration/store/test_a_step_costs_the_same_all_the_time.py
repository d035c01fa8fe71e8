"""A record is one statement, and its updates stay on the page, at turn 1,000 as at turn 10."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from app.domain.approval import Decision
from app.domain.facts import NewTimer
from app.domain.identity import ANONYMOUS
from app.domain.ports import OnBusy, Serves
from app.domain.record import Writes
from app.domain.run import Ending, Fence, Run, Waits
from app.domain.signal import SignalMode
from app.domain.thread import Thread
from app.store.database import Database
from app.store.owed import Owed
from app.store.queueing import claim
from app.store.recording import record_step
from app.store.settling import Settler
from app.store.starting import start_run
from app.testing.memory_journal import MemoryJournal
from tests.support.deciding import decide
from tests.support.store_world import (
    AGENT,
    IDS,
    StoreWorld,
    a_result,
    a_signal,
    a_start,
    a_step,
    a_turn,
    an_answer,
    postgres_world,
)
from tests.support.wait_until import wait_until

_UPDATES = """
SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = $1
"""

_WHOLE_READS = """
SELECT relname, seq_scan FROM pg_stat_user_tables
 WHERE relname LIKE 'agent\\_%' AND seq_scan > 0
   AND relname NOT IN ('agent_workers', 'agent_alembic_version')
"""


async def _claimed(database: Database) -> tuple[Run, Thread]:
    start = a_start()
    settler = Settler(MemoryJournal(), IDS)
    await database.transact(lambda connection: start_run(connection, start, settler, Owed()))
    (claimed,) = await claim(
        database, "w", Serves.of(AGENT), 1, Owed(), last_crashes=4, last_try=False
    )
    return claimed.run, claimed.thread


@pytest.mark.req("DUR-07")
async def test_a_record_is_one_statement(database_url: str) -> None:
    seen: list[str] = []
    async with Database(database_url, size=1) as database:
        run, thread = await _claimed(database)
        fence = Fence(thread.id, run.id, thread.epoch)
        assert database._pool is not None
        await record_step(database, fence, a_step(fence, "first"))  # the session learns its types
        connection = database._pool._holders[0]._con  # type: ignore[attr-defined]  # one of one
        connection.add_query_logger(lambda query: seen.append(query.query))

        await record_step(database, fence, a_turn(fence, 0, ["call_1"], ["call_1"]))
        await record_step(database, fence, a_result(fence, 0, 0, "call_1"))
        await record_step(database, fence, an_answer(fence, 1))

    assert len(seen) == 3
    assert {query.lstrip("-").strip()[:6] for query in seen} == {"Stores"}


@pytest.mark.req("DUR-07")
async def test_records_leave_the_indexes_of_thread_and_run_alone(database_url: str) -> None:
    rounds = 200
    async with Database(database_url, size=1) as database:
        run, thread = await _claimed(database)
        fence = Fence(thread.id, run.id, thread.epoch)
        for turn in range(rounds):
            await record_step(database, fence, an_answer(fence, turn))
            await record_step(database, fence, a_step(fence, f"tool:{turn}", turn=turn))

    watch = await asyncpg.connect(database_url)

    async def hot(table: str) -> tuple[int, int]:
        row = await watch.fetchrow(_UPDATES, table)
        assert row is not None
        return row["updates"], row["hot"]

    async def counted() -> bool:
        return (await hot("agent_threads"))[0] >= 2 * rounds

    try:
        await wait_until(counted, description="the server has counted the updates")
        threads, runs = await hot("agent_threads"), await hot("agent_runs")
    finally:
        await watch.close()

    # The start and the claim are not HOT: they change what lists and queue are ordered by.
    assert threads[1] >= threads[0] - 2
    assert runs[1] >= runs[0] - 2


async def test_no_statement_reads_a_whole_table(database_url: str) -> None:
    """Also not by a plan that was made while the table was small, and kept."""
    async with postgres_world(database_url, size=1) as world:
        await _whole_life_of_runs(world)
        analyse = await asyncpg.connect(database_url)
        await analyse.execute("VACUUM ANALYZE")
        await analyse.close()
        await _whole_life_of_runs(world)
    watch = await asyncpg.connect(database_url)

    rows = await watch.fetch(_WHOLE_READS)

    await watch.close()
    assert [dict(row) for row in rows] == []


async def _whole_life_of_runs(world: StoreWorld) -> None:
    claimed = await world.drive(owner="ann")
    fence, thread = claimed.fence, claimed.thread
    await world.ask(claimed, "call_1", "call_2", gated=["call_1"])
    await world.store.record(fence, a_result(fence, 0, 1, "call_2"))
    await world.park(claimed, "call_1")
    await decide(world.store, thread.id, "call_1", Decision.APPROVED, ANONYMOUS, None)
    again = await world.claim(claimed.run.agent)
    await world.store.open_turn(again.fence)
    await world.store.history(thread.id)
    await world.store.holds(again.fence)
    await world.store.release(again.fence)
    await world.claim(claimed.run.agent, worker="dead")
    await world.store.take_over("dead")
    await world.store.beats()
    await world.store.oldest_queued()
    await world.store.fail_unknown_agents(timedelta(0))
    await world.store.stranded()
    for read in (
        world.reader.snapshot(thread.key, 50),
        world.reader.delta(thread.id, 2, 50),
        world.reader.page(thread.id, 3, 50),
        world.reader.versions([thread.id]),
        world.reader.approvals(key=thread.key),
        world.reader.run(claimed.run.id),
        world.reader.sessions(thread.agent, "ann", everybody=False, before=None, limit=9),
        world.reader.sessions(thread.agent, None, everybody=True, before=thread.id, limit=9),
    ):
        await read
    await world.store.cancel(thread.id, None)
    await _whole_life_of_a_family(world)


async def _whole_life_of_a_family(world: StoreWorld) -> None:
    store = world.store
    claimed = await world.drive(initial_state="1", timeout=timedelta(days=1))
    fence, thread, agent = claimed.fence, claimed.thread, claimed.run.agent
    for on_busy in (OnBusy.QUEUE, OnBusy.STEER):
        await world.start(thread_key=thread.key, agent=agent, on_busy=on_busy)
    await store.signal(a_signal(thread.id, "later", mode=SignalMode.QUEUE))
    open_turn = await store.open_turn(fence)
    assert open_turn is not None
    read = Writes(consumed=tuple(signal.id for signal in open_turn.signals))
    await store.record(fence, replace(a_step(fence, "inject:0"), writes=read))
    await store.update_state(fence, "a/state:0", 0, lambda _: "2")
    await store.write_state(fence, "3")
    await store.read_state(thread.id)
    await world.reader.state(thread.id)
    child = await world.spawn(claimed)
    nap = NewTimer("timer:nap", timedelta(0))
    waits = Waits.for_all(["child:call_1", "timer:nap", "event:paid#0"])
    await store.park(fence, open_turn.wakes, waits, [nap])
    await store.send_event(claimed.run.id, "paid", "1")
    await store.schedule(f"at-{thread.id}", a_start(), datetime.now(UTC))
    await store.fire_due(10)
    await store.fail_overdue()
    await world.snapshot(thread.id)
    await store.finish(child.fence, Ending.completed("final"), None)
    again = await world.claim(agent)
    await world.spawn(again, "call_2")
    await store.finish(again.fence, Ending.failed("X", "broke"), None)
    reader = await world.claim(agent)
    await store.finish(reader.fence, Ending.failed("X", "broke"), None)
    last = await world.claim(agent)
    await store.finish(last.fence, Ending.failed("X", "broke"), None)
    await store.retry(thread.id, last.run.id)
    await store.last_try_waits(Serves.of(agent))
    await world.start(thread_key=thread.key, on_busy=OnBusy.REPLACE)
    await store.stranded()
    await store.cancel(thread.id, None)
