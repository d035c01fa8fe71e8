"""Feeds over threads that a test writes by hand, without sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.domain.cursor import Cursor
from app.domain.identity import ANONYMOUS, Identity
from app.gateway.feeds import Feeds
from app.gateway.metrics import GatewayMetrics
from app.gateway.outbox import Outbox
from app.gateway.queries import MessagesQuery, ThreadQueries, ThreadQuery
from app.gateway.subscription import AnySubscription, Subscription
from app.gateway.tasks import Tasks
from app.telemetry.metrics import Metrics
from app.testing.world import HandClock
from tests.support.client_view import ClientView
from tests.support.fake_tokens import FakeTokens
from tests.support.fake_wire import FakeViewer
from tests.support.memory_threads import CountingReader, MemoryThreads


class Watcher:
    """One viewer with one subscription; ``before`` is what it had when it came."""

    def __init__(
        self,
        world: "FeedWorld",
        viewer: FakeViewer,
        subscription: Subscription,
        before: ClientView | None,
    ) -> None:
        self._world = world
        self._before = before
        self.viewer = viewer
        self.wire = viewer.wire
        self.subscription = subscription

    @property
    def view(self) -> ClientView:
        """What a client has made of the frames so far."""
        return self.viewer.view(self.subscription.id, self._before)

    def leave(self) -> None:
        """Unsubscribe."""
        self.viewer.outbox.forget(self.subscription)
        self._world.feeds.leave(self.subscription)

    def become(self, identity: Identity) -> None:
        """Speak for somebody else."""
        self.viewer.identity = identity
        self._world.feeds.judge_again(self.subscription)

    def drain(self) -> None:
        """Read everything that was unread."""
        self.wire.is_stuck, self.wire.room = False, None
        self.viewer.outbox.drained()


class FeedWorld:
    """Threads, feeds and viewers (``Stragglers``)."""

    def __init__(self) -> None:
        self.threads = MemoryThreads()
        self.reader = CountingReader(self.threads)
        self.tokens = FakeTokens()
        self.tasks = Tasks()
        self.metrics = GatewayMetrics(Metrics())
        self.feeds = Feeds(self.reader, self.tokens, self.tasks, HandClock(), self.metrics)
        self.tokens.connect(self.feeds.on_token, self.feeds.on_gap)
        self.threads.on_hint = self.feeds.on_hint
        self.feeds.on_timeline("memory-1")
        self.behind: set[Outbox] = set()

    def fell_behind(self, outbox: Outbox) -> None:
        """See ``Stragglers.fell_behind``."""
        self.behind.add(outbox)

    def caught_up(self, outbox: Outbox) -> None:
        """See ``Stragglers.caught_up``."""
        self.behind.discard(outbox)

    def join_again(self, subscription: AnySubscription) -> None:
        """See ``Stragglers.join_again``."""
        assert isinstance(subscription, Subscription)
        self.feeds.join_again(subscription)

    def send_text(self, subscription: Subscription) -> None:
        """See ``Stragglers.send_text``."""
        self.feeds.send_text(subscription)

    def watch(
        self,
        query: str | ThreadQueries,
        *,
        id_: str = "s",
        cursor: str | None = None,
        before: ClientView | None = None,
        identity: Identity = ANONYMOUS,
        viewer: FakeViewer | None = None,
    ) -> Watcher:
        """Subscribe; a bare key stands for its messages."""
        viewer = viewer or FakeViewer(self, identity)
        asked = MessagesQuery(query, 50, stream=True) if isinstance(query, str) else query
        cursor = before.cursor if before is not None else cursor
        resumes = Cursor.parse(cursor) if cursor is not None else None
        subscription = Subscription(id_, asked, resumes, viewer)
        self.feeds.join(subscription)
        return Watcher(self, viewer, subscription, before)

    def watch_thread(self, key: str, *, identity: Identity = ANONYMOUS) -> Watcher:
        """Subscribe to the thread itself."""
        return self.watch(ThreadQuery(key), identity=identity)

    async def settle(self) -> None:
        """Let everything happen that is going to."""
        await self.tasks.ended(within_s=5)
        assert len(self.tasks) == 0, "feeds do not come to rest"


@asynccontextmanager
async def feed_world() -> AsyncIterator[FeedWorld]:
    """Make a world, and leave no task behind."""
    world = FeedWorld()
    try:
        yield world
    finally:
        await world.tasks.close()
