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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Protocol

from app.domain.approval import Approval, Decider, NewDecision
from app.domain.facts import NewTimer
from app.domain.message import Message
from app.domain.record import Record
from app.domain.run import Ending, Fence, ParentStep, Run, Terms, Waits
from app.domain.signal import NewSignal, Signal, Signalled
from app.domain.thread import Thread


class OnBusy(StrEnum):
    """What a start does on a thread that has an unfinished run."""

    REJECT = "reject"
    REPLACE = "replace"
    QUEUE = "queue"
    STEER = "steer"


@dataclass(frozen=True, slots=True)
class StartRun:
    """A run to start on a thread, which is made if there is none with this key.

    Attributes:
        owner: the identity that a *new* thread belongs to; an existing thread with
            an owner answers only to a start with the same one (or ``as_admin``).
        parts: JSON of the user's message parts; ``author`` is who wrote it.
        dedupe: the client's key for this send; it comes back on the message.
        on_busy: what to do when the thread is busy.
        initial_state: JSON that a new thread's state begins with.
        terms: of the run; of a send that is steered, those of the run that it may start later.
        parent: the step that waits for this run's end.
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
    terms: Terms = field(default_factory=Terms)
    as_admin: bool = False
    on_busy: OnBusy = OnBusy.REJECT
    initial_state: str | None = None
    parent: ParentStep | None = None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that exists once the surrounding transaction has committed.

    A steered send starts none: ``run_id`` is the live run that will read it, and ``steered``
    says so.  ``position`` is the place (from 1) of a run that waits for others of its thread.
    """

    run_id: str
    thread_id: str
    thread_key: str
    version: int
    steered: bool = False
    position: int | None = None


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
    signals: Sequence[Signal] = ()
    """Signals to read before the next model request (modes inject and steer), oldest first."""


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


@dataclass(frozen=True, slots=True)
class Serves:
    """What a worker can drive: agents by slug, each with the version that its code has.

    A run that is pinned to a version is taken by workers that have it; any other by all.
    """

    agents: Mapping[str, str | None]

    @classmethod
    def of(cls, *agents: str) -> "Serves":
        """Return what serves these agents, whose code has no version."""
        return cls(dict.fromkeys(agents))


class RunStore(Protocol):
    """The write side of runs and their threads."""

    async def start(self, start: StartRun) -> StartedRun:
        """Write thread, run (``queued``) and the user's message in one transaction.

        Raises:
            Forbidden: the thread belongs to somebody else.
            Conflict: the thread has an unfinished run; ``data`` has ``runId`` and ``status``.
        """
        ...

    async def claim(
        self, worker: str, serves: Serves, limit: int, *, last_try: bool = False
    ) -> list[ClaimedRun]:
        """Take up to ``limit`` of the oldest queued runs that this worker serves.

        Runs at their last try (one more crash fails them) are taken only with ``last_try``,
        and then no others: such a run is driven by a worker that holds nothing else.
        """
        ...

    async def last_try_waits(self, serves: Serves) -> timedelta | None:
        """Return for how long the oldest queued run at its last try has waited."""
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

    async def rests(self, run_id: str) -> bool:
        """Whether nobody drives the run or is to: it is parked, or has ended."""
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

    async def park(
        self, fence: Fence, seen: int, waits: Waits, timers: Sequence[NewTimer] = ()
    ) -> Verdict:
        """Park the run if nothing was stored for the thread since ``seen``.

        Sets the timers that the run does not have yet.  A condition that is met already
        answers ``MOVED``.
        """
        ...

    async def spawn(self, fence: Fence, start: StartRun) -> StartedRun | None:
        """Start a child run, once however often it is asked for; ``None``: the fence is lost.

        Locks the parent's thread, then the child's.  The child's end stores the fact
        ``start.parent.fact`` in the parent's run.
        """
        ...

    async def read_state(self, thread_id: str) -> str | None:
        """Return the JSON of the thread's synced state; ``None`` when it has none."""
        ...

    async def write_state(self, fence: Fence, state: str) -> bool:
        """Replace the thread's state; ``False`` when the fence is lost."""
        ...

    async def update_state(
        self, fence: Fence, receipt: str, turn: int | None, change: Callable[[str | None], str]
    ) -> bool:
        """Apply ``change`` to the thread's state at most once per ``receipt`` (a step's name).

        ``change`` is called under the thread's lock with the JSON of the state and returns
        the new one; it must not wait.  ``False`` when the fence is lost.
        """
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
        """End a run as cancelled: the live one, or with ``run_id`` that one if it is unfinished.

        ``None`` when there is no such run.  Takes what the journal still holds
        (``Journal.close``) into the same transaction, cancels the run's unfinished children,
        drops the journals and tells the workers to abort after the commit.
        """
        ...

    async def retry(self, thread_id: str, run_id: str | None) -> Run | None:
        """Let the thread's newest run, which failed, go on from its last finished step.

        Interrupted results of its open turn are open again, approvals that its failure closed
        wait again.  ``None``: no such run.

        Raises:
            Conflict: it did not fail, is not the newest, or the thread is busy.
        """
        ...

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """Store a signal; on an idle thread start a run that reads it.  ``None``: no thread.

        Storing the same id again changes nothing.
        """
        ...

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """Store an event (JSON) for an unfinished run and wake it if it waits for it."""
        ...

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """Start a run when it is due, once, whoever restarts; the thread may not exist yet."""
        ...

    async def unschedule(self, timer_id: str) -> bool:
        """Take a scheduled start back; ``False``: it has fired, or there is none."""
        ...

    async def fire_due(self, limit: int) -> int:
        """Fire up to ``limit`` due timers, each in one transaction with what it wakes or starts.

        Returns how many.  Several processes may ask at once: each timer fires once.
        """
        ...

    async def fail_overdue(self) -> int:
        """Settle as failed (``TIMED_OUT``) each unfinished run that is past its time; how many."""
        ...

    async def decide(
        self, thread_id: str, decisions: Sequence[NewDecision], by: Decider
    ) -> Sequence[Approval]:
        """Store decisions, all or none, and wake the run when they were the last awaited.

        The transaction inserts a step ``approval:CALL_ID`` for each, with the value
        ``{"decision", "by", "reason", "input"?}``.  The same decision of the same person,
        repeated, answers the stored one.

        Raises:
            NotFound: there is no such approval; ``data`` has its ``toolCallId``.
            Conflict: one was decided before, or closed, and ``data`` says by whom; or its
                arguments are others than the decider saw.
        """
        ...

    async def beats(self) -> Mapping[str, int]:
        """Return the last beat of each worker that is registered or holds a running run.

        A worker that holds a run but is not registered has beat 0.
        """
        ...

    async def fail_poison(self, worker: str, beat: int | None = None) -> int:
        """Settle a dead worker's runs that have used up their tries as ``POISON``; how many.

        For ``worker`` and ``beat`` see ``take_over``, which leaves these runs alone.
        """
        ...

    async def take_over(self, worker: str, beat: int | None = None) -> int | None:
        """Forget a dead worker and re-queue its runs, each under a new epoch; how many.

        Each counts one crash.

        Args:
            worker: who is taken for dead.
            beat: its last one, as ``beats`` said.  If another one has come since, it lives:
                nothing is taken, and the answer is ``None``.  A beat and a takeover exclude
                each other, so whoever is told by its beat that a run is its own has it for as
                long as that beat counts.
        """
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
