"""What the in-memory stores share: rows in dictionaries, and the one lock.

A coroutine that does not await is a transaction: nothing can come in between.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from app.domain.approval import Approval, ApprovalStatus
from app.domain.message import Message
from app.domain.ports import ThreadSnapshot
from app.domain.run import LIVE, Fence, Released, Run, RunEvent, RunStatus, Waits, advance
from app.domain.thread import Thread, shown_status


@dataclass(slots=True)
class MemoryDatabase:
    """The rows.  ``now`` is the database's clock."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    threads: dict[str, Thread] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    waits: dict[str, Waits] = field(default_factory=dict)
    queued_at: dict[str, datetime] = field(default_factory=dict)
    steps: dict[str, dict[str, tuple[int | None, str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    messages: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    keys: dict[str, int] = field(default_factory=dict)
    """Place in ``messages`` by message key; a key names its run, and so its thread."""
    approvals: dict[tuple[str, str], Approval] = field(default_factory=dict)
    """By thread and tool call."""
    workers: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    """Beat and agents."""

    async def turn(self) -> None:
        """Let others run, as a round trip would."""
        await asyncio.sleep(0)

    def by_key(self, key: str) -> Thread | None:
        """Return the thread with this key."""
        return next((thread for thread in self.threads.values() if thread.key == key), None)

    def holder(self, fence: Fence) -> Thread | None:
        """Return the thread if it has exactly this live run and epoch."""
        thread = self.threads.get(fence.thread_id)
        if thread is None or (thread.live_run, thread.epoch) != (fence.run_id, fence.epoch):
            return None
        return thread

    def move(self, run: Run, event: RunEvent, **changes: object) -> Thread:
        """Move a run and its thread by one event; every move is a visible change."""
        change = advance(run.status, event)
        moved: Run = replace(run, status=change.status, **changes)  # type: ignore[arg-type]  # field names
        self.runs[run.id] = moved
        if change.status is RunStatus.QUEUED is not run.status and not isinstance(event, Released):
            self.queued_at[run.id] = self.now()
        thread = self.threads[run.thread_id]
        return self.put(
            replace(
                thread,
                status=shown_status(change.status),
                live_run=run.id if change.status in LIVE else None,
                epoch=thread.epoch + change.epoch,
                wakes=thread.wakes + change.wakes,
                version=thread.version + 1,
            )
        )

    def put(self, thread: Thread) -> Thread:
        """Store a thread's row."""
        self.threads[thread.id] = replace(thread, updated_at=self.now())
        return self.threads[thread.id]

    def pending(self, thread_id: str) -> list[Approval]:
        """Return the thread's undecided approvals, oldest first."""
        return [
            approval
            for (owner, _), approval in self.approvals.items()
            if owner == thread_id and approval.status is ApprovalStatus.PENDING
        ]

    def snapshot(
        self, thread: Thread, messages: list[Message], *, complete: bool
    ) -> ThreadSnapshot:
        """Return what a reader sees of a thread at this moment."""
        live = self.runs[thread.live_run].status if thread.live_run else None
        newest = [run for run in self.runs.values() if run.thread_id == thread.id]
        return ThreadSnapshot(
            thread,
            messages,
            self.pending(thread.id),
            live_status=live,
            stopped=newest[-1].stopped if newest else None,
            complete=complete,
        )

    def waited(self, run_id: str) -> timedelta:
        """Return for how long a queued run has waited."""
        return self.now() - self.queued_at[run_id]
