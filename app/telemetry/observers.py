"""What the rings that know no metrics call when something happened to them."""

from collections.abc import Callable
from typing import Protocol

from app.telemetry.metrics import Metrics


class ObserveStep(Protocol):
    """Called when a body has ended, however it ended."""

    def __call__(self, step: str, seconds: float, attempt: int = 1) -> None:
        """Take note of one attempt; ``attempt`` counts from 1."""
        ...


def step_observer(metrics: Metrics) -> ObserveStep:
    """Return what times bodies by the kind of their step, and counts those tried again."""

    def observe(step: str, seconds: float, attempt: int = 1) -> None:
        kind = step.partition(":")[0]
        metrics.steps.labels(kind).observe(seconds)
        if attempt > 1:
            metrics.step_retries.labels(kind).inc()

    return observe


def recovery_observer(metrics: Metrics) -> Callable[..., None]:
    """Return what counts runs that were taken over from a dead worker.

    It is called with how many, and with the seconds from the last beat that was read to the
    moment when they were queued again, if the caller knows.
    """

    def observe(runs: int, silent_s: float | None = None) -> None:
        metrics.recovered.inc(runs)
        if silent_s is not None:
            metrics.recovery.observe(silent_s)

    return observe
