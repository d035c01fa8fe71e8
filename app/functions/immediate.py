"""``ctx.agents`` and ``ctx.scheduler`` of an action: each call is a transaction of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.authoring.output_type import OutputSchema
from app.authoring.producer import DeliveryMode, RunRequest, StartedAgentRun
from app.authoring.run_result import RunResult
from app.authoring.scheduler import FunctionReference, Scheduled, ScheduledRun
from app.domain.errors import NotFound
from app.domain.identity import Identity
from app.domain.ports import StartedRun
from app.domain.signal import Signalled
from app.functions.agent_runs import CallScope
from app.threads.signalling import checked_event, checked_payload


@dataclass(frozen=True, slots=True)
class ImmediateCalls:
    """Implements ``AgentCalls`` and ``ScheduleCalls``, which say what each does."""

    scope: CallScope

    def now(self) -> datetime:
        """See ``ScheduleCalls.now``."""
        return self.scope.now()

    async def start(self, request: RunRequest) -> StartedAgentRun:
        """See ``AgentCalls.start``."""
        return shown(await self.scope.runs.store.start(self.scope.start_of(request)))

    async def schedule(self, request: RunRequest, due_at: datetime) -> ScheduledRun:
        """See ``ScheduleCalls.schedule``."""
        start, timer_id = await self.scope.later_start_of(request), self.scope.runs.ids.new()
        await self.scope.runs.store.schedule(timer_id, start, due_at)
        return ScheduledRun(timer_id, due_at, start.run_id, start.thread_key)

    async def schedule_call(
        self, function: FunctionReference, arguments: Mapping[str, object], due_at: datetime
    ) -> Scheduled:
        """See ``ScheduleCalls.schedule_call``."""
        target, call_id = self.scope.later_call_of(function, arguments), self.scope.runs.ids.new()
        await self.scope.runs.calls.put(call_id, target, due_at)
        return Scheduled(call_id, due_at)

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """See ``ScheduleCalls.cancel_schedule``."""
        runs = self.scope.runs
        return await runs.store.unschedule(schedule_id) or await runs.calls.cancel(schedule_id)

    async def cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.cancel``."""
        target = await self.scope.to_cancel(agent, run_id, thread_key, by)
        if target is None:
            return False
        return await self.scope.runs.store.cancel(target.thread_id, target.run_id) is not None

    async def status(self, agent: str, run_id: str) -> str | None:
        """See ``AgentCalls.status``."""
        return await self.scope.status(agent, run_id)

    async def result(
        self, agent: str, run_id: str, form: OutputSchema | None
    ) -> RunResult[Any] | None:
        """See ``AgentCalls.result``."""
        return await self.scope.result(agent, run_id, form)

    async def signal(
        self, agent: str, thread_key: str, message: str, mode: DeliveryMode, by: Identity | None
    ) -> Signalled:
        """See ``AgentCalls.signal``."""
        thread_id = await self.scope.thread_to_signal(agent, thread_key, by)
        signal = self.scope.signal_of(agent, thread_id, message, mode, by)
        stored = await self.scope.runs.store.signal(signal)
        if stored is None:
            raise NotFound(f"no thread {thread_key!r} of agent {agent!r}")
        return stored

    async def send_event(
        self, agent: str, run_id: str, name: str, payload: object, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.send_event``."""
        event, text = checked_event(name), checked_payload(payload)
        if not await self.scope.may_tell(agent, run_id, by):
            return False
        return await self.scope.runs.store.send_event(run_id, event, text)

    async def retry(self, agent: str, run_id: str, by: Identity | None) -> bool:
        """See ``AgentCalls.retry``."""
        target = await self.scope.to_retry(agent, run_id, by)
        if target is None:
            return False
        return await self.scope.runs.store.retry(target.thread_id, target.run_id) is not None


def shown(started: StartedRun) -> StartedAgentRun:
    """Return a start as its author sees it."""
    return StartedAgentRun(
        started.run_id, started.thread_key, steered=started.steered, position=started.position
    )
