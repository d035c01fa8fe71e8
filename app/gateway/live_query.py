"""One query of the team's that somebody watches: asked once, however many sockets watch it.

Its life is one task that runs while there is something to do: it asks when the query was touched,
and sends what came of it if that is another answer.  Two touches while it asks are one more asking;
askings keep a distance, so that a burst of writes costs a few of them.

    asked --touched--> due --asks--> asked
                        ^              |
                        +--- failed ---+    in a while, or when touched

What was written while it was asked may touch what it turns out to have read: its host notes that.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol, TypeAlias

from app.domain.cursor import Cursor
from app.domain.identity import Identity
from app.domain.ports import Clock
from app.domain.storable import Json
from app.domain.tables import (
    MAX_READ_KEYS,
    Keys,
    Reads,
    TableWrite,
    TableWrites,
    both_keys,
    both_writes,
    meet,
)
from app.gateway import replies
from app.gateway.bodies import json_bytes, snapshot_frame
from app.gateway.metrics import GatewayMetrics
from app.gateway.queries import FunctionQuery
from app.gateway.subscription import QuerySubscription
from app.gateway.tasks import Tasks
from app.protocol.faults import Fault, fault_of

DISTANCE_S = 0.03
"""Between two askings of a query, at least."""

REST_CAP_S = 0.05
"""A slot rests as long as it was in use, up to this: many hot queries together leave half of the
process to calls and sockets, and each asking answers for more writes."""

_LEISURE = 2
"""Times of what it takes: one that is slow, and touched all the time, is asked half of it.  One
asking that took long for once makes nobody wait."""

RETRY_S = 1.0
RETRY_CAP_S = 30.0
_MENDED_BY_TIME = frozenset({"INTERNAL", "UNAVAILABLE", "RATE_LIMITED"})
"""Errors after which the same query may work although nothing was written."""

_log = logging.getLogger(__name__)

Said: TypeAlias = bytes | Fault
"""What watchers were told last: a value as JSON, or why there is none."""


class QueryHost(Protocol):
    """What a live query needs of the queries around it."""

    tasks: Tasks
    clock: Clock
    metrics: GatewayMetrics
    slots: asyncio.Semaphore

    @property
    def timeline(self) -> str:
        """The history of the database."""
        ...

    async def ask(self, query: "LiveQuery", reads: dict[str, Keys]) -> Json:
        """Return what the query answers, and note what it reads."""
        ...

    def depends_on(self, query: "LiveQuery", reads: Reads) -> None:
        """Touch the query from now on when this is written."""
        ...


class LiveQuery:
    """A query as one person asks it, and who watches it for him."""

    def __init__(
        self, query: FunctionQuery, identity: Identity, address: str, host: QueryHost
    ) -> None:
        self.query = query
        self.identity = identity
        self.address = address
        """Of who asked first."""
        self.is_admitted = False
        """Whether its first asking was counted; its host's to set."""
        self.reads: Reads = {}
        """What touches it; its host's to set."""
        self._host = host
        self._watchers: dict[QuerySubscription, None] = {}
        self._joining: dict[QuerySubscription, None] = {}
        self._said: Said | None = None
        self._answers = 0
        self._touches = 1
        """How often it was touched, and how much of that its last answer knows."""
        self._known = 0
        self._touched = asyncio.Event()
        self._ended = asyncio.Event()
        self._meanwhile: dict[str, TableWrite] | None = None
        """What is written while it is asked."""
        self._asked_at = -RETRY_CAP_S
        self._took_s = self._takes_s = 0.0
        """The last asking, and the quicker of the last two."""
        self._failures = 0
        self._is_running = False

    def __len__(self) -> int:
        """Return how many watch it."""
        return len(self._watchers)

    # ------------------------------------------------------------ watchers

    def join(self, subscription: QuerySubscription) -> None:
        """Answer a subscription, and every change from then on."""
        subscription.is_behind = False
        self._watchers[subscription] = None
        self._joining[subscription] = None
        if self._said is not None and not self._is_due and self._meanwhile is None:
            self._tell(self._said, (subscription,))
        self._wake()

    def leave(self, subscription: QuerySubscription) -> None:
        """Forget a subscription."""
        self._watchers.pop(subscription, None)
        self._joining.pop(subscription, None)
        if not self._watchers:
            self._touched.set()  # nobody has to wait for a retry any more
            self._ended.set()

    # ------------------------------------------------------------ news

    def touch(self) -> None:
        """Ask again: something that it read was written."""
        self._touches += 1
        self._touched.set()
        self._wake()

    def hear(self, writes: TableWrites) -> None:
        """Note what is written while it is asked."""
        if self._meanwhile is not None:
            self._meanwhile = both_writes(self._meanwhile, writes)

    async def settled(self) -> None:
        """Return when watchers have been told of everything that has touched it by now."""
        if self._meanwhile is not None:
            await self._ended.wait()
        touches = self._touches
        while self._known < touches and self._watchers:
            await self._ended.wait()

    # ------------------------------------------------------------ asking

    @property
    def _is_due(self) -> bool:
        return self._known < self._touches

    def _wake(self) -> None:
        if not self._is_running and self._is_due:
            self._is_running = True
            self._host.tasks.spawn(self._run(), f"query {self.query.reference}")

    async def _run(self) -> None:
        try:
            while self._watchers and (self._is_due or self._failures):
                await self._wait()
                async with self._host.slots:
                    if self._watchers:
                        await self._ask()
                        await asyncio.sleep(min(self._took_s, REST_CAP_S))
        finally:
            self._is_running = False

    async def _wait(self) -> None:
        """Keep the distance; after a failure that time may mend, wait for that, or for a touch."""
        if not self._is_due:
            self._touched.clear()
            delay_s = min(RETRY_CAP_S, RETRY_S * (1 << min(self._failures - 1, 10)))
            with suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._touched.wait()
        distance_s = max(DISTANCE_S, self._takes_s * _LEISURE)
        rest_s = self._asked_at + distance_s - self._host.clock.boot_s()
        if rest_s > 0:
            await asyncio.sleep(rest_s)

    async def _ask(self) -> None:
        host, touches = self._host, self._touches
        self._asked_at = host.clock.boot_s()
        self._meanwhile = {}
        reads: dict[str, Keys] = {}
        said: Said
        try:
            said = json_bytes(await host.ask(self, reads))
            self._failures = 0
        except Exception as error:  # noqa: BLE001 - the edge of the process: all become a code
            said = fault_of(error)
            is_first = self._said != said
            self._failures = self._failures + 1 if said.code in _MENDED_BY_TIME else 0
            if is_first and said.is_ours:
                _log.error("query %s failed", self.query.reference, exc_info=error)
            reads = _both(reads, self.reads)
        finally:
            took_s = host.clock.boot_s() - self._asked_at
            self._took_s, self._takes_s = took_s, min(self._took_s, took_s)
            meanwhile, self._meanwhile = self._meanwhile, None
        host.depends_on(self, reads)
        self._known = touches
        if meets(reads, meanwhile):
            self._touches += 1
        self._say(said)
        ended, self._ended = self._ended, asyncio.Event()
        ended.set()

    # ------------------------------------------------------------ telling

    def _say(self, said: Said) -> None:
        is_news = said != self._said
        self._said = said
        self._host.metrics.queries.labels(_outcome(said, is_news=is_news)).inc()
        self._tell(said, tuple(self._watchers if is_news else self._joining))

    def _tell(self, said: Said, watchers: Iterable[QuerySubscription]) -> None:
        self._answers += 1
        cursor = Cursor(self._host.timeline, self._answers)
        frames: dict[str, bytes] = {}
        for each in watchers:
            if each.is_behind:
                continue
            frame = frames.get(each.id)
            if frame is None:
                frame = frames[each.id] = _frame(each.id, said, cursor)
            self._joining.pop(each, None)
            if each.viewer.wire.push(frame):
                self._host.metrics.snapshots.inc()
                each.viewer.outbox.answered(each)
            else:
                each.is_behind = True
                self._host.metrics.slow.labels("snapshot").inc()
                each.viewer.outbox.missed_fact(each)


def meets(reads: Reads, writes: TableWrites) -> bool:
    """Return whether something was read that was written."""
    return any(table in reads and meet(reads[table], write.keys) for table, write in writes.items())


def _both(one: Reads, other: Reads) -> dict[str, Keys]:
    """Return what either read."""
    nothing: Keys = frozenset()
    return {
        table: both_keys(one.get(table, nothing), other.get(table, nothing), MAX_READ_KEYS)
        for table in {*one, *other}
    }


def _frame(id_: str, said: Said, cursor: Cursor) -> bytes:
    if isinstance(said, Fault):
        return replies.error(id_, said.code, said.message, said.data, live=True)
    return snapshot_frame(json_bytes(id_), cursor, said)


def _outcome(said: Said, *, is_news: bool) -> str:
    if isinstance(said, Fault):
        return "failed"
    return "pushed" if is_news else "unchanged"
