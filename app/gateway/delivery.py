"""Sends what a feed has read to those who watch, and notes who could not take it."""

from app.domain.cursor import Cursor
from app.domain.ports import Clock
from app.gateway.bodies import delta_frame, json_bytes, snapshot_frame
from app.gateway.group import Group
from app.gateway.metrics import GatewayMetrics
from app.gateway.queries import MessagesQuery
from app.gateway.reading import Reading
from app.gateway.roster import Roster
from app.gateway.speech import Speech
from app.gateway.subscription import Subscription


class Delivery:
    """The way from a reading to the subscriptions of one feed."""

    __slots__ = ("_clock", "_metrics", "_roster", "_speech")

    def __init__(
        self, roster: Roster, speech: Speech, metrics: GatewayMetrics, clock: Clock
    ) -> None:
        self._roster = roster
        self._speech = speech
        self._metrics = metrics
        self._clock = clock

    def pass_on(self, changes: Reading, since: int) -> None:
        """Send the members what changed after version ``since``.

        A delta begins at the cursor of its group's last frame, so versions that did not
        concern a list leave no gap in it.
        """
        ops = changes.ops_after(since)
        for group in tuple(self._roster.lists()) if ops is not None else ():
            if ops is not None and group.cursor.version < changes.version:
                frame = delta_frame(group.id, group.cursor, changes.cursor, ops)
                group.cursor = changes.cursor
                self._metrics.deltas.inc(len(group.members))
                self._send(group, frame)
        self.pass_on_value(changes)
        if changes.version > since:
            self._observe_lag(changes)

    def pass_on_value(self, reading: Reading) -> None:
        """Send the members of value queries the value, if it is another one."""
        for group in tuple(self._roster.groups.values()):
            if isinstance(group.query, MessagesQuery):
                continue
            value = reading.value_of(group.query)
            if group.value != value:
                group.value = value
                group.cursor = reading.cursor
                self._metrics.snapshots.inc(len(group.members))
                self._send(group, snapshot_frame(group.id, reading.cursor, value))

    def answer(self, subscription: Subscription, frame: bytes, reading: Reading) -> None:
        """Send a subscription its answer; from then on it gets what its group gets."""
        if not subscription.push(frame):
            self._set_back(subscription)
            return
        query = subscription.query
        value = None if isinstance(query, MessagesQuery) else reading.value_of(query)
        self._roster.admit(subscription, reading.cursor, value)
        self._speech.welcome(subscription)
        self._metrics.answers.inc()
        subscription.viewer.outbox.answered(subscription)

    def answer_empty(self, subscription: Subscription, timeline: str) -> None:
        """Answer as if there were no such thread."""
        cursor = Cursor(timeline, 0)
        frame = snapshot_frame(json_bytes(subscription.id), cursor, subscription.query.empty)
        if not subscription.push(frame):
            self._set_back(subscription)
            return
        self._roster.turn_away(subscription)
        self._metrics.answers.inc()
        subscription.viewer.outbox.answered(subscription)

    def _send(self, group: Group, frame: bytes) -> None:
        for subscription in group.send_fact(frame):
            self._set_back(subscription)

    def _set_back(self, subscription: Subscription) -> None:
        """Take a slow reader out of the way; it joins again when it has caught up."""
        self._roster.set_back(subscription)
        self._metrics.slow.labels("snapshot").inc()
        subscription.viewer.outbox.missed_fact(subscription)

    def _observe_lag(self, changes: Reading) -> None:
        written_at = changes.snapshot.thread.updated_at
        if self._roster.groups and written_at is not None:
            # Two clocks meet here, the database's and ours: a skew must not read as negative.
            lag_s = self._clock.unix_ms() / 1000 - written_at.timestamp()
            self._metrics.wire_lag.observe(max(0.0, lag_s))
