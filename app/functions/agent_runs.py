"""What ``ctx.agents`` does: at once in an action, as part of the transaction in a mutation."""

from dataclasses import dataclass, field

from app.authoring.producer import RunRequest, StartedAgentRun
from app.domain.errors import InvalidArgument
from app.domain.identity import Identity
from app.domain.ports import Ids, RunStore, StartedRun, StartRun, ThreadReader
from app.domain.run import FINAL, RunStatus
from app.functions.ports import ThreadWriter, UnitOfWork
from app.threads.access import readable_thread, thread_of
from app.threads.starting import Prompt, start_of


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """The stores that producers work on."""

    store: RunStore
    reader: ThreadReader
    writer: ThreadWriter
    ids: Ids


@dataclass(frozen=True, slots=True)
class CancelTarget:
    """The run that a cancel means."""

    thread_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class CallScope:
    """The call that a producer is used in."""

    runs: AgentRuns
    caller: Identity
    dedupe: str | None

    def start_of(self, request: RunRequest) -> StartRun:
        """Return the start that a producer asks for in this call."""
        return start_of(
            Prompt(
                agent=request.agent,
                text=request.input,
                thread_key=request.thread_key,
                owner=request.owner,
                author=self.caller.user_id,
                title=request.title,
                model=request.model,
                max_turns=request.max_turns,
                dedupe=self.dedupe,
                as_admin=self.caller.is_admin,
            ),
            self.runs.ids,
        )

    async def status(self, agent: str, run_id: str) -> str | None:
        """Return where a run of this agent is."""
        run = await self.runs.reader.run(run_id)
        return run.status.value if run is not None and run.agent == agent else None

    async def target(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> CancelTarget | None:
        """Return the unfinished run that a cancel means; ``None``: there is none for ``by``."""
        reader = self.runs.reader
        if run_id is None:
            if thread_key is None:
                raise InvalidArgument("cancel needs the id of a run or the key of a thread")
            thread = await readable_thread(reader, thread_key, by or _SERVER)
            if thread is None or thread.live_run is None:
                return None
            return CancelTarget(thread.id, thread.live_run)
        run = await reader.run(run_id)
        if run is None or run.agent != agent or run.status in FINAL:
            return None
        thread = await thread_of(reader, run, by or _SERVER)
        if thread is None or (thread_key is not None and thread.key != thread_key):
            return None
        return CancelTarget(thread.id, run.id)


_SERVER = Identity(roles=frozenset({"admin"}))
"""Server code may reach every thread."""


@dataclass(slots=True)
class ImmediateCalls:
    """Producers of an action: each call is a transaction of its own."""

    scope: CallScope

    async def start(self, request: RunRequest) -> StartedAgentRun:
        """See ``AgentCalls.start``."""
        started = await self.scope.runs.store.start(self.scope.start_of(request))
        return StartedAgentRun(started.run_id, started.thread_key)

    async def cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.cancel``."""
        target = await self.scope.target(agent, run_id, thread_key, by)
        if target is None:
            return False
        return await self.scope.runs.store.cancel(target.thread_id, target.run_id) is not None

    async def status(self, agent: str, run_id: str) -> str | None:
        """See ``AgentCalls.status``."""
        return await self.scope.status(agent, run_id)


@dataclass(slots=True)
class TransactionalCalls:
    """Producers of a mutation: starts are written in it, cancels follow its commit.

    A cancel cannot be part of it: it takes what the journal still holds and ends a run
    under that thread's own lock.
    """

    scope: CallScope
    unit: UnitOfWork
    _started: dict[str, StartedRun] = field(default_factory=dict)
    _cancels: list[CancelTarget] = field(default_factory=list)

    async def start(self, request: RunRequest) -> StartedAgentRun:
        """See ``AgentCalls.start``."""
        started = await self.unit.start(self.scope.start_of(request))
        self._started[started.run_id] = started
        return StartedAgentRun(started.run_id, started.thread_key)

    async def cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> bool:
        """See ``AgentCalls.cancel``; ``True`` says that there is an unfinished run to cancel."""
        own = self._started.get(run_id or "")
        target = (
            await self.scope.target(agent, run_id, thread_key, by)
            if own is None
            else CancelTarget(own.thread_id, own.run_id)
        )
        if target is None:
            return False
        self._cancels.append(target)
        return True

    async def status(self, agent: str, run_id: str) -> str | None:
        """See ``AgentCalls.status``."""
        if run_id in self._started:
            return RunStatus.QUEUED.value
        return await self.scope.status(agent, run_id)

    async def after_commit(self) -> None:
        """Do what had to wait for the commit."""
        for target in self._cancels:
            await self.scope.runs.store.cancel(target.thread_id, target.run_id)
