"""``RunStore`` on Postgres: each method is one statement, or one transaction and what it owes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from app.domain.approval import Approval, Decision
from app.domain.errors import InvalidArgument, RecordRefused
from app.domain.facts import NewTimer
from app.domain.identity import Identity
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
from app.domain.run import Ending, Fence, Run, RunStatus, Waits
from app.domain.signal import NewSignal, Signalled
from app.domain.thread import Thread
from app.store import queueing, resuming, sweeping, waiting
from app.store.database import Connection, Database
from app.store.locking import lock_for, lock_thread, read_run
from app.store.owed import Listeners, Owed
from app.store.recording import record_step, refusal
from app.store.settling import Settler
from app.store.starting import start_run

T = TypeVar("T")


class PostgresRunStore:
    """Implements ``app.domain.ports.RunStore``."""

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
    ) -> None:
        self._db = database
        self._max_attempts = max_attempts
        self._listeners = Listeners(announce, doorbell, journal, aborts)
        self._settler = Settler(journal, ids)

    async def start(self, start: StartRun) -> StartedRun:
        """See ``RunStore.start``."""

        async def work(connection: Connection, owed: Owed) -> StartedRun:
            started = await start_run(connection, start)
            owed.announce(started.thread_id, started.version)
            owed.queued.append(started.run_id)
            return started

        try:
            return await self._transact(work)
        except RecordRefused as error:
            raise InvalidArgument(f"the run cannot be stored: {error.message}") from error

    async def claim(
        self, worker: str, serves: Serves, limit: int, *, last_try: bool = False
    ) -> list[ClaimedRun]:
        """See ``RunStore.claim``."""
        owed = Owed()
        claimed = await queueing.claim(self._db, worker, list(serves.agents), limit, owed)
        await owed.pay(self._listeners)
        return claimed

    async def open_turn(self, fence: Fence) -> OpenTurn | None:
        """See ``RunStore.open_turn``."""
        return await resuming.open_turn(self._db, fence)

    async def history(self, thread_id: str) -> list[Message]:
        """See ``RunStore.history``."""
        return await resuming.history(self._db, thread_id)

    async def holds(self, fence: Fence) -> bool:
        """See ``RunStore.holds``."""
        return await resuming.holds(self._db, fence)

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
        return recorded

    async def park(
        self, fence: Fence, seen: int, waits: Waits, timers: Sequence[NewTimer] = ()
    ) -> Verdict:
        """See ``RunStore.park``."""
        if timers:
            raise NotImplementedError
        return await self._transact(lambda c, owed: waiting.park(c, fence, seen, waits, owed))

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        """See ``RunStore.finish``."""

        async def work(connection: Connection, owed: Owed) -> Verdict:
            thread = await lock_for(connection, fence)
            if thread is None:
                return Verdict.LOST
            if seen is not None and thread.wakes != seen:
                return Verdict.MOVED
            run = await read_run(connection, fence.run_id)
            await self._settler.settle(connection, thread, run, ending, owed)
            return Verdict.DONE

        return await self._transact(work)

    async def release(self, fence: Fence) -> bool:
        """See ``RunStore.release``."""
        return await self._transact(lambda c, owed: queueing.release(c, fence, owed))

    async def cancel(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.cancel``."""

        async def work(connection: Connection, owed: Owed) -> Run | None:
            thread = await lock_thread(connection, thread_id)
            if thread is None or thread.live_run is None:
                return None
            if run_id not in {None, thread.live_run}:
                return None
            run = await read_run(connection, thread.live_run)
            return await self._end(connection, thread, run, Ending.cancelled(), owed)

        return await self._transact(work)

    async def decide(
        self,
        thread_id: str,
        tool_call_id: str,
        decision: Decision,
        by: Identity,
        reason: str | None,
    ) -> Approval | None:
        """See ``RunStore.decide``."""
        answer = waiting.Answer(decision, by, reason)
        return await self._transact(
            lambda c, owed: waiting.decide(c, thread_id, tool_call_id, answer, owed)
        )

    async def beats(self) -> Mapping[str, int]:
        """See ``RunStore.beats``."""
        return await queueing.beats(self._db)

    async def take_over(self, worker: str) -> int:
        """See ``RunStore.take_over``."""
        return await self._transact(lambda c, owed: queueing.take_over(c, worker, owed))

    async def oldest_queued(self) -> timedelta | None:
        """See ``RunStore.oldest_queued``."""
        return await queueing.oldest_queued(self._db)

    async def fail_unknown_agents(self, after: timedelta) -> int:
        """See ``RunStore.fail_unknown_agents``."""
        failed = 0
        for row in await sweeping.unknown_agents(self._db, after):
            failed += await self._fail_unknown(row["thread"], row["id"], row["agent"], after)
        return failed

    async def stranded(self) -> Sequence[str]:
        """See ``RunStore.stranded``."""
        return await sweeping.stranded(self._db)

    async def last_try_waits(self, serves: Serves) -> timedelta | None:
        """See ``RunStore.last_try_waits``."""
        raise NotImplementedError

    async def spawn(self, fence: Fence, start: StartRun) -> StartedRun | None:
        """See ``RunStore.spawn``."""
        raise NotImplementedError

    async def read_state(self, thread_id: str) -> str | None:
        """See ``RunStore.read_state``."""
        raise NotImplementedError

    async def write_state(self, fence: Fence, state: str) -> bool:
        """See ``RunStore.write_state``."""
        raise NotImplementedError

    async def update_state(
        self, fence: Fence, receipt: str, turn: int | None, change: Callable[[str | None], str]
    ) -> bool:
        """See ``RunStore.update_state``."""
        raise NotImplementedError

    async def retry(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.retry``."""
        raise NotImplementedError

    async def signal(self, signal: NewSignal) -> Signalled | None:
        """See ``RunStore.signal``."""
        raise NotImplementedError

    async def send_event(self, run_id: str, name: str, payload: str) -> bool:
        """See ``RunStore.send_event``."""
        raise NotImplementedError

    async def schedule(self, timer_id: str, start: StartRun, due_at: datetime) -> None:
        """See ``RunStore.schedule``."""
        raise NotImplementedError

    async def fire_due(self, limit: int) -> int:
        """See ``RunStore.fire_due``."""
        raise NotImplementedError

    async def fail_overdue(self) -> int:
        """See ``RunStore.fail_overdue``."""
        raise NotImplementedError

    async def _fail_unknown(self, thread: str, run_id: str, agent: str, after: timedelta) -> bool:
        async def work(connection: Connection, owed: Owed) -> bool:
            locked = await lock_thread(connection, thread)
            if locked is None or locked.live_run != run_id:
                return False
            if not await sweeping.unknown_agents(connection, after, run_id):
                return False  # claimed, or a worker has come meanwhile
            ending = Ending.failed("UNKNOWN_AGENT", f"no worker serves the agent {agent!r}")
            run = await read_run(connection, run_id)
            await self._end(connection, locked, run, ending, owed)
            return True

        return await self._transact(work)

    async def _end(
        self, connection: Connection, thread: Thread, run: Run, ending: Ending, owed: Owed
    ) -> Run:
        """End a run from outside: its journal and its drive are of no use any more."""
        fence = Fence(thread.id, run.id, thread.epoch)
        await self._settler.settle(connection, thread, run, ending, owed)
        owed.ended.append(fence)
        if run.status is RunStatus.RUNNING and run.worker is not None:
            owed.driven.append((run.worker, fence))
        return await read_run(connection, run.id)

    async def _transact(self, work: Callable[[Connection, Owed], Awaitable[T]]) -> T:
        """Run one transaction; what it owes is paid after the commit."""

        async def once(connection: Connection) -> tuple[T, Owed]:
            owed = Owed()
            return await work(connection, owed), owed

        result, owed = await self._db.transact(once)
        await owed.pay(self._listeners)
        return result
