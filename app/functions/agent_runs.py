"""What ``ctx.agents`` and ``ctx.scheduler`` mean in one call.

Requests become starts, ids become runs that the caller may reach.  Nothing is written here:
``immediate`` and ``transactional`` do that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from app.authoring.agent import NamedTool
from app.authoring.output_type import AgentOutput, OutputSchema, json_schema_of, parsed
from app.authoring.producer import DeliveryMode, RunRequest
from app.authoring.run_result import RunResult
from app.authoring.scheduler import FunctionReference
from app.authoring.tools import as_duration
from app.domain.errors import Forbidden, InvalidArgument, NotFound
from app.domain.identity import ADMIN, Identity
from app.domain.output_policy import form_policy, is_from_agent
from app.domain.ports import Clock, Ids, OnBusy, RunStore, StartRun, ThreadReader
from app.domain.ports.schedules import CallStore
from app.domain.run import FINAL, Run, Terms
from app.domain.scheduled import CallTarget
from app.domain.signal import NewSignal, SignalMode
from app.domain.storable import Json
from app.functions.ports import ThreadWriter
from app.functions.registry import FunctionRegistry
from app.functions.scheduled import call_target
from app.models.resolve import ModelSource
from app.threads.access import (
    Access,
    check_may_retry,
    check_may_signal,
    meant_thread,
    thread_of,
)
from app.threads.signalling import signal_of
from app.threads.starting import Prompt, checked_key, start_of


class AgentCard(Protocol):
    """What functions know of an agent."""

    @property
    def slug(self) -> str:
        """Its permanent identity."""
        ...

    @property
    def access(self) -> Access:
        """Who may start a run of it from outside."""
        ...

    @property
    def on_concurrent_run(self) -> OnBusy:
        """What a start does on a thread that has an unfinished run."""
        ...

    @property
    def model(self) -> ModelSource:
        """Which model answers, as its code says."""
        ...

    @property
    def version(self) -> str | None:
        """What its runs are pinned to."""
        ...

    @property
    def timeout(self) -> timedelta | None:
        """How long a run of it may take."""
        ...

    @property
    def owner(self) -> str | None:
        """Who is responsible for it: an e-mail or a user id."""
        ...

    @property
    def tools(self) -> Mapping[str, NamedTool]:
        """What it may call."""
        ...

    @property
    def initial_state(self) -> Json:
        """What the state of a new thread begins with."""
        ...

    @property
    def output(self) -> AgentOutput | None:
        """The form of its answers, if a start names no other."""
        ...


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """The stores that producers work on."""

    store: RunStore
    reader: ThreadReader
    writer: ThreadWriter
    ids: Ids
    clock: Clock
    calls: CallStore


@dataclass(frozen=True, slots=True)
class Target:
    """The run that a call means."""

    thread_id: str
    thread_key: str
    run_id: str


SERVER = Identity(roles=frozenset({ADMIN}))
"""Server code may reach every thread."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """The call that a producer is used in."""

    runs: AgentRuns
    agents: Mapping[str, AgentCard]
    caller: Identity
    dedupe: str | None
    functions: FunctionRegistry

    def now(self) -> datetime:
        """Return the time."""
        return datetime.fromtimestamp(self.runs.clock.unix_ms() / 1000, UTC)

    def start_of(self, request: RunRequest) -> StartRun:
        """Return the start that a producer asks for in this call."""
        card = self.agents[request.agent]
        prompt = prompt_of(request, card, self.caller, self.dedupe)
        return start_of(prompt, self.runs.ids)

    async def later_start_of(self, request: RunRequest) -> StartRun:
        """Return a start for a schedule: nobody will be there to hear that it is refused.

        Raises:
            Forbidden: the thread belongs to somebody else.
        """
        # The send is not the one that the caller's dedupe key belongs to.
        start = replace(self, dedupe=None).start_of(request)
        thread = await self.runs.reader.find(start.thread_key)
        if thread is not None and thread.owner not in {None, start.owner} and not start.as_admin:
            raise Forbidden(f"thread {start.thread_key!r} belongs to somebody else")
        return start

    def later_call_of(
        self, function: FunctionReference, arguments: Mapping[str, object]
    ) -> CallTarget:
        """Return a call for a schedule, to be made as this call's caller."""
        return call_target(self.functions, function, arguments, self.caller)

    async def status(self, agent: str, run_id: str) -> str | None:
        """Return where a run of this agent is."""
        run = await self._run(agent, run_id)
        return None if run is None else run.status.value

    async def result(
        self, agent: str, run_id: str, form: OutputSchema | None
    ) -> RunResult[Any] | None:
        """Return what a run of this agent has come to; ``form`` says what its output is read as."""
        run = await self._run(agent, run_id)
        if run is None:
            return None
        declared = self.agents[agent].output
        if form is None and declared is not None and is_from_agent(run.policy):
            form = declared.form
        output = run.output
        if form is not None and output is not None:
            output = parsed(output, form, run.id)
        return RunResult(run.id, run.status.value, output, run.stopped, run.error, run.usage)

    async def to_cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> Target | None:
        """Return the unfinished run that a cancel means; ``None``: there is none for ``by``."""
        reader = self.runs.reader
        if run_id is None:
            if thread_key is None:
                raise InvalidArgument("cancel needs the id of a run or the key of a thread")
            thread = await meant_thread(reader, thread_key, by or SERVER)
            if thread is None or thread.live_run is None:
                return None
            return Target(thread.id, thread.key, thread.live_run)
        run = await self._run(agent, run_id)
        if run is None or run.status in FINAL:
            return None
        if thread_key is None:
            thread = await thread_of(reader, run, by or SERVER)
        else:
            thread = await meant_thread(reader, thread_key, by or SERVER, run.id)
        if thread is None or thread.id != run.thread_id:
            return None
        return Target(thread.id, thread.key, run.id)

    async def to_retry(self, agent: str, run_id: str, by: Identity | None) -> Target | None:
        """Return the run that a retry means; ``None``: there is none for ``by``."""
        caller = by or SERVER
        run = await self._run(agent, run_id)
        thread = None if run is None else await thread_of(self.runs.reader, run, caller)
        if run is None or thread is None:
            return None
        card = self.agents.get(agent)
        check_may_retry(thread, card.access if card else None, caller)
        return Target(thread.id, thread.key, run.id)

    async def may_tell(self, agent: str, run_id: str, by: Identity | None) -> bool:
        """Return whether there is such a run for an event of ``by``'s.

        Raises:
            Forbidden: there is, and it is not his to tell it anything.
        """
        caller = by or SERVER
        run = await self._run(agent, run_id)
        thread = None if run is None else await thread_of(self.runs.reader, run, caller)
        if thread is None:
            return False
        check_may_signal(thread, caller)
        return True

    async def thread_to_signal(self, agent: str, thread_key: str, by: Identity | None) -> str:
        """Return the id of the thread that a signal is for.

        Raises:
            Forbidden: ``by`` may not, or nobody could say.
            NotFound: the agent has no such thread.
        """
        thread = await self.runs.reader.find(checked_key(thread_key))
        check_may_signal(thread, by or SERVER)
        if thread is None or thread.agent != agent:
            raise NotFound(f"no thread {thread_key!r} of agent {agent!r}")
        return thread.id

    def signal_of(
        self, agent: str, thread_id: str, message: str, mode: DeliveryMode, by: Identity | None
    ) -> NewSignal:
        """Return the signal that the caller, or ``by``, puts into a thread of this agent."""
        card = self.agents[agent]
        return signal_of(
            thread_id,
            message,
            _mode(mode),
            by or self.caller,
            terms=Terms(form_policy(None, schema_declared_by(card)), card.version, card.timeout),
            ids=self.runs.ids,
        )

    async def _run(self, agent: str, run_id: str) -> Run | None:
        run = await self.runs.reader.run(run_id)
        return run if run is not None and run.agent == agent else None


