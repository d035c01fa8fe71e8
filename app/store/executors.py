"""The little that a statement needs to run inside somebody else's transaction.

A run that is started by a mutation is written in the mutation's own transaction, which a
SQLModel session holds; one that is started on its own uses a held asyncpg connection.
Both take the driver's ``$1`` placeholders.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.faults import DRIVER_ERRORS
from app.tracking.session import UNTRACKED

_OURS = {UNTRACKED: True}


class Row(Protocol):
    """A row, by column name."""

    def __getitem__(self, column: str, /) -> Any:  # noqa: ANN401  # as the driver decodes it
        """Return a column's value."""
        ...


class Executor(Protocol):
    """Runs statements.  A held asyncpg connection is one, and so is ``Database``."""

    async def fetch(self, statement: str, /, *arguments: object) -> Sequence[Row]:
        """Run one statement and return its rows."""
        ...


class SessionExecutor:
    """On the connection that a SQLAlchemy session holds."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def fetch(self, statement: str, /, *arguments: object) -> Sequence[Row]:
        """See ``Executor.fetch``."""
        result = await self._connection.exec_driver_sql(
            statement, arguments, execution_options=_OURS
        )
        return result.mappings().all() if result.returns_rows else []


@asynccontextmanager
async def savepoint(executor: Executor) -> AsyncIterator[None]:
    """Undo what the block did when it raises, and nothing else of the transaction.

    Where the transaction is gone with its connection, there is nothing left to undo: what the
    block raised says why.
    """
    await executor.fetch("SAVEPOINT part")
    try:
        yield
    except BaseException:
        with suppress(*DRIVER_ERRORS, SQLAlchemyError):
            await executor.fetch("ROLLBACK TO SAVEPOINT part")
        raise
    await executor.fetch("RELEASE SAVEPOINT part")
