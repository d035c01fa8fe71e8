"""What the rings report, in the metrics of their process."""

from typing import cast

import pytest

from app.domain.ports import RunStore, Verdict
from app.domain.run import Ending, Fence
from app.telemetry.metered import metered_store
from app.telemetry.metrics import Metrics
from app.telemetry.observers import recovery_observer, step_observer


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"ropewalk_{name}", labels)


@pytest.mark.req("IMP-33")
def test_attempts_are_timed_and_those_after_the_first_counted() -> None:
    metrics = Metrics()
    observe = step_observer(metrics)

    observe("tool:charge:call_1", 0.5, 1)
    observe("tool:charge:call_1", 0.25, 2)
    observe("llm:turn:0", 1.0, 1)

    assert value(metrics, "step_seconds_count", kind="tool") == 2
    assert value(metrics, "step_seconds_sum", kind="tool") == 0.75
    assert value(metrics, "step_retries_total", kind="tool") == 1
    assert value(metrics, "step_retries_total", kind="llm") is None


@pytest.mark.req("IMP-33")
def test_recoveries_are_counted_and_timed() -> None:
    metrics = Metrics()
    observe = recovery_observer(metrics)

    observe(3, 2.25)
    observe(1, 2.0)

    assert value(metrics, "runs_recovered_total") == 4
    assert value(metrics, "recovery_seconds_count") == 2
    assert value(metrics, "recovery_seconds_sum") == 4.25


@pytest.mark.req("IMP-33")
def test_a_number_that_is_counted_elsewhere_is_read_when_it_is_asked_for() -> None:
    metrics, lost = Metrics(), [0]
    nothing = value(metrics, "rings_lost_total")
    metrics.rings_lost.set_function(lambda: lost[0])
    lost[0] = 3

    assert nothing == 0
    assert value(metrics, "rings_lost_total") == 3
    assert b"ropewalk_rings_lost_total 3.0" in metrics.expose()


class Store:
    """A store whose runs fail."""

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        return Verdict.DONE

    async def fail_overdue(self) -> int:
        return 2

    async def fail_unknown_agents(self, after: object) -> int:
        return 0


@pytest.mark.req("IMP-33", "RUN-14")
async def test_failures_are_counted_by_their_code() -> None:
    metrics = Metrics()
    store = metered_store(cast(RunStore, Store()), metrics)

    await store.finish(Fence("t", "r", 1), Ending.failed("MODEL_UNAVAILABLE", "away"), None)
    await store.finish(Fence("t", "r", 1), Ending.completed("final"), 1)
    await store.fail_overdue()

    assert value(metrics, "run_failures_total", code="MODEL_UNAVAILABLE") == 1
    assert value(metrics, "run_failures_total", code="TIMED_OUT") == 2
    assert value(metrics, "run_transitions_total", status="failed") == 3
    assert value(metrics, "run_failures_total", code="UNKNOWN_AGENT") is None
