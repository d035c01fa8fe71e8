"""SQLAlchemy's way to the same database: sessions for server functions.

Its connections are asyncpg's, made from the same address.  One that died while it lay in
the pool is noticed without asking the server, and replaced.
"""

from typing import TYPE_CHECKING, TypeAlias

import asyncpg
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, DisconnectionError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from app.domain.errors import ChatError, Contended, StoreUnavailable
from app.store.addresses import libpq_address
from app.store.database import CONNECT_TIMEOUT_S, SESSION, limit_transactions
from app.store.faults import COLLISIONS, DRIVER_ERRORS, is_transient, spoils_session, translated

if TYPE_CHECKING:
    RawConnection: TypeAlias = asyncpg.Connection[asyncpg.Record]

SESSION_OF_FUNCTIONS = {
    "application_name": SESSION["application_name"],
    "default_transaction_isolation": SESSION["default_transaction_isolation"],
    "lock_timeout": SESSION["lock_timeout"],
    # A function's own limit (30 s) comes first; these are for a process that hangs.
    "idle_in_transaction_session_timeout": "35s",
    "statement_timeout": "35s",
    "TimeZone": "UTC",
}
TRANSACTION_LIMIT_OF_FUNCTIONS = "40s"
"""See ``app.store.database.TRANSACTION_LIMIT``."""
_FAILED = "ropewalk.failed"
_CONNECTION_LOST = "8s2b"
"""SQLAlchemy's name for what every statement gets that follows the one which lost it."""

DatabaseFault: TypeAlias = DBAPIError | PoolExhausted | PendingRollbackError


def session_engine(url: str, *, size: int) -> AsyncEngine:
    """Return an engine whose connections are made when they are needed; dispose of it."""
    address = libpq_address(url)

    async def connect() -> "RawConnection":
        try:
            connection = await asyncpg.connect(
                address, timeout=CONNECT_TIMEOUT_S, server_settings=SESSION_OF_FUNCTIONS
            )
            await limit_transactions(connection, TRANSACTION_LIMIT_OF_FUNCTIONS)
        except DRIVER_ERRORS as error:
            raise StoreUnavailable(f"Postgres cannot be reached: {error}") from error
        return connection

    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        pool_size=size,
        max_overflow=0,
        pool_timeout=CONNECT_TIMEOUT_S * 2,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_a_dead_connection)
    event.listen(engine.sync_engine, "handle_error", _note_a_failure)
    return engine


def deliberate(error: DatabaseFault) -> ChatError | None:
    """Return what a fault of the database means; ``None``: it is about the team's own rows."""
    if isinstance(error, PoolExhausted):
        return StoreUnavailable("every database connection of this process is in use")
    if isinstance(error, PendingRollbackError):
        if error.code != _CONNECTION_LOST:
            return None
        return StoreUnavailable("the connection to Postgres was lost in the transaction")
    cause = error.driver_exception
    if isinstance(cause, COLLISIONS):
        return Contended(f"the transaction ran into another one: {cause}")
    return translated(cause) if is_transient(cause) or error.connection_invalidated else None


def has_failed(connection: PoolProxiedConnection) -> bool:
    """Whether a statement failed since this was last asked; savepoints may have mended that."""
    return bool(connection.info.pop(_FAILED, False))


def _refuse_a_dead_connection(
    dbapi_connection: object, entry: ConnectionPoolEntry, proxy: PoolProxiedConnection
) -> None:
    del dbapi_connection
    raw = entry.driver_connection
    if raw is None or raw.is_closed():
        raise DisconnectionError("the server closed this connection while it lay in the pool")
    proxy.info.pop(_FAILED, None)


def _note_a_failure(context: ExceptionContext) -> None:
    if spoils_session(context.original_exception.__cause__ or context.original_exception):
        context.is_disconnect = True  # a server that became a standby would stay one
    elif context.connection is not None:
        context.connection.info[_FAILED] = True
