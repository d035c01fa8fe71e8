"""All queries of the team's that are watched here, and which of them a write touches."""

import asyncio
import json
import logging
from collections.abc import Iterable

from app.domain.identity import Identity
from app.domain.ports import Clock
from app.domain.storable import Json
from app.domain.tables import THREADS, Keys, Reads, TableWrite, TableWrites, row_key
from app.gateway.dependencies import Dependencies
from app.gateway.live_query import LiveQuery
from app.gateway.metrics import GatewayMetrics
from app.gateway.ports import Admit, CountWrites, Functions
from app.gateway.queries import FunctionQuery
from app.gateway.subscription import QuerySubscription
from app.gateway.tasks import Tasks
from app.gateway.write_ledger import WriteLedger

MAX_ASKED = 6
"""Queries that are asked at a time: they share the functions' connections with calls."""

SETTLE_S = 2.0
"""How long the answer to a call waits for what its caller watches to show its effects."""

_COUNT_S = 5.0

_log = logging.getLogger(__name__)


class LiveQueries:
    """The queries, by who asks what, and by what they have read (``QueryHost``)."""

    def __init__(
        self,
        *,
        functions: Functions,
        admit: Admit,
        count_writes: CountWrites,
        tasks: Tasks,
        clock: Clock,
        metrics: GatewayMetrics,
    ) -> None:
        """Hold what queries need.

        Args:
            functions: answer them.
            admit: counts the first asking of each as a call of who watches it.
            count_writes: finds writes that nobody announced.
            tasks: own what runs.
            clock: says when.
            metrics: are told.
        """
        self.tasks = tasks
        self.clock = clock
        self.metrics = metrics
        self.slots = asyncio.Semaphore(MAX_ASKED)
        self.timeline = ""
        self._functions = functions
        self._admit = admit
        self._count_writes = count_writes
        self._ledger = WriteLedger()
        self._queries: dict[tuple[FunctionQuery, Identity], LiveQuery] = {}
        self._homes: dict[QuerySubscription, LiveQuery] = {}
        self._dependencies: Dependencies[LiveQuery] = Dependencies()
        self._asked: set[LiveQuery] = set()

    def __len__(self) -> int:
        """Return how many different ones there are."""
        return len(self._queries)

    # ------------------------------------------------------------ subscribers

    def join(self, subscription: QuerySubscription) -> None:
        """Answer a subscription, and every change from then on."""
        key = subscription.query, subscription.viewer.identity
        live = self._queries.get(key)
        if live is None:
            live = self._queries[key] = LiveQuery(*key, subscription.address, self)
            self.metrics.live_queries.inc()
        self._homes[subscription] = live
        live.join(subscription)

    def join_again(self, subscription: QuerySubscription) -> None:
        """Answer a subscription whose reader has caught up."""
        if subscription.is_behind:
            self._homes[subscription].join(subscription)

    def leave(self, subscription: QuerySubscription) -> None:
        """Forget a subscription."""
        live = self._homes.pop(subscription)
        live.leave(subscription)
        if not live:
            del self._queries[live.query, live.identity]
            self.depends_on(live, {})
            self.metrics.live_queries.dec()

    def judge_again(self, subscription: QuerySubscription) -> None:
        """Ask for whom the socket speaks now."""
        if self._homes[subscription].identity != subscription.viewer.identity:
            self.leave(subscription)
            self.join(subscription)

    async def settled(self, subscriptions: Iterable[QuerySubscription]) -> None:
        """Return when these have been told of every write that was heard of by now, or later.

        A query that takes too long is not waited for.
        """
        queries = {self._homes[each] for each in subscriptions}
        try:
            async with asyncio.timeout(SETTLE_S):
                for live in queries:
                    await live.settled()
        except TimeoutError:
            _log.info("an answer does not wait any longer for the queries that its caller watches")

    # ------------------------------------------------------------ news

    def hear(self, writes: TableWrites) -> None:
        """Touch the queries that read what was written."""
        now = self.clock.boot_s()
        for live in self._asked:
            live.hear(writes)
        for table, write in writes.items():
            self._ledger.heard(table, write.rows, now)
            for live in self._dependencies.touched_by(table, write.keys):
                live.touch()

    def on_thread(self, thread_id: str) -> None:
        """Touch the queries that are about threads, of which this one has changed."""
        if THREADS in self._dependencies or self._asked:
            self.hear({THREADS: TableWrite(1, frozenset({row_key("id", thread_id)}))})

    def touch_all(self) -> None:
        """Ask every query again: nobody knows what was missed."""
        for live in tuple(self._queries.values()):
            live.touch()

    def on_timeline(self, timeline: str) -> None:
        """Hear which history the database is in; in another one nothing is known any more."""
        if self.timeline not in {"", timeline}:
            self.touch_all()
        self.timeline = timeline

    async def reconcile(self) -> None:
        """Touch the queries of tables that were written without a word."""
        tables = self._dependencies.tables
        self._ledger.keep(tables)
        if not tables:
            return
        async with asyncio.timeout(_COUNT_S):
            counters = await self._count_writes(tuple(tables))
        missed = self._ledger.missed(counters, self.clock.boot_s())
        self.hear({table: TableWrite(0, None) for table in missed})
        self.metrics.missed_writes.inc(len(missed))

    # ------------------------------------------------------------ what queries ask for

    async def ask(self, query: LiveQuery, reads: dict[str, Keys]) -> Json:
        """See ``QueryHost.ask``."""
        if not query.is_admitted:
            await self._admit(query.identity, query.address)
            query.is_admitted = True
        self._asked.add(query)
        try:
            return await self._functions.read(
                query.query.reference,
                json.loads(query.query.arguments),
                caller=query.identity,
                reads=reads,
            )
        finally:
            self._asked.discard(query)

    def depends_on(self, query: LiveQuery, reads: Reads) -> None:
        """See ``QueryHost.depends_on``."""
        is_watched = self._queries.get((query.query, query.identity)) is query
        self._dependencies.replace(query, query.reads, reads if is_watched else {})
        query.reads = reads if is_watched else {}
