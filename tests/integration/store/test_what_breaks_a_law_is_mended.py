"""What only broken software leaves behind is found, mended under the lock, and then gone."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from app.domain.facts import event_fact
from app.domain.ports import OnBusy
from app.domain.run import Ending, ParentStep, Waits
from app.domain.signal import NewSignal, SignalMode
from app.store.database import Database
from app.store.mending import PostgresMender
from tests.support.store_world import IDS, StoreWorld, a_start

Break = Callable[[Database, StoreWorld], Awaitable[str]]
"""Breaks a law by hand and returns the run that is to be live afterwards (empty: none)."""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url, size=4) as made:
        yield made


@pytest.fixture
def mender(database: Database, world: StoreWorld) -> PostgresMender:
    around = world.around
    return PostgresMender(
        database,
        journal=around.journal,
        announce=around.announce,
        doorbell=around,
        aborts=around,
        ids=IDS,
    )


async def busy_with_what_has_ended(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    waiting = await world.start(thread_key="k", on_busy=OnBusy.QUEUE)
    await database.fetch(
        "UPDATE agent_runs SET status = 'completed', finished_at = now() WHERE id = $1", held.run.id
    )
    return waiting.run_id


async def busy_with_what_there_is_not(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    await world.store.finish(held.fence, Ending.completed("final"), None)
    await database.fetch("UPDATE agent_threads SET live_run = 'nobody' WHERE key = 'k'")
    return ""


async def unfinished_and_let_go(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    await database.fetch("UPDATE agent_threads SET live_run = NULL WHERE key = 'k'")
    return held.run.id


async def parked_and_met(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    fact = event_fact("paid", 0)
    await world.store.park(held.fence, held.thread.wakes, Waits.for_all([fact]))
    await database.fetch(
        "INSERT INTO agent_steps (run, name, value, created_at) VALUES ($1, $2, 'null', now())",
        held.run.id,
        fact,
    )
    return held.run.id


async def held_back_and_free(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    waiting = await world.start(thread_key="k", on_busy=OnBusy.QUEUE)
    await database.fetch("UPDATE agent_threads SET live_run = NULL WHERE key = 'k'")
    await database.fetch(
        "UPDATE agent_runs SET status = 'completed', finished_at = now() WHERE id = $1", held.run.id
    )
    return waiting.run_id


async def unread_and_free(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    signal = NewSignal(
        IDS.new(), held.thread.id, SignalMode.QUEUE, "hi", "user:ann", IDS.new(), IDS.new()
    )
    await world.store.signal(signal)
    await database.fetch("UPDATE agent_threads SET live_run = NULL WHERE key = 'k'")
    await database.fetch(
        "UPDATE agent_runs SET status = 'completed', finished_at = now() WHERE id = $1", held.run.id
    )
    return "whichever"


async def child_of_what_has_ended(database: Database, world: StoreWorld) -> str:
    parent = await world.drive(thread_key="parent")
    start = a_start(
        thread_key="k", parent=ParentStep(parent.thread.id, parent.run.id, "child:call_1")
    )
    await world.store.spawn(parent.fence, start)
    await database.fetch(
        "UPDATE agent_runs SET status = 'completed', finished_at = now() WHERE id = $1",
        parent.run.id,
    )
    await database.fetch(
        "UPDATE agent_threads SET live_run = NULL, status = 'completed' WHERE key = 'parent'"
    )
    return ""


async def open_and_over(database: Database, world: StoreWorld) -> str:
    held = await world.drive(thread_key="k")
    await world.ask(held, "call_1")
    await world.store.finish(held.fence, Ending.completed("final"), None)
    await database.fetch("UPDATE agent_messages SET status = 'open' WHERE role = 'tool'")
    return ""


@pytest.mark.parametrize(
    "break_law",
    [
        busy_with_what_has_ended,
        busy_with_what_there_is_not,
        unfinished_and_let_go,
        parked_and_met,
        held_back_and_free,
        unread_and_free,
        child_of_what_has_ended,
        open_and_over,
    ],
    ids=lambda each: each.__name__,
)
async def test_b55_what_breaks_a_law_is_told_of_and_mended_once(
    database: Database, world: StoreWorld, mender: PostgresMender, break_law: Break
) -> None:
    live = await break_law(database, world)
    told = await world.store.stranded()
    world.around.rung.clear()

    mended = await mender.mend()

    thread = await world.reader.find("k")
    assert thread is not None
    assert told
    assert mended == 1
    assert await world.store.stranded() == []
    assert await mender.mend() == 0
    snapshot = await world.reader.snapshot("k", 50)
    assert snapshot is not None
    assert "open" not in {message.status for message in snapshot.messages if not live}
    if not live:
        assert thread.live_run is None
        return
    assert thread.live_run is not None
    assert live in {thread.live_run, "whichever"}
    assert (await world.run(thread.live_run)).status == "queued"
    assert world.around.rung == [thread.live_run]
    assert (thread.id, thread.version) in world.around.announced


async def test_nothing_is_found_or_touched_where_all_is_well(
    world: StoreWorld, mender: PostgresMender
) -> None:
    running = await world.drive(thread_key="running")
    await world.start(thread_key="running", on_busy=OnBusy.QUEUE)
    parked = await world.drive(thread_key="parked")
    await world.ask(parked, "call_1", gated=["call_1"])
    await world.park(parked, "call_1")
    ended = await world.drive(thread_key="ended")
    await world.store.finish(ended.fence, Ending.failed("BROKEN", "it broke"), None)
    await world.start(thread_key="queued")
    before = [await world.reader.find(key) for key in ("running", "parked", "ended", "queued")]

    assert await mender.mend() == 0

    assert before == [
        await world.reader.find(key) for key in ("running", "parked", "ended", "queued")
    ]
    assert await world.store.holds(running.fence)
