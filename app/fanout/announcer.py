"""Says what changed, after the commits and outside their transactions: threads, team's tables.

A NOTIFY inside a writing transaction holds a database-wide lock through its commit, and a busy
database loses three quarters of its commits a second to it (field case B59).  So writers commit
first and call the announcer, which gathers for a millisecond and sends everything as one
transaction that writes nothing.  What it says is a hint: one that is lost costs its watchers the
two seconds until they compare versions, so nothing here may hold a writer up or fill the memory.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import asyncpg

from app.domain.tables import TableWrite, TableWrites, both_writes, uncounted
from app.fanout.backoff import reconnect_after_s
from app.fanout.hints import CHANNEL, thread_payloads, write_payloads
from app.fanout.postgres import DRIVER_ERRORS, connect

log = logging.getLogger(__name__)

GATHER_S = 0.001
MAX_PENDING = 50_000
"""Threads; further ones are not announced.  Only an outage of Postgres comes near it."""
LAST_WORDS_S = 0.25

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_NOTIFY = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"


class Announcer:
    """Implements ``Announce`` and, by ``written``, ``AnnounceWrites``.

    One in each process, driven by ``run``.

    Attributes:
        origin: by what the listeners of this process know its own writes.
        dropped: hints that were given up because too many were waiting.
        on_written: hears of writes at once, before anybody else does.
    """

    def __init__(self, url: str) -> None:
        self.origin = uuid.uuid4().hex[:12]
        self.on_written: Callable[[TableWrites], None] = lambda _: None
        self._url = url
        self._pending: dict[str, int] = {}
        self._writes: dict[str, TableWrite] = {}
        self._something = asyncio.Event()
        self.dropped = 0

    def __call__(self, thread_id: str, version: int) -> None:
        """See ``Announce``; only the newest version of a thread is said."""
        if thread_id not in self._pending and len(self._pending) >= MAX_PENDING:
            self.dropped += 1
            return
        self._pending[thread_id] = max(version, self._pending.get(thread_id, version))
        self._something.set()

    def written(self, writes: TableWrites) -> None:
        """See ``AnnounceWrites``; what is told at once is one write of each table."""
        self._writes = both_writes(self._writes, writes)
        self._something.set()
        self.on_written(writes)

    async def run(self) -> None:
        """Announce until cancelled, over a connection that is replaced when it is lost."""
        failures = 0
        while True:
            try:
                connection = await connect(self._url, "announcer")
                try:
                    failures = 0
                    await self._announce_over(connection)
                finally:
                    await self._say_the_rest(connection)
                    connection.terminate()
            except DRIVER_ERRORS as error:
                failures += 1
                if failures == 1:
                    log.warning("nothing is announced until Postgres is back: %r", error)
                await asyncio.sleep(reconnect_after_s(failures))

    async def _announce_over(self, connection: Connection) -> None:
        connection.add_termination_listener(lambda _: self._something.set())
        while True:
            await self._something.wait()
            if connection.is_closed():
                raise asyncpg.InterfaceError("the connection was closed")
            await asyncio.sleep(GATHER_S)
            await self._say(connection)

    async def _say(self, connection: Connection) -> None:
        self._something.clear()
        batch, self._pending = self._pending, {}
        writes, self._writes = self._writes, {}
        said = thread_payloads(batch) + write_payloads(self.origin, writes)
        try:
            await connection.execute(_NOTIFY, CHANNEL, said)
        except BaseException:
            for thread_id, version in batch.items():
                self(thread_id, version)
            self._writes = both_writes(self._writes, uncounted(writes))  # it may have been said
            raise

    async def _say_the_rest(self, connection: Connection) -> None:
        """Say what a process that stops has just committed: a run that it handed over."""
        if (self._pending or self._writes) and not connection.is_closed():
            with suppress(*DRIVER_ERRORS):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._say(connection)
