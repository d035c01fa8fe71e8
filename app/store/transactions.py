"""One unit of work of a server function: its rows, its runs and its memory, or nothing.

Everything goes through one connection, in one READ COMMITTED transaction.  What it owes is
told after the commit.  A session's own ``commit`` and ``rollback`` cannot tear it apart:
the first waits for the end of the block, the second undoes the whole.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from types import TracebackType

from asyncpg.exceptions import ReadOnlySQLTransactionError
from sqlalchemy import MetaData
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from app.domain.calls import CallKey, RememberedCall
from app.domain.errors import AgentFault, InvalidArgument, StoreUnavailable
from app.domain.ports import (
    Aborts,
    Announce,
    AnnounceWrites,
    Doorbell,
    Ids,
    Journal,
    StartedRun,
    StartRun,
)
from app.domain.ports.branches import NewBranch, NewFork
from app.domain.scheduled import CallTarget
from app.domain.signal import NewSignal, Signalled
from app.domain.tables import Keys
from app.store import calls
from app.store.branching import make_branch, make_fork
from app.store.executors import SessionExecutor
from app.store.owed import Listeners, Owed
from app.store.scheduled_calls import cancel_call, put_call
from app.store.sessions import deliberate, has_failed, session_engine
from app.store.settling import Settler
from app.store.showing import show_at_the_top, show_in_root
from app.store.signalling import put_signal
from app.store.starting import start_run
from app.store.timers import cancel, schedule
from app.store.waiting import send_event
from app.tracking import Session, Tracker, Vocabulary
from app.tracking.session import listen


class PostgresUnit:
    """One open transaction.

    Attributes:
        session: for the function's own tables, in this transaction.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        session: Session,
        tracker: Tracker,
        settler: Settler,
    ) -> None:
        self.session = session
        self.owed = Owed()
        self._connection = connection
        self._tracker = tracker
        self._settler = settler
        self._is_scheduled = False
        self._executor = SessionExecutor(connection)
        self._is_remembered = False

    @property
    def must_commit(self) -> bool:
        """Whether somebody was promised something that a rollback would take back."""
        return bool(self.owed.versions) or self._is_scheduled or self._is_remembered

    async def start(self, start: StartRun) -> StartedRun:
        """Write a run in this transaction; see ``RunStore.start``."""
        with _naming_what_is_refused("run"):
            return await start_run(self._executor, start, self._settler, self.owed)

    async def branch(self, new: NewBranch) -> StartedRun:
        """Make a branch in this transaction; see ``BranchMaker.branch``."""
        with _naming_what_is_refused("run"):
            return await make_branch(self._executor, new, self.owed)

    async def fork(self, new: NewFork) -> None:
        """Make a conversation in this transaction; see ``BranchMaker.fork``."""
        with _naming_what_is_refused("conversation"):
            await make_fork(self._executor, new, self.owed)

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """Start a run when it is due; see ``RunStore.schedule``."""
        with _naming_what_is_refused("run"):
            await schedule(self._executor, timer_id, start, due_at)
        self._is_scheduled = True

    async def schedule_call(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """Call a function when it is due; see ``CallStore.put``."""
        with _naming_what_is_refused("call"):
            await put_call(self._executor, call_id, target, due_at)
        self._is_scheduled = True

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """Take back what is scheduled; see ``RunStore.unschedule`` and ``CallStore.cancel``."""
        is_cancelled = await cancel(self._executor, schedule_id) or await cancel_call(
            self._executor, schedule_id
        )
        self._is_scheduled |= is_cancelled
        return is_cancelled

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """Put a message into a conversation; see ``RunStore.signal``."""
        with _naming_what_is_refused("signal"):
            return await put_signal(self._executor, signal, self._settler.ids, self.owed)

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """Store an event for a run; see ``RunStore.send_event``."""
        with _naming_what_is_refused("event"):
            return await send_event(self._executor, run_id, name, payload, self.owed)

    async def remember(self, call: CallKey, arguments: str) -> RememberedCall | None:
        """Note that this call is being made; return the earlier one if there was one."""
        found = await calls.remember(self._executor, call, arguments)
        self._is_remembered = True
        if found is not None:  # who made it may have died before it announced what it wrote
            self._tracker.wrote_before(found.writes)
        return found

    async def answer(self, call: CallKey, result: str) -> None:
        """Store the result (JSON text) of a remembered call."""
        if self._connection.in_transaction():
            await self.session.flush()  # now it is known what is written
        await calls.answer(self._executor, call, result, self._tracker.writes)


class PostgresTransactions:
    """Opens units of work.  Use as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        announce: Announce,
        announce_writes: AnnounceWrites,
        doorbell: Doorbell,
        journal: Journal,
        aborts: Aborts,
        ids: Ids,
        tables: MetaData = SQLModel.metadata,
        size: int = 10,
    ) -> None:
        self._engine = session_engine(url, size=size)
        listen(self._engine.sync_engine)
        self._vocabulary = Vocabulary(tables)
        self._announce_writes = announce_writes
        self._reading = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._listeners = Listeners(announce, doorbell, journal, aborts)
        self._settler = Settler(journal, ids)

    async def __aenter__(self) -> "PostgresTransactions":
        """Be ready; no connection is made yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self._engine.dispose()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[PostgresUnit]:
        """Open a unit of work; it commits when the block ends without an error.

        Raises:
            Contended: the transaction ran into another one; nothing of it is there.
            StoreUnavailable: no answer; it may or may not have been committed.
        """
        with _translating():
            async with self._engine.connect() as connection, connection.begin() as transaction:
                tracker = Tracker(self._vocabulary)
                session = Session(
                    connection,
                    tracker,
                    expire_on_commit=False,
                    join_transaction_mode="rollback_only",
                )
                unit = PostgresUnit(connection, session, tracker, self._settler)
                async with session:
                    _ = await session.connection()  # its rollback is the unit's from now on
                    yield unit
                    if transaction.is_active:
                        await session.flush()
                if not transaction.is_active:
                    _refuse_a_broken_promise(unit)
                    return
                raw = await connection.get_raw_connection()
                if has_failed(raw):  # a failed transaction's COMMIT says nothing and does nothing
                    await connection.exec_driver_sql("SELECT 1")
        if writes := tracker.writes:
            self._announce_writes(writes)
        await unit.owed.pay(self._listeners)
        await show_at_the_top(unit.owed, self._show)

    async def _show(self, root: str) -> None:
        told = Owed()
        with _translating():
            async with self._engine.begin() as connection:
                await show_in_root(root, SessionExecutor(connection), told)
        await told.pay(self._listeners)

    @asynccontextmanager
    async def read_only(self, reads: dict[str, Keys]) -> AsyncIterator[Session]:
        """Open a session that sees one moment and cannot write; costs nothing until used.

        What it reads of the team's tables is noted in ``reads``.
        """
        tracker = Tracker(self._vocabulary, reads)
        with _refusing_writes(), _translating():
            async with Session(self._reading, tracker, expire_on_commit=False) as session:
                yield session


@contextmanager
def _naming_what_is_refused(what: str) -> Iterator[None]:
    """Say what cannot be stored; a fault of the database stays what it is."""
    try:
        yield
    except DBAPIError as error:
        if deliberate(error) is not None:
            raise
        raise InvalidArgument(f"the {what} cannot be stored: {error.orig}") from error


@contextmanager
def _refusing_writes() -> Iterator[None]:
    """Name the author's mistake: here the transaction is read-only because it is a query's."""
    try:
        yield
    except StoreUnavailable as error:
        cause = error.__cause__
        driver = cause.driver_exception if isinstance(cause, DBAPIError) else None
        if isinstance(driver, ReadOnlySQLTransactionError):
            raise AgentFault("a query cannot write: declare it as a mutation") from error
        raise


def _refuse_a_broken_promise(unit: PostgresUnit) -> None:
    if unit.must_commit:
        raise AgentFault(
            "the transaction was rolled back inside the function, but a run was started in it or "
            "its result is to be remembered: raise an error instead of rolling back"
        )


@contextmanager
def _translating() -> Iterator[None]:
    """Turn faults of the database into deliberate errors; the team's own stay what they are."""
    try:
        yield
    except (DBAPIError, PoolExhausted, PendingRollbackError) as error:
        fault = deliberate(error)
        if fault is None:
            raise
        raise fault from error
