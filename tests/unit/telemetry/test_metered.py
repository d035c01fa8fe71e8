"""Ports that are measured behave as they did, and what passes through them is counted."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from app.domain.approval import approval_step
from app.domain.ports import ClaimedRun, Doorbell, Journal, RunStore, Serves, Verdict
from app.domain.run import Ending, Fence, Run, RunStatus, Waits
from app.domain.thread import Thread, ThreadStatus
from app.telemetry.metered import metered_doorbell, metered_journal, metered_store
from app.telemetry.metrics import Metrics

FENCE = Fence("t", "r", 1)


class Store:
    """Answers as a store does whose every call succeeds."""

    async def claim(self, worker: str, agents: Sequence[str], limit: int) -> list[ClaimedRun]:
        queued = datetime.now(UTC) - timedelta(seconds=3)
        run = Run(
            *("r", "t", "support", RunStatus.RUNNING),
            attempts=1,
            created_at=queued - timedelta(hours=1),
            queued_at=queued,
        )
        thread = Thread("t", "k", "support", ThreadStatus.RUNNING, "r", 1, 1, 1, 0)
        return [ClaimedRun(run, thread)]

    async def park(self, fence: Fence, seen: int, waits: Waits) -> Verdict:
        return Verdict.DONE

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        return Verdict.MOVED if seen == 0 else Verdict.DONE


class BrokenJournal:
    """A journal whose server is gone."""

    async def drop(self, thread_id: str, epoch: int) -> None:
        raise ConnectionError("gone")


def _count(metrics: Metrics, status: RunStatus) -> float:
    labels = {"status": status.value}
    return metrics.registry.get_sample_value("ropewalk_run_transitions_total", labels) or 0.0


@pytest.mark.req("IMP-33")
async def test_runs_are_counted_by_the_status_they_went_to() -> None:
    metrics = Metrics()
    store = metered_store(cast(RunStore, Store()), metrics)

    await store.claim("w", Serves.of("support"), 5)
    await store.park(FENCE, 1, Waits.for_all([approval_step("c1")]))
    await store.park(FENCE, seen=1, waits=Waits.for_all(["timer:t"]))
    await store.finish(FENCE, Ending.completed("final"), 0)
    await store.finish(FENCE, Ending.completed("final"), 1)

    assert _count(metrics, RunStatus.RUNNING) == 1
    assert _count(metrics, RunStatus.AWAITING_INPUT) == 1
    assert _count(metrics, RunStatus.WAITING) == 1
    assert _count(metrics, RunStatus.COMPLETED) == 1, "a finish that has to look again is no end"


async def test_the_claim_lag_is_what_a_run_waited_once_its_thread_was_free() -> None:
    metrics = Metrics()

    await metered_store(cast(RunStore, Store()), metrics).claim("w", Serves.of("support"), 5)

    total = metrics.registry.get_sample_value("ropewalk_claim_lag_seconds_sum")
    assert total == pytest.approx(3, abs=1)


async def test_a_call_that_fails_is_timed_and_its_error_passes_through() -> None:
    metrics = Metrics()
    journal = metered_journal(cast(Journal, BrokenJournal()), metrics)

    with pytest.raises(ConnectionError):
        await journal.drop("t", 1)

    labels = {"call": "drop"}
    assert metrics.registry.get_sample_value("ropewalk_journal_seconds_count", labels) == 1


async def test_each_ring_is_a_run_that_became_queued() -> None:
    rung: list[str] = []

    class Bell:
        async def ring(self, run_id: str) -> None:
            rung.append(run_id)

    metrics = Metrics()
    bell: Doorbell = metered_doorbell(Bell(), metrics)

    await bell.ring("r1")

    assert rung == ["r1"]
    assert _count(metrics, RunStatus.QUEUED) == 1


def test_two_processes_in_one_share_no_counter() -> None:
    one, other = Metrics(), Metrics()

    one.runs.labels("queued").inc()

    assert _count(other, RunStatus.QUEUED) == 0
    assert b"ropewalk_run_transitions_total" in one.expose()
