"""What the rings that know no metrics call when something happened to them."""

from collections.abc import Callable

from app.telemetry.metrics import Metrics


def step_observer(metrics: Metrics) -> Callable[[str, float, int], None]:
    """Return what times bodies by the kind of their step, and counts those tried again."""

    def observe(step: str, seconds: float, attempt: int) -> None:
        kind = step.partition(":")[0]
        metrics.steps.labels(kind).observe(seconds)
        if attempt > 1:
            metrics.step_retries.labels(kind).inc()

    return observe


def recovery_observer(metrics: Metrics) -> Callable[[int, float], None]:
    """Return what counts runs that were taken over from a dead worker.

    It is called with how many, and with the seconds from the last beat that was read to the
    moment when they were queued again.
    """

    def observe(runs: int, silent_s: float) -> None:
        metrics.recovered.inc(runs)
        metrics.recovery.observe(silent_s)

    return observe
