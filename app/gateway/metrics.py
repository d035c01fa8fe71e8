"""The gateway's own counters, beside those that ``app.telemetry`` declares for everybody."""

from prometheus_client import Counter, Gauge

from app.telemetry.metrics import Metrics


class GatewayMetrics:
    """What an operator sees of the gateway.  ``shared`` are the metrics of the process."""

    def __init__(self, shared: Metrics) -> None:
        self.sockets = shared.sockets
        self.feeds = shared.feeds
        self.wire_lag = shared.wire_lag
        frames = Counter(
            "ropewalk_frames",
            "Frames written to sockets, by type; one per socket.",
            ("type",),
            registry=shared.registry,
        )
        self.answers = frames.labels("answer")
        """What a ``subscribe`` is answered with: a snapshot, or a delta."""
        self.snapshots = frames.labels("snapshot")
        self.deltas = frames.labels("delta")
        self.tokens = frames.labels("token")
        self.slow = Counter(
            "ropewalk_slow_readers",
            "Readers that did not keep up: a fact that waits for a snapshot, a socket closed.",
            ("outcome",),
            registry=shared.registry,
        )
        self.live_queries = Gauge(
            "ropewalk_live_queries",
            "Different queries of the team's functions that somebody watches.",
            registry=shared.registry,
        )
        self.queries = Counter(
            "ropewalk_queries",
            "Askings of watched queries, by what came of them: pushed, unchanged, failed.",
            ("outcome",),
            registry=shared.registry,
        )
        self.missed_writes = Counter(
            "ropewalk_missed_writes",
            "Tables that the reconcile tick found written without a word: by other programs, or "
            "by a process that died before it said so.",
            registry=shared.registry,
        )
        self.healed = Counter(
            "ropewalk_feeds_healed",
            "Feeds that the reconcile tick found behind: hints that were lost or late.",
            registry=shared.registry,
        )
