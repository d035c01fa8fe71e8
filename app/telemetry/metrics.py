"""The metrics of one process, on a registry of its own.

Built once by the composition root and handed down, so that two servers in one
process (tests, the harness) never share a counter.  Names follow Prometheus's
conventions; ``docs/deployment.md`` says what each is for and when to worry.
"""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from app.telemetry.read_counter import ReadCounter

_FAST = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: what takes one round trip, or a few."""

_SLOW = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Seconds: what waits for a model, a tool or a free worker."""


class Metrics:
    """Every metric there is.  Attributes are the families; each names its labels."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

        self.runs = self._counter("run_transitions", "Runs by the status they went to.", "status")
        self.claim_lag = self._slow(
            "claim_lag_seconds", "From the moment a run may begin to its first claim."
        )
        self.failures = self._counter("run_failures", "Runs that failed, by error code.", "code")
        self.unfinished = self._gauge("runs_unfinished", "Unfinished runs, by status.", "status")
        self.queue_age = self._gauge("queue_oldest_seconds", "Age of the oldest queued run.")
        self.workers = self._gauge("workers", "Workers that are registered and have not left.")
        self.recovered = self._counter("runs_recovered", "Runs taken over from dead workers.")
        self.recovery = self._slow(
            "recovery_seconds", "From a dead worker's last beat that was read to its takeover."
        )
        self.drives = self._gauge("drives", "Runs that this process drives.")
        self.steps = self._slow(
            "step_seconds", "One attempt at a step's body, by kind (llm, tool, ...).", "kind"
        )
        self.step_retries = self._counter(
            "step_retries", "Attempts at a step's body after the first, by kind.", "kind"
        )
        self.store = self._fast("store_seconds", "Postgres, by what was asked of it.", "call")
        self.journal = self._fast("journal_seconds", "The journal in Redis, by call.", "call")
        self.rings_lost = self._read_counter("rings_lost", "Doorbell rings Redis did not take.")
        self.hints_dropped = self._read_counter(
            "hints_dropped", "Changes not announced because too many waited."
        )
        self.token_flushes = self._read_counter(
            "token_flushes", "Batches of live text sent to Redis."
        )
        self.token_flushes_failed = self._read_counter(
            "token_flushes_failed", "Batches of live text that Redis did not answer."
        )
        self.sockets = self._gauge("sockets", "Open sockets.")
        self.feeds = self._gauge("feeds", "Threads that some socket watches.")
        self.wire_lag = self._fast(
            "wire_lag_seconds", "From a change's commit to the sockets that watch it."
        )
        self.functions = self._fast(
            "function_seconds", "Functions; outcome is ok or the error's code.", "ref", "outcome"
        )
        self.requests = self._fast(
            "http_seconds", "HTTP requests, by route and status.", "method", "route", "status"
        )
        self.calls_refused = self._read_counter(
            "calls_refused", "Calls and requests above their caller's limit."
        )
        self.calls_uncounted = self._read_counter(
            "calls_uncounted", "Calls and requests let pass because Redis did not count them."
        )

    def expose(self) -> bytes:
        """Return everything in Prometheus's text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"ropewalk_{name}", meaning, labels, registry=self.registry)

    def _read_counter(self, name: str, meaning: str) -> ReadCounter:
        return ReadCounter(f"ropewalk_{name}", meaning, self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"ropewalk_{name}", meaning, labels, registry=self.registry)

    def _fast(self, name: str, meaning: str, *labels: str) -> Histogram:
        return Histogram(f"ropewalk_{name}", meaning, labels, buckets=_FAST, registry=self.registry)

    def _slow(self, name: str, meaning: str, *labels: str) -> Histogram:
        return Histogram(f"ropewalk_{name}", meaning, labels, buckets=_SLOW, registry=self.registry)