def prompt_of(request: RunRequest, card: AgentCard, caller: Identity, dedupe: str | None) -> Prompt:
    """Return what a request asks of an agent; what it leaves open is as the agent says."""
    return Prompt(
        agent=request.agent,
        text=request.input,
        thread_key=request.thread_key,
        owner=request.owner,
        author=caller.user_id,
        title=request.title,
        model=request.model,
        max_turns=request.max_turns,
        output_schema=(
            None if request.output_schema is None else json_schema_of(request.output_schema)
        ),
        declared_output=schema_declared_by(card),
        dedupe=dedupe,
        as_admin=caller.is_admin,
        on_busy=_policy(request.on_concurrent_run or card.on_concurrent_run),
        agent_version=card.version,
        timeout=card.timeout if request.timeout is None else as_duration(request.timeout),
        initial_state=(
            card.initial_state if request.initial_state is None else request.initial_state
        ),
    )


def schema_declared_by(card: AgentCard) -> Mapping[str, Json] | None:
    """Return the JSON Schema of an agent's answers, if it declares a form."""
    return None if card.output is None else card.output.schema


def _policy(word: str) -> OnBusy:
    try:
        return OnBusy(word)
    except ValueError:
        known = ", ".join(each.value for each in OnBusy)
        raise InvalidArgument(f"on_concurrent_run={word!r}: it is one of {known}") from None


def _mode(word: str) -> SignalMode:
    if word not in {SignalMode.QUEUE, SignalMode.INJECT}:
        raise InvalidArgument(f"mode={word!r}: a signal is to queue or to inject")
    return SignalMode(word)
