"""What a feed needs of the gateway around it."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from app.domain.ports import Clock, ThreadReader
from app.gateway.metrics import GatewayMetrics
from app.gateway.tasks import Tasks

if TYPE_CHECKING:
    from app.gateway.feed import Feed


class FeedHost(Protocol):
    """Implemented by ``app.gateway.feeds``."""

    reader: ThreadReader
    tasks: Tasks
    clock: Clock
    metrics: GatewayMetrics
    reads: asyncio.Semaphore
    timeline: str

    def found(self, feed: "Feed", thread_id: str) -> int:
        """Note whose hints are the feed's; return the newest version that was heard of it."""
        ...

    def lost(self, feed: "Feed", thread_id: str) -> None:
        """Note that the feed seeks its thread again."""
        ...

    def emptied(self, feed: "Feed", thread_id: str | None) -> None:
        """Note that nobody watches any more."""
        ...

    def want_tokens(self, thread_id: str, *, wanted: bool) -> None:
        """Hear the thread's tokens, or hear them no more."""
        ...

    def refill(self, thread_id: str) -> None:
        """Have the text so far read again."""
        ...
