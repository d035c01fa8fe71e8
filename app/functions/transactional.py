"""``ctx.agents`` and ``ctx.scheduler`` of a mutation: what they write is part of its transaction.

A cancel and a retry cannot be: they take what the journal holds, or wake a worker, under that
thread's own lock.  They follow the commit.  A call that is due a little later is part of the
transaction in their place: a worker makes it when this process did not come to do so.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from app.authoring.output_type import OutputSchema
from app.authoring.producer import DeliveryMode, RunRequest, StartedAgentRun
from app.authoring.run_result import RunResult
from app.authoring.scheduler import FunctionReference, Scheduled, ScheduledRun
from app.domain.errors import Conflict, NotFound, TransientFault
from app.domain.identity import Identity
from app.domain.ports import StartedRun
from app.domain.run import RunStatus
from app.domain.scheduled import CallTarget
from app.domain.signal import Signalled
from app.domain.storable import encode
from app.functions.agent_runs import SERVER, CallScope, Target
from app.functions.immediate import shown
from app.functions.ports import UnitOfWork
from app.functions.registry import BUILT_IN_MODULE
from app.threads.signalling import checked_event, checked_payload

log = logging.getLogger(__name__)

PATIENCE: Final = timedelta(seconds=5)
"""After so long a worker does what was to follow a commit."""

_Act: TypeAlias = Callable[[str, str], Awaitable[object]]
"""Takes a thread and its run."""


@dataclass(slots=True)
class TransactionalCalls:
    """Implements ``AgentCalls`` and ``ScheduleCalls``, which say what each does."""

    scope: CallScope
    unit: UnitOfWork
    _started: dict[str, StartedRun] = field(default_factory=dict)
    _owed: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    def now(self) -> datetime:
        """See ``ScheduleCalls.now``."""
        return self.scope.now()

    async def start(self, request: RunRequest) -> StartedAgentRun:
        """See ``AgentCalls.start``."""
        started = await self.unit.start(self.scope.start_of(request))
        if not started.steered:
            self._started[started.run_id] = started
        return shown(started)

    async def schedule(self, request: RunRequest, due_at: datetime) -> ScheduledRun:
        """See ``ScheduleCalls.schedule``."""
        start, timer_id = await self.scope.later_start_of(request), self.scope.runs.ids.new()
        await self.unit.schedule(timer_id, start, due_at)
        return ScheduledRun(timer_id, due_at, start.run_id, start.thread_key)

    async def schedule_call(
        self, function: FunctionReference, arguments: Mapping[str, object], due_at: datetime
    ) -> Scheduled:
        """See ``ScheduleCalls.schedule_call``."""
        target, call_id = self.scope.later_call_of(function, arguments), self.scope.runs.ids.new()
        await self.unit.schedule_call(call_id, target, due_at)
        return Scheduled(call_id, due_at)

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """See ``ScheduleCalls.cancel_schedule``."""
        return await self.unit.cancel_schedule(schedule_id)

    async def cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.cancel``; ``True`` says that there is an unfinished run to cancel."""
        own = self._started.get(run_id or "")
        target = (
            await self.scope.to_cancel(agent, run_id, thread_key, by)
            if own is None
            else Target(own.thread_id, own.thread_key, own.run_id)
        )
        if target is None:
            return False
        await self._promise("agentCancel", target, self.scope.runs.store.cancel)
        return True

    async def status(self, agent: str, run_id: str) -> str | None:
        """See ``AgentCalls.status``."""
        own = self._started.get(run_id)
        return await self.scope.status(agent, run_id) if own is None else _status_of(own)

    async def result(
        self, agent: str, run_id: str, form: OutputSchema | None
    ) -> RunResult[Any] | None:
        """See ``AgentCalls.result``; of a run of this transaction there is none yet."""
        own = self._started.get(run_id)
        if own is None:
            return await self.scope.result(agent, run_id, form)
        return RunResult(run_id, _status_of(own))

    async def signal(
        self, agent: str, thread_key: str, message: str, mode: DeliveryMode, by: Identity | None
    ) -> Signalled:
        """See ``AgentCalls.signal``."""
        own = (run.thread_id for run in self._started.values() if run.thread_key == thread_key)
        thread_id = next(own, None)
        if thread_id is None:
            thread_id = await self.scope.thread_to_signal(agent, thread_key, by)
        stored = await self.unit.signal(self.scope.signal_of(agent, thread_id, message, mode, by))
        if stored is None:
            raise NotFound(f"no thread {thread_key!r} of agent {agent!r}")
        return stored

    async def send_event(
        self, agent: str, run_id: str, name: str, payload: object, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.send_event``."""
        event, text = checked_event(name), checked_payload(payload)
        if run_id not in self._started and not await self.scope.may_tell(agent, run_id, by):
            return False
        return await self.unit.send_event(run_id, event, text)

    async def retry(self, agent: str, run_id: str, by: Identity | None) -> bool:
        """See ``AgentCalls.retry``; ``True`` says that it failed and is its thread's to retry."""
        target = await self.scope.to_retry(agent, run_id, by)
        if target is None:
            return False
        run = await self.scope.runs.reader.run(target.run_id)
        if run is None or run.status is not RunStatus.FAILED:
            raise Conflict("only a run that failed can be retried")
        await self._promise("agentRetry", target, self._retry)
        return True

    async def after_commit(self) -> None:
        """Do what had to wait for the commit."""
        for call in self._owed:
            await call()

    async def _promise(self, function: str, target: Target, do: _Act) -> None:
        """Have it done once this has committed: at once, or by a worker that calls ``function``."""
        call_id = self.scope.runs.ids.new()
        arguments = encode({"key": target.thread_key, "runId": target.run_id})
        call = CallTarget(f"{BUILT_IN_MODULE}:{function}", arguments, SERVER)
        await self.unit.schedule_call(call_id, call, self.now() + PATIENCE)
        self._owed.append(lambda: self._keep(call_id, target, do))

    async def _keep(self, call_id: str, target: Target, do: _Act) -> None:
        try:
            await do(target.thread_id, target.run_id)
            await self.scope.runs.calls.cancel(call_id)
        except TransientFault as error:
            log.warning("run %s is left to a worker: %s", target.run_id, error.message)

    async def _retry(self, thread_id: str, run_id: str) -> None:
        try:
            await self.scope.runs.store.retry(thread_id, run_id)
        except Conflict as error:  # another start was quicker; the mutation itself has happened
            log.info("run %s is not retried: %s", run_id, error.message)


def _status_of(started: StartedRun) -> str:
    return (RunStatus.QUEUED if started.position is None else RunStatus.PENDING).value
