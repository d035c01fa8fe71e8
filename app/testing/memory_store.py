"""``RunStore`` in dictionaries: the same laws as Postgres, in one process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from app.domain.approval import Approval, ApprovalStatus, Decision, approval_step
from app.domain.errors import Conflict, Forbidden, JournalUnavailable
from app.domain.identity import Identity
from app.domain.message import Message, MessageStatus, Role, user_key
from app.domain.ports import (
    Aborts,
    Announce,
    ClaimedRun,
    Doorbell,
    Ids,
    Journal,
    OpenTurn,
    Recorded,
    Salvage,
    Serves,
    StartedRun,
    StartRun,
    Verdict,
)
from app.domain.record import NewMessage, Record
from app.domain.run import (
    FINAL,
    PARKED,
    Claimed,
    Ending,
    FactStored,
    Fence,
    Parked,
    Released,
    Run,
    RunStatus,
    Waits,
)
from app.domain.storable import encode
from app.domain.thread import Thread, ThreadStatus
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_writes import append, record_step, settle


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
    ) -> None:
        self._db = database
        self._journal = journal
        self._announce = announce
        self._doorbell = doorbell
        self._aborts = aborts
        self._ids = ids

    async def start(self, start: StartRun) -> StartedRun:
        """See ``RunStore.start``."""
        await self._db.turn()
        thread = self._db.by_key(start.thread_key) or self._new_thread(start)
        if thread.owner is not None and thread.owner != start.owner and not start.as_admin:
            raise Forbidden(f"thread {start.thread_key!r} belongs to somebody else")
        if thread.live_run is not None:
            status = self._db.runs[thread.live_run].status
            raise Conflict(
                f"thread {start.thread_key!r} has an unfinished run",
                {"runId": thread.live_run, "status": status.value},
            )
        self._db.runs[start.run_id] = Run(
            start.run_id,
            thread.id,
            start.agent,
            RunStatus.QUEUED,
            policy=dict(start.policy),
            created_at=self._db.now(),
        )
        self._db.queued_at[start.run_id] = self._db.now()
        thread = replace(
            thread,
            live_run=start.run_id,
            status=ThreadStatus.QUEUED,
            error=None,
            title=thread.title or start.title,
            version=thread.version + 1,
        )
        message = NewMessage(
            start.message_id,
            user_key(start.run_id),
            Role.USER,
            MessageStatus.COMPLETE,
            start.parts,
            author=start.author,
            dedupe=start.dedupe,
        )
        thread = self._db.put(append(self._db, thread, start.run_id, (message,)))
        self._announce(thread.id, thread.version)
        await self._doorbell.ring(start.run_id)
        return StartedRun(start.run_id, thread.id, thread.key, thread.version)

    async def claim(
        self, worker: str, serves: Serves, limit: int, *, last_try: bool = False
    ) -> list[ClaimedRun]:
        """See ``RunStore.claim``."""
        await self._db.turn()
        queued = sorted(
            (run for run in self._db.runs.values() if run.status is RunStatus.QUEUED),
            key=lambda run: self._db.queued_at[run.id],
        )
        claimed = []
        for run in [run for run in queued if run.agent in serves.agents][:limit]:
            thread = self._db.move(run, Claimed(), worker=worker, attempts=run.attempts + 1)
            self._announce(thread.id, thread.version)
            claimed.append(ClaimedRun(self._db.runs[run.id], thread))
        return claimed

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
        return OpenTurn(thread.wakes, thread.version, steps)

    async def history(self, thread_id: str) -> list[Message]:
        """See ``RunStore.history``."""
        await self._db.turn()
        return list(self._db.messages[thread_id])

    async def holds(self, fence: Fence) -> bool:
        """See ``RunStore.holds``."""
        await self._db.turn()
        return self._db.holder(fence) is not None

    async def raise_epoch(self, fence: Fence, above: int) -> Fence | None:
        """See ``RunStore.raise_epoch``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        if thread is None:
            return None
        raised = self._db.put(replace(thread, epoch=max(above, thread.epoch) + 1))
        return replace(fence, epoch=raised.epoch)

    async def record(self, fence: Fence, record: Record) -> Recorded | None:
        """See ``RunStore.record``."""
        await self._db.turn()
        answer = record_step(self._db, fence, record)
        if answer is not None and answer.was_new:
            self._announce(fence.thread_id, answer.version)
        return answer

    async def park(self, fence: Fence, seen: int, waits: Waits) -> Verdict:
        """See ``RunStore.park``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        run = self._db.runs[fence.run_id]
        if thread is None or (run.status is not RunStatus.RUNNING and run.status not in PARKED):
            return Verdict.LOST
        if run.status in PARKED:
            return Verdict.DONE
        if thread.wakes != seen:
            return Verdict.MOVED
        self._db.waits[run.id] = waits
        thread = self._db.move(run, Parked(waits.awaits_input), worker=None)
        self._announce(thread.id, thread.version)
        return Verdict.DONE

    async def finish(self, fence: Fence, ending: Ending, seen: int | None) -> Verdict:
        """See ``RunStore.finish``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        if thread is None:
            return Verdict.LOST
        if seen is not None and thread.wakes != seen:
            return Verdict.MOVED
        salvage = Salvage() if ending.status is RunStatus.COMPLETED else await self._close(thread)
        if self._db.holder(fence) is None:
            return Verdict.LOST
        thread = settle(self._db, self._db.runs[fence.run_id], ending, salvage, self._ids)
        self._announce(thread.id, thread.version)
        return Verdict.DONE

    async def release(self, fence: Fence) -> bool:
        """See ``RunStore.release``."""
        await self._db.turn()
        thread = self._db.holder(fence)
        run = self._db.runs[fence.run_id]
        if thread is None or run.status is not RunStatus.RUNNING:
            return False
        await self._requeue(run)
        return True

    async def cancel(self, thread_id: str, run_id: str | None) -> Run | None:
        """See ``RunStore.cancel``."""
        await self._db.turn()
        thread = self._db.threads.get(thread_id)
        if thread is None or thread.live_run is None or run_id not in {None, thread.live_run}:
            return None
        live, worker = thread.live_run, self._db.runs[thread.live_run].worker
        salvage = await self._close(thread)
        thread = self._db.threads[thread_id]
        if thread.live_run != live:
            return None
        fence = Fence(thread_id, live, thread.epoch)
        thread = settle(self._db, self._db.runs[live], Ending.cancelled(), salvage, self._ids)
        self._announce(thread.id, thread.version)
        await self._drop(fence)
        if worker is not None:
            await self._aborts.abort(worker, fence)
        return self._db.runs[live]

    async def decide(
        self,
        thread_id: str,
        tool_call_id: str,
        decision: Decision,
        by: Identity,
        reason: str | None,
    ) -> Approval | None:
        """See ``RunStore.decide``."""
        await self._db.turn()
        approval = self._db.approvals.get((thread_id, tool_call_id))
        if approval is None:
            return None
        if approval.status is not ApprovalStatus.PENDING:
            if approval.status.value == decision.value:
                return approval
            raise Conflict(
                f"the call was already {approval.status.value}",
                {"status": approval.status.value, "decidedBy": approval.decided_by},
            )
        run = self._db.runs[approval.run_id]
        value = encode({"decision": decision.value, "by": by.user_id, "reason": reason})
        self._db.steps[run.id][approval_step(tool_call_id)] = (run.turn, value)
        decided = replace(
            approval,
            status=ApprovalStatus(decision.value),
            decided_by=by.user_id,
            reason=reason,
            decided_at=self._db.now(),
        )
        self._db.approvals[(thread_id, tool_call_id)] = decided
        met = run.status in PARKED and self._db.waits[run.id].is_met(self._db.steps[run.id])
        thread = self._db.move(run, FactStored(met))
        self._db.approvals[(thread_id, tool_call_id)] = replace(decided, version=thread.version)
        self._announce(thread.id, thread.version)
        if met:
            await self._doorbell.ring(run.id)
        return self._db.approvals[(thread_id, tool_call_id)]

    async def beats(self) -> Mapping[str, int]:
        """See ``RunStore.beats``."""
        await self._db.turn()
        holding = {run.worker: 0 for run in self._running() if run.worker}
        return holding | {worker: beat for worker, (beat, _) in self._db.workers.items()}

    async def take_over(self, worker: str) -> int:
        """See ``RunStore.take_over``."""
        await self._db.turn()
        self._db.workers.pop(worker, None)
        orphans = [run for run in self._running() if run.worker == worker]
        for run in orphans:
            await self._requeue(run)
        return len(orphans)

    async def oldest_queued(self) -> timedelta | None:
        """See ``RunStore.oldest_queued``."""
        await self._db.turn()
        return max((self._db.waited(run.id) for run in self._queued()), default=None)

    async def fail_unknown_agents(self, after: timedelta) -> int:
        """See ``RunStore.fail_unknown_agents``."""
        await self._db.turn()
        known = {agent for _, agents in self._db.workers.values() for agent in agents}
        lost = [
            run
            for run in self._queued()
            if run.agent not in known and self._db.waited(run.id) >= after
        ]
        for run in lost:
            ending = Ending.failed("UNKNOWN_AGENT", f"no worker serves the agent {run.agent!r}")
            thread = settle(self._db, run, ending, Salvage(), self._ids)
            self._announce(thread.id, thread.version)
        return len(lost)

    async def stranded(self) -> Sequence[str]:
        """See ``RunStore.stranded``."""
        await self._db.turn()
        sentences = [
            f"thread {thread.key} is busy with run {thread.live_run}, which has ended"
            for thread in self._db.threads.values()
            if thread.live_run is not None and self._db.runs[thread.live_run].status in FINAL
        ]
        sentences += [
            f"run {run.id} is parked though what it waits for is there"
            for run in self._db.runs.values()
            if run.status in PARKED and self._db.waits[run.id].is_met(self._db.steps[run.id])
        ]
        return sentences

    def _new_thread(self, start: StartRun) -> Thread:
        return self._db.put(
            Thread(
                start.thread_id,
                start.thread_key,
                start.agent,
                ThreadStatus.QUEUED,
                live_run=None,
                epoch=0,
                seq=0,
                version=0,
                wakes=0,
                owner=start.owner,
                created_at=self._db.now(),
            )
        )

    def _running(self) -> list[Run]:
        return [run for run in self._db.runs.values() if run.status is RunStatus.RUNNING]

    def _queued(self) -> list[Run]:
        return [run for run in self._db.runs.values() if run.status is RunStatus.QUEUED]

    async def _requeue(self, run: Run) -> None:
        thread = self._db.move(run, Released(), worker=None)
        self._announce(thread.id, thread.version)
        await self._doorbell.ring(run.id)

    async def _close(self, thread: Thread) -> Salvage:
        try:
            return await self._journal.close(thread.id, thread.epoch)
        except JournalUnavailable:
            return Salvage()

    async def _drop(self, fence: Fence) -> None:
        try:
            await self._journal.drop(fence.thread_id, fence.epoch)
        except JournalUnavailable:
            return
