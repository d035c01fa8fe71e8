"""A thread as it is stored: the one row that everything about a conversation locks."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from app.domain.run import FINAL, RunError, RunStatus, Usage


class ThreadStatus(StrEnum):
    """What people see of a thread's newest run."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_INPUT = "awaiting_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def shown_status(run: RunStatus) -> ThreadStatus:
    """Return what a thread shows while its run has this status.

    A run that waits for a machine (child, event, timer) is at work for a person.
    """
    match run:
        case RunStatus.PENDING:
            return ThreadStatus.QUEUED
        case RunStatus.WAITING:
            return ThreadStatus.RUNNING
        case _:
            return ThreadStatus(run.value)


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation.

    Attributes:
        live_run: the unfinished run, or ``None`` when a new one may start.
        epoch: the fencing number; see ``app.domain.run``.
        seq: the place of the newest message, 0 before the first.
        version: the change number; each row keeps the version that last changed it.
        wakes: the count of facts stored for the thread.
    """

    id: str
    key: str
    agent: str
    status: ThreadStatus
    live_run: str | None
    epoch: int
    seq: int
    version: int
    wakes: int
    owner: str | None = None
    title: str | None = None
    usage: Usage = field(default_factory=Usage)
    error: RunError | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no run is unfinished."""
        return self.live_run is None and self.status in {shown_status(status) for status in FINAL}
