"""What a mutation writes, the runs that it starts and the call that it answers are one thing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from app.domain.calls import CallKey, RememberedCall
from app.domain.errors import (
    AgentFault,
    Conflict,
    Contended,
    InvalidArgument,
    StoreUnavailable,
)
from app.main.embedded import EmbeddedPostgres
from app.store.calls import forget_old_calls
from app.store.database import Database
from app.store.executors import SessionExecutor, savepoint
from app.store.transactions import PostgresTransactions as Transactions
from tests.support.store_world import IDS, StoreWorld, Surroundings, a_start
from tests.support.wait_until import wait_until


def a_key(dedupe: str, *, identity: str = "", function: str = "notes:add") -> CallKey:
    return CallKey(identity, function, dedupe)


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


@pytest.fixture
async def transactions(database_url: str, around: Surroundings) -> AsyncIterator[Transactions]:
    connection = await asyncpg.connect(database_url)
    await connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, body text UNIQUE)")
    await connection.close()
    async with Transactions(
        database_url,
        announce=around.announce,
        announce_writes=around.announce_writes,
        doorbell=around,
        journal=around.journal,
        aborts=around,
        ids=IDS,
    ) as made:
        yield made


async def _add(session: AsyncSession, body: str) -> None:
    connection = await session.connection()
    await connection.execute(text("INSERT INTO notes (body) VALUES (:body)"), {"body": body})


async def _notes(transactions: Transactions) -> list[str]:
    async with transactions.read_only({}) as session:
        connection = await session.connection()
        return [body for (body,) in await connection.execute(text("SELECT body FROM notes"))]


@pytest.mark.req("RUN-01")
async def test_rows_and_run_commit_together_and_are_told_afterwards(
    transactions: Transactions, world: StoreWorld, around: Surroundings
) -> None:
    async with transactions.begin() as unit:
        await _add(unit.session, "one")
        started = await unit.start(a_start())
        told_too_early = (*around.announced, *around.rung)

    assert told_too_early == ()
    assert around.announced == [(started.thread_id, started.version)]
    assert around.rung == [started.run_id]
    assert await _notes(transactions) == ["one"]
    assert (await world.claim()).run.id == started.run_id


@pytest.mark.req("RUN-01")
async def test_what_raises_has_written_and_started_nothing(
    transactions: Transactions, world: StoreWorld, around: Surroundings
) -> None:
    start = a_start()

    async def undone() -> None:
        async with transactions.begin() as unit:
            await _add(unit.session, "one")
            await unit.start(start)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await undone()

    assert await _notes(transactions) == []
    assert await world.reader.run(start.run_id) is None
    assert (around.announced, around.rung) == ([], [])


async def test_a_caller_who_goes_away_leaves_nothing_behind(
    transactions: Transactions, world: StoreWorld
) -> None:
    """Case B74: the client disconnects in the middle of the request."""
    begun = asyncio.Event()

    async def request() -> None:
        async with transactions.begin() as unit:
            await unit.start(a_start(thread_key="gone"))
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(request())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with asyncio.timeout(2):
        await world.start(thread_key="gone")


async def test_a_refused_start_leaves_the_transaction_usable(
    transactions: Transactions, world: StoreWorld
) -> None:
    busy = await world.start()

    async with transactions.begin() as unit:
        with pytest.raises(Conflict) as refused:
            await unit.start(a_start(thread_key=busy.thread_key))
        await _add(unit.session, "busy")

    assert refused.value.data == {"runId": busy.run_id, "status": "queued"}
    assert await _notes(transactions) == ["busy"]


async def test_a_start_that_cannot_be_stored_is_the_callers_fault(
    transactions: Transactions,
) -> None:
    with pytest.raises(InvalidArgument):
        async with transactions.begin() as unit:
            await unit.start(a_start(thread_key="a\x00b"))


async def test_a_swallowed_failure_does_not_look_like_a_commit(
    transactions: Transactions, around: Surroundings
) -> None:
    """Postgres answers the COMMIT of a failed transaction with success."""
    async with transactions.begin() as unit:
        await _add(unit.session, "one")

    async def undone() -> None:
        async with transactions.begin() as unit:
            await unit.start(a_start())
            with pytest.raises(IntegrityError):
                await _add(unit.session, "one")

    with pytest.raises(DBAPIError, match="aborted"):
        await undone()

    assert around.rung == []


async def test_a_savepoint_mends_a_failure(transactions: Transactions) -> None:
    async with transactions.begin() as unit:
        await _add(unit.session, "one")
        with pytest.raises(IntegrityError):
            async with unit.session.begin_nested():
                await _add(unit.session, "one")
        await _add(unit.session, "two")

    assert await _notes(transactions) == ["one", "two"]


async def test_a_sessions_own_commit_does_not_tear_the_unit_apart(
    transactions: Transactions,
) -> None:
    async def undone() -> None:
        async with transactions.begin() as unit:
            await _add(unit.session, "one")
            await unit.session.commit()
            await _add(unit.session, "two")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await undone()

    assert await _notes(transactions) == []


async def test_a_rollback_inside_takes_no_promise_back(transactions: Transactions) -> None:
    async with transactions.begin() as unit:
        await _add(unit.session, "one")
        await unit.session.rollback()

    async def undone() -> None:
        async with transactions.begin() as unit:
            await unit.start(a_start())
            await unit.session.rollback()

    with pytest.raises(AgentFault, match="rolled back inside"):
        await undone()

    assert await _notes(transactions) == []


async def test_units_that_run_into_each_other_are_told_so(
    transactions: Transactions,
) -> None:
    async with transactions.begin() as unit:
        await _add(unit.session, "a")
        await _add(unit.session, "b")
    meet = asyncio.Barrier(2)

    async def update(first: str, second: str) -> None:
        async with transactions.begin() as unit:
            connection = await unit.session.connection()
            lock = text("SELECT FROM notes WHERE body = :body FOR UPDATE")
            await connection.execute(lock, {"body": first})
            await meet.wait()
            await connection.execute(lock, {"body": second})

    ends = await asyncio.gather(update("a", "b"), update("b", "a"), return_exceptions=True)

    assert [type(end) for end in ends if end is not None] == [Contended]


# ---- the memory of calls ----


async def test_a_repeated_call_waits_for_the_first_and_gets_its_result(
    transactions: Transactions,
) -> None:
    noted = asyncio.Event()

    async def first() -> None:
        async with transactions.begin() as unit:
            assert await unit.remember(a_key("k"), "digest") is None
            noted.set()
            await _add(unit.session, "one")
            await asyncio.sleep(0.05)
            await unit.answer(a_key("k"), '{"value":null}')

    async def again() -> RememberedCall | None:
        await noted.wait()
        async with transactions.begin() as unit:
            return await unit.remember(a_key("k"), "digest")

    _, earlier = await asyncio.gather(first(), again())

    assert earlier == RememberedCall("digest", '{"value":null}')
    assert await _notes(transactions) == ["one"]


async def test_a_call_that_failed_is_not_remembered(transactions: Transactions) -> None:
    async def undone() -> None:
        async with transactions.begin() as unit:
            await unit.remember(a_key("k"), "digest")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await undone()

    async with transactions.begin() as unit:
        assert await unit.remember(a_key("k"), "digest") is None


async def test_keys_are_of_a_caller_and_a_function(transactions: Transactions) -> None:
    async with transactions.begin() as unit:
        await unit.remember(a_key("k"), "digest")
        others = [a_key("k", identity="ann"), a_key("k", function="notes:drop"), a_key("other")]
        assert [await unit.remember(key, "digest") for key in others] == [None] * 3
        assert await unit.remember(a_key("k"), "digest") == RememberedCall("digest", None)


async def test_calls_are_forgotten_after_a_day(
    transactions: Transactions, database_url: str
) -> None:
    async with transactions.begin() as unit:
        await unit.remember(a_key("old"), "digest")
        await unit.remember(a_key("new"), "digest")
    async with Database(database_url, size=1) as database:
        await database.fetch(
            "UPDATE agent_calls SET created_at = now() - interval '25 hours' WHERE dedupe = 'old'"
        )
        forgotten = await forget_old_calls(database)
        left = await database.fetch("SELECT dedupe FROM agent_calls")

    assert (forgotten, [row["dedupe"] for row in left]) == (1, ["new"])


# ---- reading, and outages ----


async def test_a_reader_sees_one_moment_and_cannot_write(
    transactions: Transactions,
) -> None:
    async with transactions.read_only({}) as session:
        connection = await session.connection()
        count = text("SELECT count(*) FROM notes")
        before = (await connection.execute(count)).scalar_one()
        async with transactions.begin() as unit:
            await _add(unit.session, "one")
        after = (await connection.execute(count)).scalar_one()
        with pytest.raises(DBAPIError, match="read-only"):
            await _add(session, "two")

    assert (before, after) == (0, 0)
    assert await _notes(transactions) == ["one"]


async def test_sessions_go_on_after_a_restart(
    postgres: EmbeddedPostgres, transactions: Transactions
) -> None:
    async with transactions.begin() as unit:
        await _add(unit.session, "before")
    await asyncio.to_thread(postgres.stop)
    try:
        with pytest.raises(StoreUnavailable):
            await _notes(transactions)
    finally:
        await asyncio.to_thread(postgres.start)

    async with transactions.begin() as unit:
        await _add(unit.session, "after")

    assert await _notes(transactions) == ["before", "after"]


async def test_a_session_on_a_standby_is_replaced(transactions: Transactions) -> None:
    """After a failover the old primary answers, and refuses every write."""

    async def write() -> None:
        async with transactions.begin() as unit:
            await _add(unit.session, "one")

    async with transactions.begin() as unit:
        connection = await unit.session.connection()
        await connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
    with pytest.raises(StoreUnavailable):
        await write()

    await write()

    assert await _notes(transactions) == ["one"]


async def test_a_cut_in_the_middle_is_a_transient_fault(
    transactions: Transactions, database_url: str
) -> None:
    async def undone() -> None:
        async with transactions.begin() as unit:
            await _add(unit.session, "one")
            await _cut(database_url)
            await _add(unit.session, "two")

    with pytest.raises(StoreUnavailable):
        await undone()

    async def works() -> bool:
        return await _notes(transactions) == []

    await wait_until(works, description="a session works again")


async def test_a_cut_inside_a_savepoint_is_a_transient_fault(
    transactions: Transactions, database_url: str
) -> None:
    async def undone() -> None:
        async with transactions.begin() as unit:
            executor = SessionExecutor(await unit.session.connection())
            async with savepoint(executor):
                await _cut(database_url)
                await executor.fetch("SELECT 1")

    with pytest.raises(StoreUnavailable):
        await undone()


async def test_a_function_that_goes_on_after_a_cut_meets_a_transient_fault(
    transactions: Transactions, database_url: str
) -> None:
    async def undone() -> None:
        async with transactions.begin() as unit:
            await _cut(database_url)
            with suppress(DBAPIError):
                await _add(unit.session, "one")
            await _add(unit.session, "two")

    with pytest.raises(StoreUnavailable):
        await undone()


async def _cut(database_url: str) -> None:
    other = await asyncpg.connect(database_url)
    await other.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'ropewalk'"
    )
    await other.close()


async def test_a_query_that_writes_is_told_to_be_a_mutation(
    transactions: Transactions,
) -> None:
    with pytest.raises(AgentFault, match="declare it as a mutation"):
        async with transactions.read_only({}) as session:
            await _add(session, "two")
