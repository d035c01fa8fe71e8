"""``ctx.agents``: how server code starts, steers, cancels and watches runs.

Whoever holds a producer is server code and trusted: ``owner`` says to whom a new
thread belongs, and a thread that belongs to somebody else is refused.  Whether a
start is part of a transaction is decided by the context that the producer came
from, not by its user.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, Required, TypeAlias, TypedDict, Unpack, overload

from app.authoring.output_type import OutputSchema
from app.authoring.run_result import Output, RunResult
from app.domain.errors import NotFound
from app.domain.identity import Identity
from app.domain.signal import Signalled
from app.domain.storable import Json

RESERVED_SLUGS = frozenset({"run"})
"""Slugs that would hide a method of ``ctx.agents``."""

OnConcurrentRun: TypeAlias = Literal["reject", "replace", "queue", "steer"]
"""What a start does on a thread that has an unfinished run; see ``app.domain.ports.OnBusy``."""

DeliveryMode: TypeAlias = Literal["queue", "inject"]
"""When a signal is read: after the running prompt, or before its next model request."""


class RunOptions(TypedDict, total=False):
    """What ``ctx.scheduler`` takes; ``Producer.run`` says what each means."""

    input: Required[str]
    owner: str | None
    thread_key: str | None
    title: str | None
    model: str | None
    max_turns: int | None
    timeout: timedelta | float | None
    initial_state: Json
    output_schema: OutputSchema | None


class StartOptions(RunOptions, total=False):
    """What ``run`` takes."""

    on_concurrent_run: OnConcurrentRun | None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a producer asks for; what is ``None`` is made up, or the agent's own."""

    agent: str
    input: str
    owner: str | None = None
    thread_key: str | None = None
    title: str | None = None
    model: str | None = None
    max_turns: int | None = None
    on_concurrent_run: OnConcurrentRun | None = None
    timeout: timedelta | float | None = None
    initial_state: Json = None
    output_schema: OutputSchema | None = None


@dataclass(frozen=True, slots=True)
class StartedAgentRun:
    """A run that was started; inside a mutation, one that exists once it has committed.

    Attributes:
        id: the run's; of a steered send, that of the run which will read it.
        thread_key: the conversation's.
        steered: whether the running run gets the input as a message, and none was started.
        position: the place, from 1, of a run that waits until its thread is free.
    """

    id: str
    thread_key: str
    steered: bool = False
    position: int | None = None


class AgentCalls(Protocol):
    """What a context does for its producers; ``agent`` is the producer's."""

    async def start(self, request: RunRequest) -> StartedAgentRun:
        """Start a run."""
        ...

    async def cancel(
        self, agent: str, run_id: str | None, thread_key: str | None, by: Identity | None
    ) -> bool:
        """End a run, or the live run of a thread, as cancelled."""
        ...

    async def status(self, agent: str, run_id: str) -> str | None:
        """Return where a run is."""
        ...

    async def result(
        self, agent: str, run_id: str, form: OutputSchema | None
    ) -> RunResult[Any] | None:
        """Return what a run has come to, its output as an instance of ``form``."""
        ...

    async def signal(
        self, agent: str, thread_key: str, message: str, mode: DeliveryMode, by: Identity | None
    ) -> Signalled:
        """Put a message into a conversation."""
        ...

    async def send_event(
        self, agent: str, run_id: str, name: str, payload: object, by: Identity | None
    ) -> bool:
        """Give an event to a run."""
        ...

    async def retry(self, agent: str, run_id: str, by: Identity | None) -> bool:
        """Let a failed run go on."""
        ...


