"""What the in-memory stores share: rows in dictionaries, and the one lock.

A coroutine that does not await is a transaction: nothing can come in between.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from app.domain.approval import Approval, ApprovalStatus
from app.domain.branching import Branch, Branches
from app.domain.cron import CronPlan
from app.domain.message import Message, plain_text
from app.domain.override import AuditEntry, Governed, OverrideVersion
from app.domain.ports import Ids, Salvage, StartRun, ThreadSnapshot, WaitingSend
from app.domain.run import (
    FINAL,
    LIVE,
    Fence,
    Released,
    Run,
    RunEvent,
    RunStatus,
    Terms,
    Waits,
    advance,
)
from app.domain.scheduled import CallTarget
from app.domain.signal import Signal
from app.domain.storable import decode
from app.domain.thread import Thread, shown_status

LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Transaction:
    """What a change needs, and what it owes to others once it is made.

    ``salvages``: what the journals held, by run, of those that may be ended.
    """

    ids: Ids
    salvages: Mapping[str, Salvage] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    """The newest version by thread."""
    queued: list[str] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    """Threads at the top whose people saw a card that is closed now."""
    driven: list[tuple[str, Fence]] = field(default_factory=list)
    """Workers that drive a run which was taken from them."""
    ended: list[Fence] = field(default_factory=list)


@dataclass(slots=True)
class MemoryTimer:
    """A timer of a run (``fact``) or a start to come (``start``), perhaps a slot of ``cron``."""

    due_at: datetime
    run_id: str | None = None
    fact: str | None = None
    start: StartRun | None = None
    cron: str | None = None


@dataclass(slots=True)
class MemoryCall:
    """A call to come, or one that was made."""

    target: CallTarget
    due_at: datetime
    cron: str | None = None
    slot: datetime | None = None
    taken_until: datetime | None = None
    attempts: int = 0
    made_at: datetime | None = None
    error: str | None = None


@dataclass(slots=True)
class MemoryCron:
    """A cron of the deck that holds."""

    plan: CronPlan
    next_at: datetime
    last_slot: datetime | None = None
    last_fired: str | None = None
    outcome: str | None = None


@dataclass(slots=True)
class MemoryDeck:
    """What one release declares."""

    declared_at: datetime
    seen_at: datetime
    holds: bool = False


@dataclass(slots=True)
class MemoryDatabase:
    """The rows.  ``now`` is the database's clock."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    threads: dict[str, Thread] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    branches: dict[str, list[Branch]] = field(default_factory=dict)
    """By root, oldest first; without the root itself."""
    selected: dict[str, str] = field(default_factory=dict)
    """By root: the thread that is shown, once one was selected."""
    runs: dict[str, Run] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    """Runs that ended while they were held back."""
    held: dict[str, StartRun] = field(default_factory=dict)
    """What the pending runs were started with."""
    terms: dict[str, Terms] = field(default_factory=dict)
    """By signal: of the run that it may start."""
    waits: dict[str, Waits] = field(default_factory=dict)
    crashed_at: dict[str, datetime] = field(default_factory=dict)
    limits: dict[str, timedelta] = field(default_factory=dict)
    deadlines: dict[str, datetime] = field(default_factory=dict)
    steps: dict[str, dict[str, tuple[int | None, str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    messages: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    keys: dict[str, int] = field(default_factory=dict)
    """Place in ``messages`` by message key; a key names its run, and so its thread."""
    approvals: dict[tuple[str, str], Approval] = field(default_factory=dict)
    """By thread and tool call."""
    signals: dict[str, Signal] = field(default_factory=dict)
    """Those that nobody has read yet, oldest first."""
    read_signals: dict[str, str] = field(default_factory=dict)
    """Which run read a signal."""
    timers: dict[str, MemoryTimer] = field(default_factory=dict)
    """Those that have not fired, by ``RUN/FACT`` or the schedule's id."""
    fired: set[str] = field(default_factory=set)
    calls: dict[str, MemoryCall] = field(default_factory=dict)
    crons: dict[str, MemoryCron] = field(default_factory=dict)
    decks: dict[str, MemoryDeck] = field(default_factory=dict)
    workers: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    """Beat and agents."""
    overrides: dict[str, list[OverrideVersion]] = field(default_factory=lambda: defaultdict(list))
    """What was published over the code of an agent, oldest first."""
    drafts: dict[str, OverrideVersion] = field(default_factory=dict)
    governed: Governed = field(default_factory=Governed)
    audit: list[AuditEntry] = field(default_factory=list)

    async def turn(self) -> None:
        """Let others run, as a round trip would."""
        await asyncio.sleep(0)

    def in_force(self, agent: str) -> int | None:
        """Return the version of what is said over the code of an agent, if anything ever was."""
        return len(self.overrides[agent]) or None

    def by_key(self, key: str) -> Thread | None:
        """Return the thread with this key."""
        return next((thread for thread in self.threads.values() if thread.key == key), None)

    def meant(self, key: str) -> Thread | None:
        """Return the thread that a key stands for; of a conversation's, the branch on show."""
        thread = self.by_key(key)
        return None if thread is None else self.threads[self.selected.get(thread.id, thread.id)]

    def holder(self, fence: Fence) -> Thread | None:
        """Return the thread if it has exactly this live run and epoch."""
        thread = self.threads.get(fence.thread_id)
        if thread is None or (thread.live_run, thread.epoch) != (fence.run_id, fence.epoch):
            return None
        return thread

    def move(self, run: Run, event: RunEvent, tx: Transaction, **changes: object) -> Thread:
        """Move a thread's live run by one event; every move is a visible change."""
        change = advance(run.status, event)
        if change.status is RunStatus.QUEUED:
            if not isinstance(event, Released):
                changes["queued_at"] = self.now()
            if run.status is not RunStatus.QUEUED:
                tx.queued.append(run.id)
        self.runs[run.id] = replace(run, status=change.status, **changes)  # type: ignore[arg-type]  # field names
        thread = self.threads[run.thread_id]
        return self.put(
            replace(
                thread,
                status=shown_status(change.status),
                live_run=run.id if change.status in LIVE else None,
                epoch=thread.epoch + change.epoch,
                wakes=thread.wakes + change.wakes,
                version=thread.version + 1,
            ),
            tx,
        )

    def put(self, thread: Thread, tx: Transaction | None = None) -> Thread:
        """Store a thread's row; without a transaction nobody is told."""
        self.threads[thread.id] = replace(thread, updated_at=self.now())
        if tx is not None:
            tx.changed[thread.id] = thread.version
        return self.threads[thread.id]

    def pending(self, thread_id: str) -> list[Approval]:
        """Return the undecided approvals that a thread's people see, oldest first."""
        return [
            approval
            for approval in self.approvals.values()
            if thread_id in {approval.thread_id, approval.root}
            and approval.status is ApprovalStatus.PENDING
        ]

    def asked_by(self, run: Run) -> list[Approval]:
        """Return the undecided approvals of a run."""
        return [each for each in self.pending(run.thread_id) if each.run_id == run.id]

    def root_of(self, run: Run) -> str | None:
        """Return the thread at the top of the runs that asked for this one."""
        if run.parent is None:
            return None
        parent = self.runs[run.parent.run_id]
        return self.root_of(parent) or parent.thread_id

    def unread(self, thread_id: str) -> list[Signal]:
        """Return the thread's signals that nobody has read, oldest first."""
        return [signal for signal in self.signals.values() if signal.thread_id == thread_id]

    def held_back(self, thread_id: str) -> list[Run]:
        """Return the thread's pending runs, oldest first."""
        return [
            run
            for run in self.runs.values()
            if run.thread_id == thread_id and run.status is RunStatus.PENDING
        ]

    def is_unfinished(self, thread_id: str, run_id: str) -> bool:
        """Return whether the thread has this run, and it has not ended."""
        run = self.runs.get(run_id)
        return run is not None and run.thread_id == thread_id and run.status not in FINAL

    def running(self) -> list[Run]:
        """Return the runs that workers hold."""
        return [run for run in self.runs.values() if run.status is RunStatus.RUNNING]

    def queued(self) -> list[Run]:
        """Return the runs that can be claimed."""
        return [run for run in self.runs.values() if run.status is RunStatus.QUEUED]

    def beats_again(self, worker: str, beat: int | None) -> bool:
        """Return whether a worker has beaten since ``beat``."""
        return beat is not None and self.workers.get(worker, (0, None))[0] != beat

    def children(self, run_id: str) -> list[Run]:
        """Return a run's unfinished children."""
        return [
            run
            for run in self.runs.values()
            if run.parent is not None
            and run.parent.run_id == run_id
            and (run.status in LIVE or run.status is RunStatus.PENDING)
        ]

    def snapshot(
        self, thread: Thread, messages: list[Message], *, complete: bool
    ) -> ThreadSnapshot:
        """Return what a reader sees of a thread at this moment."""
        newest, root = self.newest_run(thread.id), self.root_thread(thread)
        return ThreadSnapshot(
            thread,
            messages,
            self.pending(thread.id),
            waiting=self._waiting(thread.id),
            run_id=newest.id if newest else None,
            run_status=newest.status if newest else None,
            stopped=newest.stopped if newest else None,
            output=newest.output if newest else None,
            complete=complete,
            branches=self._branches(thread),
            conversation=None if root is thread else root.key,
        )

    def root_thread(self, thread: Thread) -> Thread:
        """Return the root of the conversation that a thread belongs to."""
        for root_id, branches in self.branches.items():
            if any(each.id == thread.id for each in branches):
                return self.threads[root_id]
        return thread

    def _branches(self, thread: Thread) -> Branches | None:
        found = self.branches.get(thread.id)
        if not found:
            return None
        root = Branch(thread.id, thread.key, None, 0, thread.created_at)
        return Branches(self.selected.get(thread.id, thread.id), [root, *found])

    def start_clock(self, run_id: str) -> None:
        """Let the time of a run that becomes live begin, if it has a limit."""
        if run_id in self.limits:
            self.deadlines[run_id] = self.now() + self.limits[run_id]

    def newest_run(self, thread_id: str) -> Run | None:
        """Return the live run, else the one that ended last.

        One that never began had no part in the thread.
        """
        thread = self.threads.get(thread_id)
        if thread is not None and thread.live_run is not None:
            return self.runs[thread.live_run]
        ended = [
            run
            for run in reversed(self.runs.values())
            if run.thread_id == thread_id and run.status in FINAL and run.id not in self.withdrawn
        ]
        return max(ended, key=lambda run: run.finished_at or LONG_AGO, default=None)

    def waited(self, run_id: str) -> timedelta:
        """Return for how long a queued run has waited."""
        return self.now() - (self.runs[run_id].queued_at or LONG_AGO)

    def _waiting(self, thread_id: str) -> list[WaitingSend]:
        sends = [
            WaitingSend(one.id, False, one.text, one.created_at, one.author, one.dedupe)  # noqa: FBT003
            for one in self.unread(thread_id)
        ]
        for run in self.held_back(thread_id):
            start = self.held[run.id]
            text = plain_text(decode(start.parts))  # type: ignore[arg-type]  # our own JSON
            since = run.created_at or self.now()
            sends.append(WaitingSend(run.id, True, text, since, start.author, start.dedupe))  # noqa: FBT003
        return sends
