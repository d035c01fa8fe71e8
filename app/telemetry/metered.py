"""Ports, measured from outside.

Everything that matters to an operator passes through the ports of the domain, so
it is counted there: no ring above has a metric in its code, and a store that is
wrapped behaves exactly as it did.
"""

import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, TypeVar, cast

from prometheus_client import Histogram

from app.domain.ports import ClaimedRun, Doorbell, Journal, RunStore, Verdict
from app.domain.run import Ending, Run, RunStatus, Waits
from app.telemetry.metrics import Metrics

Port = TypeVar("Port")
Seen = Callable[[str, tuple[Any, ...], object], None]
"""Called with a call's name, its arguments and its result after it succeeded."""


_SWEPT = {
    "fail_overdue": "TIMED_OUT",
    "fail_unknown_agents": "UNKNOWN_AGENT",
    "fail_poison": "POISON",
}
"""How runs fail that a sweeper ends."""


def metered_store(store: RunStore, metrics: Metrics) -> RunStore:
    """Return ``store``, timed, with the runs that it moves counted by their new status."""

    def seen(call: str, arguments: tuple[Any, ...], result: object) -> None:
        match call, result:
            case "claim", list():
                _count_claims(metrics, cast(list[ClaimedRun], result))
            case "park", Verdict.DONE:
                waits = next(each for each in arguments if isinstance(each, Waits))
                parked = RunStatus.AWAITING_INPUT if waits.awaits_input else RunStatus.WAITING
                metrics.runs.labels(parked.value).inc()
            case "finish", Verdict.DONE:
                ending = next(each for each in arguments if isinstance(each, Ending))
                metrics.runs.labels(ending.status.value).inc()
                if ending.error is not None:
                    metrics.failures.labels(ending.error.code).inc()
            case "cancel", Run():
                metrics.runs.labels(RunStatus.CANCELLED.value).inc()
            case by, int(failed) if failed and by in _SWEPT:
                metrics.runs.labels(RunStatus.FAILED.value).inc(failed)
                metrics.failures.labels(_SWEPT[by]).inc(failed)
            case _:
                pass

    return _timed(store, metrics.store, seen)


def metered_journal(journal: Journal, metrics: Metrics) -> Journal:
    """Return ``journal``, timed."""
    return _timed(journal, metrics.journal, _ignore)


def metered_doorbell(doorbell: Doorbell, metrics: Metrics) -> Doorbell:
    """Return ``doorbell``, with its rings counted: each is a run that became queued."""
    queued = metrics.runs.labels(RunStatus.QUEUED.value)

    class Counted:
        async def ring(self, run_id: str) -> None:
            queued.inc()
            await doorbell.ring(run_id)

    return Counted()


def _count_claims(metrics: Metrics, claimed: list[ClaimedRun]) -> None:
    metrics.runs.labels(RunStatus.RUNNING.value).inc(len(claimed))
    now = datetime.now(UTC)
    for each in claimed:
        if each.run.attempts == 1 and each.run.queued_at is not None:
            # Two clocks meet here, the database's and ours: a skew must not read as negative.
            metrics.claim_lag.observe(max(0.0, (now - each.run.queued_at).total_seconds()))


def _ignore(call: str, arguments: tuple[Any, ...], result: object) -> None:
    """See nothing."""


def _timed(port: Port, histogram: Histogram, seen: Seen) -> Port:
    return cast(Port, _Timed(port, histogram, seen))


class _Timed:
    """Stands for a port; each coroutine method is timed under its name, failures included."""

    def __init__(self, port: object, histogram: Histogram, seen: Seen) -> None:
        self._port = port
        self._histogram = histogram
        self._seen = seen

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the port has there
        found = getattr(self._port, name)
        if not inspect.iscoroutinefunction(found):
            return found
        # Kept as an attribute of its own, so that this method runs once per name.
        timed = self._time(name, found)
        setattr(self, name, timed)
        return timed

    def _time(
        self, name: str, method: Callable[..., Awaitable[object]]
    ) -> Callable[..., Awaitable[object]]:
        observe = self._histogram.labels(name).observe
        seen = self._seen

        async def timed(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401  # the port's own
            begun = perf_counter()
            try:
                result = await method(*args, **kwargs)
            finally:
                observe(perf_counter() - begun)
            seen(name, (*args, *kwargs.values()), result)
            return result

        return timed
