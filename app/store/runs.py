"""``RunStore`` on Postgres: each method is one statement, or one transaction and what it owes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from app.domain.approval import Approval, Decider, NewDecision
from app.domain.errors import InvalidArgument, RecordRefused
from app.domain.facts import NewTimer
from app.domain.message import Message
from app.domain.ports import (
    Aborts,
    Announce,
    ClaimedRun,
    Doorbell,
    Ids,
    Journal,
    OpenTurn,
    Recorded,
    Serves,
    StartedRun,
    StartRun,
    Verdict,
)
from app.domain.record import Record
from app.domain.run import FINAL, Ending, Fence, Run, Waits
from app.domain.signal import NewSignal, Signalled
from app.store import queueing, resuming, sweeping, thread_state, waiting
from app.store import timers as due_timers
from app.store.database import Connection, Database
from app.store.locking import find_run, lock_for, lock_to_end, read_run
from app.store.owed import Listeners, Owed
from app.store.recording import record_step, refusal
from app.store.retrying import retry_run
from app.store.settling import Settler
from app.store.showing import roots_of_pending, show_in_root
from app.store.signalling import put_signal
from app.store.starting import start_run
from app.store.transacting import Transacting


class PostgresRunStore:
    """Implements ``app.domain.ports.RunStore``.

    ``max_attempts``: so many workers in a row may die while they drive a run.
    """

    def __init__(
        self,
        database: Database,
        *,
        journal: Journal,
        announce: Announce,
        doorbell: Doorbell,
        aborts: Aborts,
        ids: Ids,
        max_attempts: int = 5,
        notices: bool = False,
    ) -> None:
        """Be ready.

        Args:
            database: where the rows are.
            journal: where a drive's unconfirmed steps are.
            announce: is told of changes.
            doorbell: is rung for queued runs.
            aborts: tells workers of runs that were taken from them.
            ids: fresh ones.
            max_attempts: takeovers of a run before it fails as poison.
            notices: whether notices are kept for another system.
        """
        self._db = database
        self._listeners = Listeners(announce, doorbell, journal, aborts, notices=notices)
        self._transacting = Transacting(database, self._listeners)
        self._settler = Settler(journal, ids)
        self._ids = ids
        self._max_attempts = max_attempts
        self._last_crashes = max(max_attempts - 1, 1)

    # ---- starting ----

    async def start(self, start: StartRun) -> StartedRun:
        """See ``RunStore.start``."""
        try:
            return await self._transacting.run(
                lambda c, owed: start_run(c, start, self._settler, owed)
            )
        except RecordRefused as error:
            raise InvalidArgument(f"the run cannot be stored: {error.message}") from error

    async def spawn(self, fence: Fence, start: StartRun) -> StartedRun | None:
        """See ``RunStore.spawn``."""

        async def work(connection: Connection, owed: Owed) -> StartedRun | None:
            if await lock_for(connection, fence) is None:
                return None
            return await start_run(connection, start, self._settler, owed)

        return await self._transacting.run(work)

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """See ``RunStore.schedule``."""
        await due_timers.schedule(self._db, timer_id, start, due_at)

    async def unschedule(self, timer_id: str) -> bool:
        """See ``RunStore.unschedule``."""
        return await due_timers.cancel(self._db, timer_id)

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """See ``RunStore.signal``."""
        return await self._transacting.run(lambda c, owed: put_signal(c, signal, self._ids, owed))

    # ---- driving ----

    async def claim(
        self, worker: str, serves: Serves, limit: int, *, last_try: bool = False
    ) -> list[ClaimedRun]:
        """See ``RunStore.claim``."""
        owed = Owed()
        claimed = await queueing.claim(
            self._db,
            worker,
            serves,
            limit,
            owed,
            last_crashes=self._last_crashes,
            last_try=last_try,
        )
        await owed.pay(self._listeners)
        return claimed

    async def last_try_waits(self, serves: Serves) -> timedelta | None:
        """See ``RunStore.last_try_waits``."""
        return await queueing.last_try_waits(self._db, serves, self._last_crashes)

    async def open_turn(self, fence: Fence) -> OpenTurn | None:
        """See ``RunStore.open_turn``."""
        return await resuming.open_turn(self._db, fence)

    async def history(self, thread_id: str) -> list[Message]:
        """See ``RunStore.history``."""
        return await resuming.history(self._db, thread_id)

    async def holds(self, fence: Fence) -> bool:
        """See ``RunStore.holds``."""
        return await resuming.holds(self._db, fence)

    async def rests(self, run_id: str) -> bool:
        """See ``RunStore.rests``."""
        return await resuming.rests(self._db, run_id)

    async def raise_epoch(self, fence: Fence, above: int) -> Fence | None:
        """See ``RunStore.raise_epoch``."""
        return await resuming.raise_epoch(self._db, fence, above)

    async def record(self, fence: Fence, record: Record) -> Recorded | None:
        """See ``RunStore.record``."""
        try:
            recorded = await record_step(self._db, fence, record)
        except RecordRefused as error:
            raise refusal(record, error) from error
        if recorded is not None and recorded.was_new:
            self._listeners.announce(fence.thread_id, recorded.version)
            if record.writes.approvals:
                await self._show_asked(fence)
        return recorded

    async def _show_asked(self, fence: Fence) -> None:
        """Let the watchers at the top see what a child run asks, in a transaction of its own.

        In one with the record it would lock the threads from below up.
        """
        for root in await roots_of_pending(self._db, fence.run_id):
            await self._transacting.run(partial(show_in_root, root))

    async def park(
        self, fence: Fence, seen: int, waits: Waits, timers: Sequence[NewTimer] = ()
    ) -> Verdict:
        """See ``RunStore.park``."""
        if waits.awaits_input:  # before the park: whoever dies in between comes back and shows it
            await self._show_asked(fence)
        return await self._transacting.run(
            lambda c, owed: waiting.park(c, fence, seen, waits, timers=timers, owed=owed)
        )

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        """See ``RunStore.finish``."""

        async def work(connection: Connection, owed: Owed) -> Verdict:
            thread = await lock_for(connection, fence, to_end=True)
            if thread is None:
                return Verdict.LOST
            if seen is not None and thread.wakes != seen:
                return Verdict.MOVED
            run = await read_run(connection, fence.run_id)
            await self._settler.settle(connection, thread, run, ending, owed)
            return Verdict.DONE

        return await self._transacting.run(work)

    async def release(self, fence: Fence) -> bool:
        """See ``RunStore.release``."""
        return await self._transacting.run(lambda c, owed: queueing.release(c, fence, owed))

    # ---- the thread's state ----

    async def read_state(self, thread_id: str) -> str | None:
        """See ``RunStore.read_state``."""
        return await thread_state.read_state(self._db, thread_id)

    async def write_state(self, fence: Fence, state: str) -> bool:
        """See ``RunStore.write_state``."""
        return await self._transacting.run(
            lambda c, owed: thread_state.write_state(c, fence, state, owed)
        )

    async def update_state(
        self, fence: Fence, receipt: str, turn: int | None, change: Callable[[str | None], str]
    ) -> bool:
        """See ``RunStore.update_state``."""
        return await self._transacting.run(
            lambda c, owed: thread_state.update_state(c, fence, receipt, turn, change, owed=owed)
        )

    # ---- from outside ----

    async def cancel(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.cancel``."""

        async def work(connection: Connection, owed: Owed) -> Run | None:
            thread = await lock_to_end(connection, thread_id, run_id)
            wanted = run_id or (thread.live_run if thread else None)
            run = await find_run(connection, wanted) if wanted else None
            if thread is None or run is None or run.thread_id != thread_id or run.status in FINAL:
                return None
            await self._settler.end(connection, thread, run, Ending.cancelled(), owed)
            return await read_run(connection, run.id)

        return await self._transacting.run(work)

    async def retry(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.retry``."""
        return await self._transacting.run(lambda c, owed: retry_run(c, thread_id, run_id, owed))

    async def decide(
        self, thread_id: str, decisions: Sequence[NewDecision], by: Decider
    ) -> Sequence[Approval]:
        """See ``RunStore.decide``."""
        return await self._transacting.run(
            lambda c, owed: waiting.decide(c, thread_id, decisions, by, owed)
        )

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """See ``RunStore.send_event``."""
        return await self._transacting.run(
            lambda c, owed: waiting.send_event(c, run_id, name, payload, owed)
        )

    # ---- what the sweepers do ----

    async def fire_due(self, limit: int) -> int:
        """See ``RunStore.fire_due``."""
        return await due_timers.fire_due(self._transacting, self._settler, limit)

    async def fail_overdue(self) -> int:
        """See ``RunStore.fail_overdue``."""
        return await self._fail_all("TIMED_OUT", sweeping.overdue())

    async def beats(self) -> Mapping[str, int]:
        """See ``RunStore.beats``."""
        return await queueing.beats(self._db)

    async def fail_poison(self, worker: str, beat: int | None = None) -> int:
        """See ``RunStore.fail_poison``."""
        dead = queueing.Silent(worker, beat)
        return await self._fail_all("POISON", sweeping.poison(dead, self._max_attempts))

    async def take_over(self, worker: str, beat: int | None = None) -> int | None:
        """See ``RunStore.take_over``."""
        dead = queueing.Silent(worker, beat)
        return await self._transacting.run(
            lambda c, owed: queueing.take_over(c, dead, self._max_attempts, owed)
        )

    async def oldest_queued(self) -> timedelta | None:
        """See ``RunStore.oldest_queued``."""
        return await queueing.oldest_queued(self._db)

    async def fail_unknown_agents(self, after: timedelta) -> int:
        """See ``RunStore.fail_unknown_agents``."""
        return await self._fail_all("UNKNOWN_AGENT", sweeping.unknown_agents(after))

    async def stranded(self) -> Sequence[str]:
        """See ``RunStore.stranded``."""
        return await sweeping.stranded(self._db)

    async def _fail_all(self, code: str, find: sweeping.Find) -> int:
        return await sweeping.Failing(self._settler, code, find).all(self._transacting)
