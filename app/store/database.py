"""Held connections to Postgres, on which the hot statements stay prepared.

A statement on a held connection is one round trip.  A pool's usual reset between two
borrowers would be four more, so there is none; nothing here changes a session.

The session's own limits keep a frozen or lost process from holding a thread's lock: the
server ends a transaction that is idle for longer than ``IDLE_IN_TRANSACTION``.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from app.domain.errors import StoreUnavailable
from app.store.addresses import libpq_address
from app.store.faults import COLLISIONS, DRIVER_ERRORS, spoils_session, translated

if TYPE_CHECKING:
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]
else:
    Connection = PoolConnectionProxy

T = TypeVar("T")

SESSION = {
    "application_name": "ropewalk",
    "default_transaction_isolation": "read committed",
    # A frozen process loses its locks before its worker is taken for dead.
    "idle_in_transaction_session_timeout": "2s",
    "statement_timeout": "10s",
    "lock_timeout": "5s",
    # The hot statements are planned once; the planner would do it anew for each array length.
    "plan_cache_mode": "force_generic_plan",
    # A plan that was made while a table was small would be kept while it grows, and read all of
    # it each time: every statement here has an index for what it looks for.
    "enable_seqscan": "off",
    "jit": "off",
    "TimeZone": "UTC",
}
TRANSACTION_LIMIT = "6s"
"""Longer than a wait for a lock.  A process that is frozen between the two messages which prepare
a statement is neither idle nor running one, as the server sees it: no other limit reaches it, and
it would keep a thread's lock for as long as it stands still."""
COMMAND_TIMEOUT_S = 12.0
"""Longer than the server's own, which tells more: for a server that does not answer at all."""
CONNECT_TIMEOUT_S = 5.0
COLLISION_TRIES = 10
_LIMITS_TRANSACTIONS = 17


async def limit_transactions(connection: "asyncpg.Connection[asyncpg.Record]", limit: str) -> None:
    """Let the server end every transaction of this session after ``limit`` (Postgres 17 and on)."""
    if connection.get_server_version().major >= _LIMITS_TRANSACTIONS:
        await connection.execute(f"SET transaction_timeout = '{limit}'")


async def _prepare_session(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await limit_transactions(connection, TRANSACTION_LIMIT)


async def _no_reset(connection: object) -> None:
    del connection


def _cut(connection: Connection) -> None:
    """Close a session without a word; one that is closed already has left the pool."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


class Database:
    """A pool of held connections.  Use as an async context manager.

    Connects when it is first used, and again by itself after an outage.  ``url`` may name
    several hosts with ``target_session_attrs=read-write``.
    """

    def __init__(self, url: str, *, size: int = 10) -> None:
        self._url = libpq_address(url)
        self._size = size
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def __aenter__(self) -> "Database":
        """Be ready; no connection is made yet."""
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._size,
            max_queries=1 << 62,
            max_inactive_connection_lifetime=0,
            max_cached_statement_lifetime=0,
            init=_prepare_session,
            reset=_no_reset,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            server_settings=SESSION,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        if self._pool is not None:
            self._pool.terminate()

    async def fetch(self, statement: str, /, *arguments: object) -> list[asyncpg.Record]:
        """Run one statement in a transaction of its own and return its rows.

        Raises:
            StoreUnavailable: no answer; it may or may not have been carried out.
            RecordRefused: it would be refused however often it is tried.
        """

        async def once(connection: Connection) -> list[asyncpg.Record]:
            return await connection.fetch(statement, *arguments)

        return await self._repeated(once)

    async def first(self, statement: str, /, *arguments: object) -> asyncpg.Record | None:
        """Run one statement and return its first row, if there is one."""
        rows = await self.fetch(statement, *arguments)
        return rows[0] if rows else None

    async def transact(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run ``work`` in one READ COMMITTED transaction and return what it returns.

        It is repeated as a whole when the server undoes it because of another one, so it
        must do nothing outside that cannot be done twice.
        """

        async def once(connection: Connection) -> T:
            async with connection.transaction():
                return await work(connection)

        return await self._repeated(once)

    async def _repeated(self, once: Callable[[Connection], Awaitable[T]]) -> T:
        for attempt in range(1, COLLISION_TRIES + 1):
            async with self._held() as connection:
                try:
                    return await once(connection)
                except COLLISIONS as error:
                    if attempt == COLLISION_TRIES:
                        raise translated(error) from error
                except DRIVER_ERRORS as error:
                    if spoils_session(error):
                        _cut(connection)
                    raise translated(error) from error
            await asyncio.sleep(random.random() * 0.005 * attempt)  # noqa: S311
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[Connection]:
        if self._pool is None:
            raise RuntimeError("the database is used outside its context")
        try:
            connection = await self._pool.acquire(timeout=CONNECT_TIMEOUT_S * 2)
        except DRIVER_ERRORS as error:  # even a refused password is for an operator to mend
            raise StoreUnavailable(f"Postgres cannot be reached: {error}") from error
        try:
            yield connection
        finally:
            with suppress(*DRIVER_ERRORS):  # a session that cannot be given back is closed
                await self._pool.release(connection, timeout=1)
