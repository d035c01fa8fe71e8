"""What is stored of a run, read for a telling: its rows, what people refused, how it ended."""

from collections.abc import Callable, Sequence
from typing import Final

from app.dialects.events import Ending, Refusal, Row
from app.domain.approval import ApprovalStatus
from app.domain.ports import ThreadReader
from app.domain.run import Run, RunStatus
from app.threads.limits import PAGE_LIMIT_MAX
from app.threads.views import approval_view, message_view

MAX_PAGES: Final = 10
"""Of rows that are told at once: the newest 2,000 of a thread."""


async def newest_rows(
    reader: ThreadReader, thread_id: str, is_enough: Callable[[Sequence[Row]], bool]
) -> list[Row]:
    """Return a thread's rows, oldest first, from the newest back until they are enough."""
    rows: list[Row] = []
    before: int | None = None
    for _ in range(MAX_PAGES):
        page = await reader.page(thread_id, before, PAGE_LIMIT_MAX)
        rows[:0] = [message_view(each) for each in page]
        if len(page) < PAGE_LIMIT_MAX or is_enough(rows):
            break
        before = page[0].seq
    return rows


async def rows_of_run(reader: ThreadReader, thread_id: str, run_id: str) -> list[Row]:
    """Return all rows of a run, which follow one another."""

    def has_its_first(rows: Sequence[Row]) -> bool:
        return rows[0]["runId"] != run_id and any(row["runId"] == run_id for row in rows)

    rows = await newest_rows(reader, thread_id, has_its_first)
    return [row for row in rows if row["runId"] == run_id]


async def refusals(reader: ThreadReader, key: str, calls: Sequence[str]) -> dict[str, Refusal]:
    """Return which of these calls a person has refused; a run below names its calls anew."""
    if not calls:
        return {}
    found = await reader.approvals(key=key, everything=True, calls=calls)
    return {
        each.tool_call_id: Refusal(each.id, each.reason)
        for each in found
        if each.status is ApprovalStatus.DENIED and each.thread_key == key
    }


async def ending_of(reader: ThreadReader, key: str, run_id: str) -> Ending | None:
    """Return how a telling of the run ends by now; ``None`` while it is at work.

    A run that waits for people ends a telling: they answer in the next one.
    """
    run = await reader.run(run_id)
    if run is None:
        return Ending("cancelled")
    if run.status is not RunStatus.AWAITING_INPUT:
        return _ended(run)
    snapshot = await reader.snapshot(key, 0)
    if snapshot is None or snapshot.run_id != run_id or not snapshot.approvals:
        return None  # decided by now
    return Ending("parked", approvals=tuple(approval_view(each) for each in snapshot.approvals))


def _ended(run: Run) -> Ending | None:
    match run.status:
        case RunStatus.COMPLETED:
            return Ending("completed", stopped=run.stopped, output=run.output)
        case RunStatus.CANCELLED:
            return Ending("cancelled")
        case RunStatus.FAILED:
            code = run.error.code if run.error else "INTERNAL"
            message = run.error.message if run.error else "the run failed"
            return Ending("failed", code=code, message=message)
        case _:
            return None
