"""One read of a thread, encoded once however many sockets it goes to."""

from collections.abc import Sequence

from app.domain.cursor import Cursor
from app.domain.message import Message
from app.domain.ports import ThreadSnapshot
from app.gateway.bodies import (
    delta_frame,
    json_bytes,
    message_bytes,
    rows_value,
    snapshot_frame,
    thread_bytes,
    upserts,
)
from app.gateway.queries import MessagesQuery, StateQuery, ThreadQueries, ValueQuery
from app.gateway.subscription import Subscription


class Reading:
    """A thread as of one version, on its way to the wire.

    ``state`` is the JSON of the synced state, read after the snapshot if anybody asks for it.
    It may be newer than the version says; then a later reading finds it unchanged.
    """

    def __init__(self, snapshot: ThreadSnapshot, timeline: str, state: bytes | None) -> None:
        self.snapshot = snapshot
        self.version = snapshot.thread.version
        self.cursor = Cursor(timeline, self.version)
        self._rows: dict[str, bytes] = {}
        self._thread: bytes | None = None
        self._state = state

    def answers(self, query: ThreadQueries) -> bool:
        """Return whether what the query asks for was read."""
        return self._state is not None or not isinstance(query, StateQuery)

    def value_of(self, query: ValueQuery) -> bytes:
        """Return what a query that is no list answers, as JSON."""
        if isinstance(query, StateQuery):
            return query.empty if self._state is None else self._state
        if self._thread is None:
            self._thread = thread_bytes(self.snapshot)
        return self._thread

    def ops_after(self, version: int) -> bytes | None:
        """Return the ops that bring what changed after ``version``; ``None`` for nothing."""
        rows = self._encoded([row for row in self.snapshot.messages if row.version > version])
        return upserts(rows) if rows else None

    def whole(self, subscription: Subscription) -> bytes:
        """Return the frame with the whole value that this subscription asks for."""
        query = subscription.query
        if isinstance(query, MessagesQuery):
            value = rows_value(self._encoded(self.snapshot.messages[-query.limit :]))
        else:
            value = self.value_of(query)
        return snapshot_frame(json_bytes(subscription.id), self.cursor, value)

    def rest(self, subscription: Subscription, since: Cursor) -> bytes:
        """Return the frame that takes a subscription from its cursor to here."""
        ops = self.ops_after(since.version) or b"[]"
        return delta_frame(json_bytes(subscription.id), since, self.cursor, ops)

    def _encoded(self, rows: Sequence[Message]) -> list[bytes]:
        for row in rows:
            if row.id not in self._rows:
                self._rows[row.id] = message_bytes(row)
        return [self._rows[row.id] for row in rows]
