"""``ctx.db``: a SQLModel session that notices what it reads and writes."""

from typing import Any, Final

from sqlalchemy import Connection, Engine, event, inspect
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import SessionTransaction, UOWTransaction
from sqlmodel import Session as SQLModelSession
from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from app.tracking.tracker import Tracker

_TRACKER: Final = "ropewalk_tracker"
UNTRACKED: Final = "ropewalk_untracked"
"""Execution option of a statement of the product's own."""


class _SyncSession(SQLModelSession):
    """What works underneath; a class of its own, so that its events are its own."""


class Session(AsyncSession):
    """A session on the team's own tables.

    What it reads and writes is noticed: a query is run again when rows that it read have changed.
    Rows count as read by key where the statement allows it (``WHERE id = ...`` on a key or an
    indexed column), else the table is; joins and subqueries read all their tables, and so does
    plain SQL, by the names of declared tables in it.
    """

    sync_session_class = _SyncSession

    def __init__(self, bind: Any, tracker: Tracker, **options: Any) -> None:  # noqa: ANN401  # as SQLAlchemy's
        super().__init__(bind, **options)
        self.sync_session.info[_TRACKER] = tracker

    def touch(self, *tables: type[SQLModel]) -> None:
        """Say that rows of these tables are written, where it cannot be seen.

        Needed for what the database does by itself: triggers, and functions that SQL calls.
        """
        for table in tables:
            self.sync_session.info[_TRACKER].touch(_name_of(table))

    def reads(self, *tables: type[SQLModel]) -> None:
        """Say that a query depends on these tables, where it cannot be seen: behind a view."""
        for table in tables:
            self.sync_session.info[_TRACKER].read(_name_of(table))


def _name_of(table: type[SQLModel]) -> str:
    return str(inspect(table).local_table.name)


def listen(engine: Engine) -> None:
    """Have the statements of an engine noticed by the sessions that are on it."""
    event.listen(engine, "before_cursor_execute", _sent)
    event.listen(engine, "after_cursor_execute", _done)


def _sent(  # noqa: PLR0917  # SQLAlchemy's signature
    connection: Connection,
    cursor: object,
    statement: str,
    parameters: object,
    context: DefaultExecutionContext | None,
    executemany: object,
) -> None:
    del cursor, parameters, executemany
    tracker = _tracker_of(connection, context)
    if tracker is not None and context is not None:
        is_plain = context.compiled is None
        invoked = None if is_plain else context.invoked_statement
        given = None if is_plain else context.compiled_parameters
        tracker.sent(statement, invoked, given[0] if given else {})


def _done(  # noqa: PLR0917  # SQLAlchemy's signature
    connection: Connection,
    cursor: Any,  # noqa: ANN401  # the driver's
    statement: str,
    parameters: object,
    context: DefaultExecutionContext | None,
    executemany: object,
) -> None:
    tracker = _tracker_of(connection, context)
    if tracker is not None:
        sets = len(parameters) if executemany and isinstance(parameters, (list, tuple)) else 0
        tracker.done(statement, cursor.rowcount, sets)


def _tracker_of(connection: Connection, context: DefaultExecutionContext | None) -> Tracker | None:
    if context is not None and UNTRACKED in context.execution_options:
        return None
    tracker = connection.get_execution_options().get(_TRACKER)
    return tracker if isinstance(tracker, Tracker) else None


def _begins(session: _SyncSession, transaction: SessionTransaction, connection: Connection) -> None:
    del transaction
    connection.execution_options(**{_TRACKER: session.info[_TRACKER]})


def _flush_begins(session: _SyncSession, work: UOWTransaction, instances: object) -> None:
    del work, instances
    session.info[_TRACKER].flush_begins(session)


def _flushed(session: _SyncSession, work: UOWTransaction) -> None:
    session.info[_TRACKER].flushed(work)


def _flush_failed(session: _SyncSession, previous: SessionTransaction) -> None:
    del previous
    session.info[_TRACKER].flush_failed()


event.listen(_SyncSession, "after_begin", _begins)
event.listen(_SyncSession, "after_soft_rollback", _flush_failed)
event.listen(_SyncSession, "before_flush", _flush_begins)
event.listen(_SyncSession, "after_flush", _flushed)
