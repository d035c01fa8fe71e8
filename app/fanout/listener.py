"""Hears which threads changed, and what was written of the team's tables.

One LISTEN connection in each process.  A connection may die without a word, or live and be deaf
(field case B56), so silence is never taken for peace: every two seconds the listener notifies
itself, and when it did not hear that twice, the connection is replaced.  Whatever was missed
meanwhile is read from Postgres by whoever ``on_resumed`` tells.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import asyncpg

from app.domain.errors import ChatError
from app.domain.tables import TableWrites
from app.fanout.backoff import reconnect_after_s
from app.fanout.hints import CHANNEL, parse, probe_payload
from app.fanout.postgres import DRIVER_ERRORS, connect

log = logging.getLogger(__name__)

TICK_S = 2.0
PATIENCE = 2
"""Ticks unheard before the connection is replaced; probes unheard before a start is refused."""

_NOTIFY = "SELECT pg_notify($1, $2)"
_TIMELINE = """
SELECT format('%s-%s', system_identifier,
              ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int)
  FROM pg_control_system()
"""
"""The same as ``ThreadReader.timeline`` reads, of the server that this connection goes to."""

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class NotificationsUnheard(ChatError):
    """LISTEN works on this connection, but what is notified does not arrive."""


class Listener:
    """Driven by ``run``; health is ``is_listening``.

    Args:
        on_hint: gets a thread and its version; must not block.
        on_writes: gets what was written, and who said so (``Announcer.origin``); must not block.
        on_resumed: called when a connection was replaced: hints may have been missed.
        on_timeline: gets the history that versions count in, on each new connection, before
            ``on_resumed``.
    """

    def __init__(
        self,
        url: str,
        *,
        on_hint: Callable[[str, int], None],
        on_writes: Callable[[str, TableWrites], None],
        on_resumed: Callable[[], None],
        on_timeline: Callable[[str], None],
    ) -> None:
        self._url = url
        self._on_hint = on_hint
        self._on_writes = on_writes
        self._on_resumed = on_resumed
        self._on_timeline = on_timeline
        self._me = uuid.uuid4().hex
        self._probe_heard = asyncio.Event()
        self._is_proven = False
        self.is_listening = False

    async def run(self) -> None:
        """Listen until cancelled.

        Raises:
            NotificationsUnheard: the very first connection is deaf: a proxy is in between.
        """
        failures = 0
        while True:
            try:
                async with self._connection() as (connection, closed):
                    await self._begin(connection)
                    failures = 0
                    await self._listen(connection, closed)
            except DRIVER_ERRORS as error:
                failures += 1
                if failures == 1:
                    log.warning("Postgres is not heard: %r", error)
                await asyncio.sleep(reconnect_after_s(failures))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[Connection, asyncio.Event]]:
        closed = asyncio.Event()
        connection = await connect(self._url, "listener")
        connection.add_termination_listener(lambda _: closed.set())
        try:
            yield connection, closed
        finally:
            self.is_listening = False
            connection.terminate()

    async def _begin(self, connection: Connection) -> None:
        """Subscribe; then tell who must read what was missed before."""
        await connection.add_listener(CHANNEL, self._hear)
        was_heard_before = self._is_proven
        if not self._is_proven:
            await self._prove()
            self._is_proven = True
        self._on_timeline(await connection.fetchval(_TIMELINE))
        self.is_listening = True
        if was_heard_before:
            log.info("Postgres is heard again")
            self._on_resumed()

    async def _prove(self) -> None:
        """Hear a notification that came over another connection.

        Over this one it would prove nothing: a proxy that pools transactions may run LISTEN and
        NOTIFY on the same session by chance, and then the answer comes along.
        """
        for _ in range(PATIENCE):
            self._probe_heard.clear()
            other = await connect(self._url, "listener probe")
            try:
                await self._probe(other)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_S):
                        await self._probe_heard.wait()
                        return
            finally:
                other.terminate()
        raise NotificationsUnheard(
            "Postgres accepts LISTEN, but a notification does not arrive: DATABASE_URL leads "
            "through a proxy that pools transactions (PgBouncer in transaction mode, for one). "
            "Give the address of the server itself, or of a proxy that pools sessions."
        )

    async def _listen(self, connection: Connection, closed: asyncio.Event) -> None:
        """Notify itself with each tick; raise when the connection is lost or deaf."""
        unheard = 0
        while unheard < PATIENCE:
            self._probe_heard.clear()
            await self._probe(connection)
            with suppress(TimeoutError):
                async with asyncio.timeout(tick_s()):
                    await closed.wait()
                    raise asyncpg.InterfaceError("the connection was closed")
            unheard = 0 if self._probe_heard.is_set() else unheard + 1
        raise asyncpg.InterfaceError(f"{PATIENCE} notifications to itself were not heard")

    async def _probe(self, connection: Connection) -> None:
        await connection.execute(_NOTIFY, CHANNEL, probe_payload(self._me))

    def _hear(self, connection: object, pid: int, channel: str, payload: object) -> None:
        del connection, pid, channel  # asyncpg's signature
        try:
            hints = parse(str(payload))
        except ValueError:
            log.warning("a notification is not ours: %.80r", payload)
            return
        for thread_id, version in hints.threads.items():
            self._on_hint(thread_id, version)
        for origin, writes in hints.writes.items():
            self._on_writes(origin, writes)
        if self._me in hints.probes:
            self._probe_heard.set()


def tick_s() -> float:
    """Return the seconds until the next tick, spread so that processes do not tick together."""
    return TICK_S * random.uniform(0.9, 1.1)  # noqa: S311 - guards no secret
