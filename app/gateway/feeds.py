"""All feeds of a gateway: which thread's news is whose.

Every gateway hears the hints of all threads, and most are of threads that nobody
watches here.  Of those the newest versions are remembered for a while, because a feed
may just be finding out that one of them is its own; and while some feed seeks its
thread, a thread never heard of before is looked at once, to see whether it is the one.
"""

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.ports import Clock, ShownText, ThreadReader, TokenSource
from app.gateway.feed import READ_TIMEOUT_S, Feed
from app.gateway.live_text import Piece
from app.gateway.metrics import GatewayMetrics
from app.gateway.subscription import Subscription
from app.gateway.tasks import Tasks
from app.gateway.token_watches import TokenWatches

MAX_READS = 32
"""Reads at a time, so that a storm of hints queues here and not in the pool."""

_MAX_HEARD = 20_000
_MAX_STRANGERS = 2_000
_SOUGHT_PER_TICK = 200
"""Feeds without a thread that a tick looks again for; the others wait for the next ones."""

_log = logging.getLogger(__name__)


class Feeds:
    """The feeds, by key and by thread (``FeedHost``)."""

    def __init__(
        self,
        reader: ThreadReader,
        source: TokenSource,
        tasks: Tasks,
        clock: Clock,
        metrics: GatewayMetrics,
    ) -> None:
        self.reader = reader
        self.tasks = tasks
        self.clock = clock
        self.metrics = metrics
        self.reads = asyncio.Semaphore(MAX_READS)
        self.timeline = ""
        self._tokens = TokenWatches(source, tasks, self._on_shown)
        self._by_key: dict[str, Feed] = {}
        self._by_thread: dict[str, Feed] = {}
        self._seeking: dict[Feed, None] = {}
        self._heard: OrderedDict[str, int] = OrderedDict()
        self._strangers: dict[str, int] = {}
        self._is_looking = False

    def __len__(self) -> int:
        """Return how many feeds there are."""
        return len(self._by_key)

    # ------------------------------------------------------------ subscribers

    def join(self, subscription: Subscription) -> None:
        """Answer a subscription, and every change from then on."""
        key = subscription.query.key
        feed = self._by_key.get(key)
        if feed is None:
            feed = self._by_key[key] = Feed(key, self)
            self._seeking[feed] = None
            self.metrics.feeds.inc()
        feed.join(subscription)

    def join_again(self, subscription: Subscription) -> None:
        """Answer a subscription whose reader has caught up."""
        self._by_key[subscription.query.key].join_again(subscription)

    def send_text(self, subscription: Subscription) -> None:
        """Send a subscription the text that it missed."""
        self._by_key[subscription.query.key].catch_up(subscription)

    def leave(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        self._by_key[subscription.query.key].leave(subscription)

    def judge_again(self, subscription: Subscription) -> None:
        """Look whether the answer is another one for whom its socket speaks for now."""
        self._by_key[subscription.query.key].judge_again(subscription)

    def look_again(self, subscription: Subscription) -> None:
        """Look for a thread that its own viewer may just have created."""
        feed = self._by_key[subscription.query.key]
        if feed.is_seeking:
            feed.look_again()

    # ------------------------------------------------------------ news

    def on_hint(self, thread_id: str, version: int) -> None:
        """Take a hint."""
        feed = self._by_thread.get(thread_id)
        if feed is not None:
            feed.want(version)
            return
        known = self._heard.get(thread_id)
        self._heard[thread_id] = max(version, known or 0)
        self._heard.move_to_end(thread_id)
        if len(self._heard) > _MAX_HEARD:
            self._heard.popitem(last=False)
        if known is None and self._seeking and len(self._strangers) < _MAX_STRANGERS:
            self._strangers[thread_id] = version
            self._look_at_strangers()

    def on_token(self, thread_id: str, payload: Mapping[str, Any]) -> None:
        """Take a token."""
        feed = self._by_thread.get(thread_id)
        if feed is None:
            return
        try:
            piece = Piece.from_payload(payload)
        except KeyError as error:
            _log.warning("a token of thread %s lacks %s", thread_id, error)
        else:
            feed.hear(piece)

    def on_gap(self) -> None:
        """Read every text so far again: tokens may have been missed."""
        self._tokens.refill_all()

    def on_timeline(self, timeline: str) -> None:
        """Begin anew if versions count in another history from now on."""
        if timeline == self.timeline:
            return
        is_first = not self.timeline
        self.timeline = timeline
        if not is_first:
            _log.warning("the database's history is another one now: %s", timeline)
            for feed in tuple(self._by_key.values()):
                feed.restart()

    async def reconcile(self) -> None:
        """Find the feeds that missed a hint, with one query."""
        self._tokens.retry()
        for feed in tuple(itertools.islice(self._seeking, _SOUGHT_PER_TICK)):
            self._seeking[feed] = self._seeking.pop(feed)  # to the end of the queue
            feed.look_again()
        levels = dict(filter(None, (feed.level for feed in self._by_thread.values())))
        if not levels:
            return
        async with asyncio.timeout(READ_TIMEOUT_S):
            versions = await self.reader.versions(tuple(levels))
        for thread_id, level in levels.items():
            found = self._by_thread.get(thread_id)
            if found is not None:
                self._heal(found, level, versions.get(thread_id))

    def _heal(self, feed: Feed, level: int, version: int | None) -> None:
        if version is None:
            feed.look_again()
        elif version < level:
            # No hint ever says this: the database lost commits, or was restored.
            feed.restart()
        elif feed.want(version):
            self.metrics.healed.inc()

    # ------------------------------------------------------------ what feeds ask for

    def found(self, feed: Feed, thread_id: str) -> int:
        """See ``FeedHost.found``."""
        self._by_thread[thread_id] = feed
        self._seeking.pop(feed, None)
        return self._heard.pop(thread_id, 0)

    def lost(self, feed: Feed, thread_id: str) -> None:
        """See ``FeedHost.lost``."""
        if self._by_thread.get(thread_id) is feed:
            del self._by_thread[thread_id]
            self._tokens.want(thread_id, wanted=False)
        if self._by_key.get(feed.key) is feed:
            self._seeking[feed] = None

    def emptied(self, feed: Feed, thread_id: str | None) -> None:
        """See ``FeedHost.emptied``."""
        if self._by_key.get(feed.key) is feed:
            del self._by_key[feed.key]
            self.metrics.feeds.dec()
        if thread_id is not None:
            self.lost(feed, thread_id)
        self._seeking.pop(feed, None)

    def want_tokens(self, thread_id: str, *, wanted: bool) -> None:
        """See ``FeedHost.want_tokens``."""
        self._tokens.want(thread_id, wanted=wanted)

    def refill(self, thread_id: str) -> None:
        """See ``FeedHost.refill``."""
        self._tokens.refill(thread_id)

    def _on_shown(self, thread_id: str, shown: Sequence[ShownText]) -> None:
        feed = self._by_thread.get(thread_id)
        if feed is not None:
            feed.refill(shown)

    def _look_at_strangers(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self.tasks.spawn(self._look_at_each(), "look at new threads")

    async def _look_at_each(self) -> None:
        try:
            while self._strangers and self._seeking:
                thread_id, version = self._strangers.popitem()
                async with self.reads, asyncio.timeout(READ_TIMEOUT_S):
                    seen = await self.reader.delta(thread_id, version, 1)
                feed = self._by_key.get(seen.thread.key) if seen is not None else None
                if feed is not None and feed.is_seeking:
                    feed.look_again()
        finally:
            self._is_looking = False
            self._strangers.clear()
