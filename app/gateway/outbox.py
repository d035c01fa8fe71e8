"""What one socket is owed and could not take yet.  Bounded, and empty for nearly all.

The order of giving way, when a reader is slow: token deltas are left out and sent joined
when it has caught up; then a subscription is taken out of its group and gets one
snapshot instead of all it missed; answers to calls are kept, up to a bound; and a reader
that does not catch up in time is closed with 1013.  Nobody else waits for it at any point.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from app.gateway.subscription import AnySubscription, Subscription
from app.gateway.wire import Wire
from app.protocol.errors import CLOSE_SLOW

MAX_REPLIES = 256
MAX_REPLY_BYTES = 1024 * 1024
"""Answers that are kept for a slow reader; more of them close it."""

_AT_ONCE = 8
"""Subscriptions that join again at a time, so that their snapshots fit into the socket."""


class Stragglers(Protocol):
    """Knows the sockets that are behind, and what brings a subscription up to date."""

    def fell_behind(self, outbox: "Outbox") -> None:
        """Begin to count the time."""
        ...

    def caught_up(self, outbox: "Outbox") -> None:
        """Stop counting."""
        ...

    def join_again(self, subscription: AnySubscription) -> None:
        """Answer it with a snapshot."""
        ...

    def send_text(self, subscription: Subscription) -> None:
        """Send the live text from its marks on."""
        ...


@dataclass(slots=True)
class _Backlog:
    replies: deque[bytes] = field(default_factory=deque)
    reply_bytes: int = 0
    stale: dict[AnySubscription, None] = field(default_factory=dict)
    joining: set[AnySubscription] = field(default_factory=set)
    is_joining: bool = False
    """Whether the loop that brings ``stale`` to ``joining`` is at work."""
    unspoken: dict[Subscription, None] = field(default_factory=dict)


class Outbox:
    """The way out of one socket."""

    __slots__ = ("_backlog", "_stragglers", "wire")

    def __init__(self, wire: Wire, stragglers: Stragglers) -> None:
        self.wire = wire
        self._stragglers = stragglers
        self._backlog: _Backlog | None = None

    def reply(self, frame: bytes) -> None:
        """Send what must not be lost while the socket lives: answers, errors."""
        if (self._backlog is None or not self._backlog.replies) and self.wire.push(frame):
            return
        if not self.wire.is_open:
            return
        backlog = self._behind()
        backlog.replies.append(frame)
        backlog.reply_bytes += len(frame)
        if len(backlog.replies) > MAX_REPLIES or backlog.reply_bytes > MAX_REPLY_BYTES:
            self.give_up()

    def missed_fact(self, subscription: AnySubscription) -> None:
        """See ``Slow.missed_fact``."""
        if not self.wire.is_open:
            return
        backlog = self._behind()
        backlog.stale[subscription] = None
        backlog.joining.discard(subscription)
        if isinstance(subscription, Subscription):
            backlog.unspoken.pop(subscription, None)

    def missed_token(self, subscription: Subscription) -> None:
        """See ``Slow.missed_token``."""
        if self.wire.is_open:
            self._behind().unspoken[subscription] = None

    def answered(self, subscription: AnySubscription) -> None:
        """See ``Slow.answered``."""
        if self._backlog is not None and subscription in self._backlog.joining:
            self._backlog.joining.remove(subscription)
            self._join_again(self._backlog)

    def forget(self, subscription: AnySubscription) -> None:
        """Owe nothing to a subscription that has ended."""
        if self._backlog is not None:
            self._backlog.stale.pop(subscription, None)
            if isinstance(subscription, Subscription):
                self._backlog.unspoken.pop(subscription, None)
            self.answered(subscription)

    def drained(self) -> None:
        """Send what is owed, as far as the reader takes it."""
        backlog = self._backlog
        if backlog is None:
            return
        self._stragglers.caught_up(self)
        while backlog.replies:
            if not self.wire.push(backlog.replies[0]):
                self._stragglers.fell_behind(self)
                return
            backlog.reply_bytes -= len(backlog.replies.popleft())
        unspoken, backlog.unspoken = backlog.unspoken, {}
        for subscription in unspoken:
            self._stragglers.send_text(subscription)
        self._join_again(backlog)

    def give_up(self) -> None:
        """Close a socket whose reader is too slow."""
        self.wire.close(CLOSE_SLOW, "the reader is too slow")
        self._backlog = None
        self._stragglers.caught_up(self)

    def _behind(self) -> _Backlog:
        self._stragglers.fell_behind(self)
        if self._backlog is None:
            self._backlog = _Backlog()
        return self._backlog

    def _join_again(self, backlog: _Backlog) -> None:
        """Let those that are stale join, a few at a time, while the reader takes it.

        What is known is answered from within ``join_again``: ``answered`` then leaves the next
        one to this loop, and one that is stale again at once waits until ``drained``.
        """
        if backlog.is_joining:
            return
        backlog.is_joining = True
        try:
            while backlog.stale and len(backlog.joining) < _AT_ONCE:
                subscription = next(iter(backlog.stale))
                del backlog.stale[subscription]
                backlog.joining.add(subscription)
                self._stragglers.join_again(subscription)
                if subscription in backlog.stale:
                    break
        finally:
            backlog.is_joining = False
        if not (backlog.replies or backlog.stale or backlog.joining or backlog.unspoken):
            self._backlog = None
