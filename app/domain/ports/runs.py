"""The write side of runs and their threads, and what goes in and out of it.

Laws that every ``RunStore`` keeps:

* whoever changes anything of a run, its messages, approvals or thread locks the
  thread's row first, in a READ COMMITTED transaction, and reads the rest in a
  later statement;
* a write that does not name the live run and exactly its epoch changes nothing;
* a committed change raises the thread's ``version`` and is announced after the
  commit, never before;
* a run that becomes ``queued`` rings the doorbell after the commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Protocol

from app.domain.approval import Approval, Decision
from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.record import Record
from app.domain.run import Ending, Fence, Run, Waits
from app.domain.storable import Json
from app.domain.thread import Thread


@dataclass(frozen=True, slots=True)
class StartRun:
    """A run to start on a thread, which is made if there is none with this key.

    Attributes:
        owner: the identity that a *new* thread belongs to; an existing thread with
            an owner answers only to a start with the same one (or ``as_admin``).
        parts: JSON of the user's message parts; ``author`` is who wrote it.
        dedupe: the client's key for this send; it comes back on the message.
    """

    run_id: str
    thread_id: str
    message_id: str
    thread_key: str
    agent: str
    parts: str
    owner: str | None = None
    author: str | None = None
    title: str | None = None
    dedupe: str | None = None
    policy: Mapping[str, Json] = field(default_factory=dict)
    as_admin: bool = False


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that exists once the surrounding transaction has committed."""

    run_id: str
    thread_id: str
    thread_key: str
    version: int


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """What a claim answers: the run is ours, under this thread's new epoch."""

    run: Run
    thread: Thread

    @property
    def fence(self) -> Fence:
        """The fence that every write of this drive carries."""
        return Fence(self.thread.id, self.run.id, self.thread.epoch)


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """What a drive resumes from: the steps of the open turn and of the whole run.

    ``wakes`` was read no later than the steps, in the same statement.
    """

    wakes: int
    version: int
    steps: Mapping[str, str]
    """JSON text by step name."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What ``record`` answers, from the locked row alone."""

    version: int
    wakes: int
    was_new: bool


class Verdict(Enum):
    """How parking or ending went."""

    DONE = "done"
    MOVED = "moved"
    """Something was stored for the thread since the drive looked: look again."""
    LOST = "lost"
    """The thread has another live run or epoch: end this drive quietly."""


class RunStore(Protocol):
    """The write side of runs and their threads."""

    async def start(self, start: StartRun) -> StartedRun:
        """Write thread, run (``queued``) and the user's message in one transaction.

        Raises:
            Forbidden: the thread belongs to somebody else.
            Conflict: the thread has an unfinished run; ``data`` has ``runId`` and ``status``.
        """
        ...

    async def claim(self, worker: str, agents: Sequence[str], limit: int) -> list[ClaimedRun]:
        """Take up to ``limit`` of the oldest queued runs of these agents."""
        ...

    async def open_turn(self, fence: Fence) -> OpenTurn | None:
        """Return what the drive resumes from, or ``None`` when the fence is lost."""
        ...

    async def history(self, thread_id: str) -> list[Message]:
        """Return the thread's messages in order, with their private ``model``."""
        ...

    async def holds(self, fence: Fence) -> bool:
        """Whether Postgres still lets this fence through.

        Reads with ``FOR SHARE``: waits for whoever is ending the run just now.
        """
        ...

    async def raise_epoch(self, fence: Fence, above: int) -> Fence | None:
        """Lift the thread's epoch over ``above`` and return the new fence (``None``: lost)."""
        ...

    async def record(self, fence: Fence, record: Record) -> Recorded | None:
        """Store a finished step in one statement; ``None`` when the fence is lost.

        Storing a step that is there already changes nothing and answers ``was_new=False``.

        Raises:
            RecordRefused: Postgres refuses these rows for good.
            StoreUnavailable: no answer; it may or may not have been stored.  Repeat it.
        """
        ...

    async def park(self, fence: Fence, seen: int, waits: Waits) -> Verdict:
        """Park the run if nothing was stored for the thread since ``seen``."""
        ...

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        """Settle the run from its own drive.

        ``seen`` is compared with the thread's ``wakes`` (a completion must have
        looked at everything); ``None`` ends it whatever was stored.
        """
        ...

    async def release(self, fence: Fence) -> bool:
        """Give a running run back to the queue under a new epoch; ``False`` when lost."""
        ...

    async def cancel(self, thread_id: str, run_id: str | None) -> Run | None:
        """End the live run as cancelled; ``None`` when there is none or it is another.

        Takes what the journal still holds (``Journal.close``) into the same transaction,
        drops the journal and tells the worker to abort after the commit.
        """
        ...

    async def decide(
        self,
        thread_id: str,
        tool_call_id: str,
        decision: Decision,
        by: Identity,
        reason: str | None,
    ) -> Approval | None:
        """Store a decision once and wake the run when it was the last one awaited.

        The transaction inserts the step ``approval:CALL_ID`` with the value
        ``{"decision", "by", "reason"}``.  ``None``: no such approval.  The same decision
        repeated answers the stored one.

        Raises:
            Conflict: it was decided otherwise, or closed; ``data`` says by whom.
        """
        ...

    async def beats(self) -> Mapping[str, int]:
        """Return the last beat of each worker that is registered or holds a running run.

        A worker that holds a run but is not registered has beat 0.
        """
        ...

    async def take_over(self, worker: str) -> int:
        """Forget a dead worker and re-queue its runs, each under a new epoch; how many."""
        ...

    async def oldest_queued(self) -> timedelta | None:
        """Return for how long the oldest queued run has waited, by Postgres's clock."""
        ...

    async def fail_unknown_agents(self, after: timedelta) -> int:
        """Settle as failed what has been queued this long for an agent that no worker knows."""
        ...

    async def stranded(self) -> Sequence[str]:
        """Return one sentence for each thread or run that the laws do not allow.

        Parked runs whose condition is met, and threads whose live run is final.  A tripwire:
        must find nothing.
        """
        ...