class Producer:
    """Runs of one agent.

    Attributes:
        slug: the agent's.
    """

    def __init__(self, slug: str, calls: AgentCalls) -> None:
        self.slug = slug
        self._calls = calls

    async def run(
        self,
        *,
        input: str,  # noqa: A002  # the word of the public surface
        owner: str | None = None,
        thread_key: str | None = None,
        title: str | None = None,
        model: str | None = None,
        max_turns: int | None = None,
        on_concurrent_run: OnConcurrentRun | None = None,
        timeout: timedelta | float | None = None,  # noqa: ASYNC109  # the run's, not this call's
        initial_state: Json = None,
        output_schema: OutputSchema | None = None,
    ) -> StartedAgentRun:
        """Start a run, or continue a thread, and return at once.

        Args:
            input: what the user says.
            owner: to whom a new thread belongs; it stays so.  ``None``: whoever knows its key.
            thread_key: the conversation to continue or begin; a fresh one when left out.
            title: what a new thread is called; by default the beginning of its first input.
            model: another model than the agent's, as ``provider:model``.
            max_turns: another limit than the agent's.
            on_concurrent_run: what to do when the thread has an unfinished run, if not what
                the agent says: ``reject`` this start, ``replace`` that run, ``queue`` until it
                has ended, or ``steer``: give it the input before its next model request.
            timeout: another limit than the agent's, a duration or seconds: the run fails this
                long after it could begin, wherever it is.
            initial_state: what a new thread's state begins with, if not what the agent says.
            output_schema: another form of the answer than the agent's, a JSON Schema or a type
                that has one (a pydantic model): the run ends with an ``output`` that fits.  Such
                a start never steers another run; it waits for the thread instead.

        Raises:
            Forbidden: the thread belongs to somebody else.
            Conflict: the thread has an unfinished run and the start is to be rejected; ``data``
                has ``runId`` and ``status``.
            InvalidArgument: a value is out of its bounds.
        """
        return await self._calls.start(
            RunRequest(
                self.slug,
                input,
                owner,
                thread_key,
                title,
                model,
                max_turns,
                on_concurrent_run,
                timeout,
                initial_state,
                output_schema,
            )
        )

    async def cancel(
        self,
        run_id: str | None = None,
        *,
        thread_key: str | None = None,
        by: Identity | None = None,
    ) -> bool:
        """Cancel a run and return whether this call ended it.

        A run that is finished, or that there is not, is left alone.  In a mutation the
        run is cancelled right after the commit.

        Args:
            run_id: the run that is meant; ``None`` is whatever runs on the thread now.
            thread_key: the run's thread; needed without ``run_id``.
            by: a caller who must own the thread (``ctx.auth``).  ``None``: the server itself.
        """
        return await self._calls.cancel(self.slug, run_id, thread_key, by)

    async def status(self, run_id: str) -> str | None:
        """Return the run's status (``queued``, ``running``, ...); ``None`` for no such run."""
        return await self._calls.status(self.slug, run_id)

    @overload
    async def result(self, run_id: str) -> RunResult[Any] | None: ...
    @overload
    async def result(
        self, run_id: str, *, output_schema: type[Output]
    ) -> RunResult[Output] | None: ...
    @overload
    async def result(
        self, run_id: str, *, output_schema: OutputSchema
    ) -> RunResult[Any] | None: ...
    async def result(
        self, run_id: str, *, output_schema: OutputSchema | None = None
    ) -> RunResult[Any] | None:
        """Return what a run has come to by now; ``None`` for no such run.  Waits for nothing.

        Args:
            run_id: the run that is meant.
            output_schema: the type that the output is read as.  Without one it is the agent's
                ``output``, if the run was asked for in that; what was asked for in a form of the
                start's own, or in a JSON Schema, is plain JSON.

        Raises:
            OutputMismatch: the output is no instance of the type.
        """
        return await self._calls.result(self.slug, run_id, output_schema)

    async def signal(
        self,
        thread_key: str,
        message: str,
        mode: DeliveryMode = "queue",
        *,
        by: Identity | None = None,
    ) -> Signalled:
        """Put a message into a conversation; never refused because the thread is busy.

        On an idle thread it starts a run that answers (``woke``).

        Args:
            thread_key: the conversation.
            message: what the agent reads, as ``[message] ...``.
            mode: ``queue``: when the running prompt has ended; ``inject``: before its next
                model request.
            by: a caller who must own the thread (``ctx.auth``).  ``None``: the server itself.

        Raises:
            NotFound: the agent has no such thread.
            Forbidden: ``by`` may not.
        """
        return await self._calls.signal(self.slug, thread_key, message, mode, by)

    async def send_event(
        self, run_id: str, name: str, payload: object = None, *, by: Identity | None = None
    ) -> bool:
        """Give an event to an unfinished run, and wake it if it waits for one of this name.

        Returns whether there is such a run.

        Args:
            run_id: the run that is meant.
            name: of the event, as the run waits for it.
            payload: anything that JSON can say; what the wait returns.
            by: a caller who must own the thread (``ctx.auth``).  ``None``: the server itself.

        Raises:
            Forbidden: ``by`` may not.
        """
        return await self._calls.send_event(self.slug, run_id, name, payload, by)

    async def retry(self, run_id: str, *, by: Identity | None = None) -> bool:
        """Let a failed run go on from its last finished step; ``False``: no such run.

        In a mutation it goes on right after the commit.

        Args:
            run_id: its thread's newest run.
            by: a caller to whom the thread must answer (``ctx.auth``).  ``None``: the server.

        Raises:
            Conflict: it did not fail, is not the newest, or the thread is busy.
        """
        return await self._calls.retry(self.slug, run_id, by)


class Producers:
    """``ctx.agents``: a producer for each agent, by the slug's name (``-`` becomes ``_``)."""

    def __init__(self, slugs: Collection[str], calls: AgentCalls) -> None:
        self._calls = calls
        self._by_name: Mapping[str, str] = {attribute_name(slug): slug for slug in slugs}

    def __getattr__(self, name: str) -> Producer:
        slug = self._by_name.get(name)
        if slug is None:
            raise AttributeError(f"no agent {name!r}; there are: {self._known()}")
        return Producer(slug, self._calls)

    async def run(self, slug: str, **options: Unpack[StartOptions]) -> StartedAgentRun:
        """Do what ``ctx.agents.SLUG.run`` does, for a slug that is known at run time only.

        Raises:
            NotFound: there is no such agent.
        """
        if slug not in self._by_name.values():
            raise NotFound(f"no agent {slug!r}; there are: {self._known()}")
        return await Producer(slug, self._calls).run(**options)

    def _known(self) -> str:
        return ", ".join(sorted(self._by_name.values())) or "none"


def attribute_name(slug: str) -> str:
    """Return the name of an agent's attribute on ``ctx.agents``."""
    return slug.replace("-", "_")
