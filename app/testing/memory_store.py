"""``RunStore`` in dictionaries: the same laws as Postgres, in one process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from app.domain.approval import Approval, Decider, NewDecision
from app.domain.errors import Conflict, JournalUnavailable
from app.domain.facts import NewTimer, event_fact
from app.domain.message import Message
from app.domain.ports import (
    Aborts,
    Announce,
    ClaimedRun,
    Doorbell,
    Ids,
    Journal,
    OnBusy,
    OpenTurn,
    Recorded,
    Salvage,
    Serves,
    StartedRun,
    StartRun,
    Verdict,
)
from app.domain.record import Record
from app.domain.run import (
    FINAL,
    PARKED,
    Claimed,
    Ending,
    Fence,
    Parked,
    Released,
    Retried,
    Run,
    RunStatus,
    Waits,
)
from app.domain.signal import NewSignal, Signalled, SignalMode
from app.domain.storable import decode
from app.testing.memory_database import LONG_AGO, MemoryDatabase, MemoryTimer, Transaction
from app.testing.memory_deciding import decide, show_in_roots
from app.testing.memory_settling import end_pending, reopen, store_fact
from app.testing.memory_starting import end, put_signal, start_run
from app.testing.memory_stranded import stranded
from app.testing.memory_timers import cancel_timer, fire_due, put_fact_timer, put_timer
from app.testing.memory_writes import record_step


class MemoryRunStore:
    """Implements ``app.domain.ports.RunStore``."""

    def __init__(
        self,
        database: MemoryDatabase,
        *,
        journal: Journal,
        announce: Announce,
        doorbell: Doorbell,
        aborts: Aborts,
        ids: Ids,
        max_attempts: int = 5,
    ) -> None:
        self._db = database
        self._journal = journal
        self._announce = announce
        self._doorbell = doorbell
        self._aborts = aborts
        self._ids = ids
        self._max_attempts = max_attempts

    # ---- starting ----

    async def start(self, start: StartRun) -> StartedRun:
        """See ``RunStore.start``."""
        await self._db.turn()
        thread = self._db.meant(start.thread_key)
        replaced = thread.live_run if thread and start.on_busy is OnBusy.REPLACE else None
        tx = await self._begin(replaced)
        started = start_run(self._db, start, tx)
        await self._pay(tx)
        return started

    async def spawn(self, fence: Fence, start: StartRun) -> StartedRun | None:
        """See ``RunStore.spawn``."""
        tx = await self._begin()
        if self._db.holder(fence) is None:
            return None
        started = start_run(self._db, start, tx)
        await self._pay(tx)
        return started

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """See ``RunStore.schedule``."""
        await self._db.turn()
        put_timer(self._db, timer_id, MemoryTimer(due_at, start=start))

    async def unschedule(self, timer_id: str) -> bool:
        """See ``RunStore.unschedule``."""
        await self._db.turn()
        return cancel_timer(self._db, timer_id)

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """See ``RunStore.signal``."""
        tx = await self._begin()
        answer = put_signal(self._db, signal, tx)
        await self._pay(tx)
        return answer

    # ---- driving ----

    async def claim(
        self, worker: str, serves: Serves, limit: int, *, last_try: bool = False
    ) -> list[ClaimedRun]:
        """See ``RunStore.claim``."""
        tx = await self._begin()
        claimed = []
        for run in self._claimable(serves, last_try=last_try)[:limit]:
            thread = self._db.move(run, Claimed(), tx, worker=worker, attempts=run.attempts + 1)
            claimed.append(ClaimedRun(self._db.runs[run.id], thread))
        await self._pay(tx)
        return claimed

    async def last_try_waits(self, serves: Serves) -> timedelta | None:
        """See ``RunStore.last_try_waits``."""
        await self._db.turn()
        queued = self._claimable(serves, last_try=True)
        now = self._db.now()
        return max((now - self._db.crashed_at[run.id] for run in queued), default=None)

    async def open_turn(self, fence: Fence) -> OpenTurn | None:
        """See ``RunStore.open_turn``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        if thread is None:
            return None
        turn = self._db.runs[fence.run_id].turn
        steps = {
            name: value
            for name, (of_turn, value) in self._db.steps[fence.run_id].items()
            if of_turn is None or of_turn >= turn
        }
        unread = self._db.unread(thread.id)
        signals = [signal for signal in unread if signal.mode is not SignalMode.QUEUE]
        return OpenTurn(thread.wakes, thread.version, steps, signals)

    async def history(self, thread_id: str) -> list[Message]:
        """See ``RunStore.history``."""
        await self._db.turn()
        return list(self._db.messages[thread_id])

    async def holds(self, fence: Fence) -> bool:
        """See ``RunStore.holds``."""
        await self._db.turn()
        return self._db.holder(fence) is not None

    async def rests(self, run_id: str) -> bool:
        """See ``RunStore.rests``."""
        await self._db.turn()
        return self._db.runs[run_id].status not in {RunStatus.QUEUED, RunStatus.RUNNING}

    async def raise_epoch(self, fence: Fence, above: int) -> Fence | None:
        """See ``RunStore.raise_epoch``."""
        tx = await self._begin()
        thread = self._db.holder(fence)
        if thread is None:
            return None
        raised = self._db.put(replace(thread, epoch=max(above, thread.epoch) + 1), tx)
        return replace(fence, epoch=raised.epoch)

    async def record(self, fence: Fence, record: Record) -> Recorded | None:
        """See ``RunStore.record``."""
        tx = await self._begin()
        answer = record_step(self._db, fence, record, tx)
        if answer is not None and answer.was_new and record.writes.approvals:
            show_in_roots(self._db, self._db.asked_by(self._db.runs[fence.run_id]), tx)
        await self._pay(tx)
        return answer

    async def park(
        self, fence: Fence, seen: int, waits: Waits, timers: Sequence[NewTimer] = ()
    ) -> Verdict:
        """See ``RunStore.park``."""
        tx = await self._begin()
        thread, run = self._db.holder(fence), self._db.runs[fence.run_id]
        if thread is None or run.status not in {RunStatus.RUNNING, *PARKED}:
            return Verdict.LOST
        if run.status in PARKED:
            return Verdict.DONE
        if thread.wakes != seen or waits.is_met(self._db.steps[run.id]):
            return Verdict.MOVED
        self._db.waits[run.id] = waits
        for timer in timers:
            put_fact_timer(self._db, run, timer)
        self._db.move(run, Parked(waits.awaits_input), tx, worker=None)
        show_in_roots(self._db, self._db.asked_by(run), tx)
        await self._pay(tx)
        return Verdict.DONE

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        """See ``RunStore.finish``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        if thread is None:
            return Verdict.LOST
        if seen is not None and thread.wakes != seen:
            return Verdict.MOVED
        is_clean = ending.status is RunStatus.COMPLETED and not self._db.children(fence.run_id)
        tx = await self._begin(None if is_clean else fence.run_id)
        thread = self._db.holder(fence)
        if thread is None:
            return Verdict.LOST
        if seen is not None and thread.wakes != seen:
            return Verdict.MOVED
        end(self._db, self._db.runs[fence.run_id], ending, tx)
        tx.driven = [(worker, driven) for worker, driven in tx.driven if driven != fence]
        await self._pay(tx)
        return Verdict.DONE

    async def release(self, fence: Fence) -> bool:
        """See ``RunStore.release``."""
        tx = await self._begin()
        run = self._db.runs[fence.run_id]
        if self._db.holder(fence) is None or run.status is not RunStatus.RUNNING:
            return False
        self._db.move(run, Released(), tx, worker=None)
        await self._pay(tx)
        return True

    # ---- the thread's state ----

    async def read_state(self, thread_id: str) -> str | None:
        """See ``RunStore.read_state``."""
        await self._db.turn()
        return self._db.states.get(thread_id)

    async def write_state(self, fence: Fence, state: str) -> bool:
        """See ``RunStore.write_state``."""
        tx = await self._begin()
        thread = self._db.holder(fence)
        if thread is None:
            return False
        self._db.states[thread.id] = state
        self._db.put(replace(thread, version=thread.version + 1), tx)
        await self._pay(tx)
        return True

    async def update_state(
        self, fence: Fence, receipt: str, turn: int | None, change: Callable[[str | None], str]
    ) -> bool:
        """See ``RunStore.update_state``."""
        tx = await self._begin()
        thread, steps = self._db.holder(fence), self._db.steps[fence.run_id]
        if thread is None:
            return False
        if receipt not in steps:
            self._db.states[thread.id] = change(self._db.states.get(thread.id))
            steps[receipt] = (turn, "null")
            self._db.put(replace(thread, version=thread.version + 1), tx)
            await self._pay(tx)
        return True

    # ---- from outside ----

    async def cancel(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.cancel``."""
        await self._db.turn()
        thread = self._db.threads.get(thread_id)
        wanted = run_id or (thread.live_run if thread else None)
        if wanted is None or not self._db.is_unfinished(thread_id, wanted):
            return None
        tx = await self._begin(wanted)
        if not self._db.is_unfinished(thread_id, wanted):
            return None
        run = self._db.runs[wanted]
        if run.status is RunStatus.PENDING:
            end_pending(self._db, run, Ending.cancelled(), tx)
        else:
            end(self._db, run, Ending.cancelled(), tx)
        await self._pay(tx)
        return self._db.runs[wanted]

    async def retry(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.retry``."""
        tx = await self._begin()
        run = self._db.newest_run(thread_id)
        of_thread = {run.id for run in self._db.runs.values() if run.thread_id == thread_id}
        if run is None or run_id not in {None, *of_thread}:
            return None
        if run_id not in {None, run.id} or run.status is not RunStatus.FAILED:
            raise Conflict(
                "only the newest run can be retried, and only if it failed",
                {"runId": run.id, "status": run.status.value},
            )
        self._db.start_clock(run.id)
        thread = self._db.move(
            run, Retried(), tx, error=None, stopped=None, finished_at=None, crashes=0
        )
        self._db.put(replace(thread, error=None), tx)
        reopen(self._db, run, thread.version)
        await self._pay(tx)
        return self._db.runs[run.id]

    async def decide(
        self, thread_id: str, decisions: Sequence[NewDecision], by: Decider
    ) -> Sequence[Approval]:
        """See ``RunStore.decide``."""
        tx = await self._begin()
        decided = decide(self._db, thread_id, decisions, by, tx)
        show_in_roots(self._db, decided, tx)
        await self._pay(tx)
        return decided

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """See ``RunStore.send_event``."""
        tx = await self._begin()
        run = self._db.runs.get(run_id)
        if run is None or run.status in FINAL:
            return False
        steps, count = self._db.steps[run_id], 0
        while event_fact(name, count) in steps:
            count += 1
        store_fact(self._db, run, event_fact(name, count), decode(payload), tx)
        await self._pay(tx)
        return True

    # ---- what the sweepers do ----

    async def fire_due(self, limit: int) -> int:
        """See ``RunStore.fire_due``."""
        tx = await self._begin()
        fired = fire_due(self._db, limit, tx)
        await self._pay(tx)
        return fired

    async def fail_overdue(self) -> int:
        """See ``RunStore.fail_overdue``."""
        await self._db.turn()
        late = [
            run_id
            for run_id, deadline in self._db.deadlines.items()
            if deadline <= self._db.now() and self._db.runs[run_id].status not in FINAL
        ]
        ending = Ending.failed("TIMED_OUT", "the run took longer than its time limit")
        return sum([await self._fail(run_id, ending) for run_id in late])

    async def beats(self) -> Mapping[str, int]:
        """See ``RunStore.beats``."""
        await self._db.turn()
        holding = {run.worker: 0 for run in self._db.running() if run.worker}
        return holding | {worker: beat for worker, (beat, _) in self._db.workers.items()}

    async def fail_poison(self, worker: str, beat: int | None = None) -> int:
        """See ``RunStore.fail_poison``."""
        await self._db.turn()
        if self._db.beats_again(worker, beat):
            return 0
        said = f"{self._max_attempts} workers died while they drove this run"
        ending = Ending.failed("POISON", said)
        orphans = self._orphans(worker, poison=True)
        return sum([await self._fail(run.id, ending) for run in orphans])

    async def take_over(self, worker: str, beat: int | None = None) -> int | None:
        """See ``RunStore.take_over``."""
        await self._db.turn()
        if self._db.beats_again(worker, beat):
            return None
        self._db.workers.pop(worker, None)
        orphans = self._orphans(worker, poison=False)
        for run in orphans:
            tx = Transaction(self._ids)
            self._db.crashed_at[run.id] = self._db.now()
            self._db.move(run, Released(), tx, worker=None, crashes=run.crashes + 1)
            await self._pay(tx)
        return len(orphans)

    async def oldest_queued(self) -> timedelta | None:
        """See ``RunStore.oldest_queued``."""
        await self._db.turn()
        return max((self._db.waited(run.id) for run in self._db.queued()), default=None)

    async def fail_unknown_agents(self, after: timedelta) -> int:
        """See ``RunStore.fail_unknown_agents``."""
        await self._db.turn()
        known = {agent for _, agents in self._db.workers.values() for agent in agents}
        lost = [
            run
            for run in self._db.queued()
            if run.agent not in known and self._db.waited(run.id) >= after
        ]
        for run in lost:
            said = f"no worker serves the agent {run.agent!r}"
            await self._fail(run.id, Ending.failed("UNKNOWN_AGENT", said))
        return len(lost)

    async def stranded(self) -> Sequence[str]:
        """See ``RunStore.stranded``."""
        await self._db.turn()
        return stranded(self._db)

    # ---- inside ----

    def _orphans(self, worker: str, *, poison: bool) -> list[Run]:
        return [
            run
            for run in self._db.running()
            if run.worker == worker and (run.crashes + 1 >= self._max_attempts) == poison
        ]

    def _claimable(self, serves: Serves, *, last_try: bool) -> list[Run]:
        def fits(run: Run) -> bool:
            is_last = run.crashes >= max(self._max_attempts - 1, 1)
            versions = {None, serves.agents.get(run.agent)}
            return (
                run.agent in serves.agents and is_last == last_try and run.agent_version in versions
            )

        fitting = filter(fits, self._db.queued())
        return sorted(fitting, key=lambda run: run.queued_at or LONG_AGO)

    async def _fail(self, run_id: str, ending: Ending) -> bool:
        tx = await self._begin(run_id)
        run = self._db.runs[run_id]
        if run.status in FINAL:
            return False
        if run.status is RunStatus.PENDING:
            end_pending(self._db, run, ending, tx)
        else:
            end(self._db, run, ending, tx)
        await self._pay(tx)
        return True

    async def _begin(self, run_id: str | None = None) -> Transaction:
        """Open a transaction that may end this run and its children: their journals are closed."""
        await self._db.turn()
        salvages: dict[str, Salvage] = {}
        wanted = [run_id] if run_id else []
        while wanted:
            run = self._db.runs[wanted.pop()]
            wanted += [child.id for child in self._db.children(run.id)]
            thread = self._db.threads[run.thread_id]
            if thread.live_run == run.id:
                salvages[run.id] = await self._close(Fence(thread.id, run.id, thread.epoch))
        return Transaction(self._ids, salvages)

    async def _close(self, fence: Fence) -> Salvage:
        try:
            return await self._journal.close(fence.thread_id, fence.epoch)
        except JournalUnavailable:
            return Salvage()

    async def _pay(self, tx: Transaction) -> None:
        for root in sorted(tx.shown - tx.changed.keys()):
            thread = self._db.threads[root]
            self._db.put(replace(thread, version=thread.version + 1), tx)
        for thread_id, version in tx.changed.items():
            self._announce(thread_id, version)
        for run_id in tx.queued:
            await self._doorbell.ring(run_id)
        for worker, fence in tx.driven:
            await self._aborts.abort(worker, fence)
        for fence in tx.ended:
            try:
                await self._journal.drop(fence.thread_id, fence.epoch)
            except JournalUnavailable:
                continue
