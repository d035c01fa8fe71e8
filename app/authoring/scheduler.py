"""``ctx.scheduler``: runs and calls that start later, once, whoever restarts in between.

A schedule is a row of the database, made in the mutation's own transaction: a mutation that
rolls back has scheduled nothing.  A run that is due on a busy thread waits until it is free,
whatever its agent says of other starts: nobody is there to be told that it was refused.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeGuard, cast, overload

from app.authoring.agent_reference import AgentReference, HasSlug, slug_of
from app.authoring.functions import ServerFunction
from app.authoring.producer import RunOptions, RunRequest
from app.domain.errors import InvalidArgument, NotFound

LONGEST = timedelta(days=3660)

FunctionReference = ServerFunction[..., Any] | str
"""A decorated function, or its ``module:name``."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Something that will happen.

    Attributes:
        id: the schedule's, for ``cancel``.
        due_at: when.
    """

    id: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduledRun(Scheduled):
    """A run that will start.

    Attributes:
        run_id: what it will be called.
        thread_key: the conversation that it will be part of.
    """

    run_id: str
    thread_key: str


class ScheduleCalls(Protocol):
    """What a context does for its scheduler."""

    def now(self) -> datetime:
        """Return the time."""
        ...

    async def schedule(self, request: RunRequest, due_at: datetime) -> ScheduledRun:
        """Start a run when it is due."""
        ...

    async def schedule_call(
        self, function: FunctionReference, arguments: Mapping[str, object], due_at: datetime
    ) -> Scheduled:
        """Call a function when it is due."""
        ...

    async def cancel_schedule(self, schedule_id: str) -> bool:
        """Take a schedule back."""
        ...


class Scheduler:
    """Starts runs of agents, and calls functions, later."""

    def __init__(self, slugs: Collection[str], calls: ScheduleCalls) -> None:
        self._slugs = slugs
        self._calls = calls

    @overload
    async def run_after(
        self, delay: timedelta | float, target: HasSlug, args: RunOptions
    ) -> ScheduledRun: ...
    @overload
    async def run_after(
        self,
        delay: timedelta | float,
        target: ServerFunction[..., Any] | str,
        args: Mapping[str, object] | RunOptions | None = None,
    ) -> Scheduled: ...
    async def run_after(
        self,
        delay: timedelta | float,
        target: AgentReference | FunctionReference,
        args: Mapping[str, object] | RunOptions | None = None,
    ) -> Scheduled:
        """Start a run, or call a function, after a while.

        A run is pinned to the version that the agent has now.  A mutation is called exactly
        once; an action at most once, unless it is ``idempotent``.  The function sees the
        caller of this one as its own.

        Args:
            delay: how long to wait; a number counts milliseconds.
            target: an agent (also ``ctx.agents.SLUG`` or its slug), or a mutation or action
                (also as ``"module:name"``).
            args: of a run, ``{"input": ..., "thread_key": ...}`` and what else ``RunOptions``
                has; of a function, its arguments by name.

        Raises:
            InvalidArgument: something is out of its bounds, or does not fit.
            NotFound: there is no such agent or function.
            Forbidden: the thread belongs to somebody else.
        """
        try:
            wait = delay if isinstance(delay, timedelta) else timedelta(milliseconds=delay)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument(f"run_after: {delay!r} are no milliseconds") from None
        if not timedelta(0) <= wait <= LONGEST:
            raise InvalidArgument(f"run_after: from nothing to {LONGEST.days} days, got {wait}")
        return await self._schedule(target, args, self._calls.now() + wait)

    @overload
    async def run_at(self, due_at: datetime, target: HasSlug, args: RunOptions) -> ScheduledRun: ...
    @overload
    async def run_at(
        self,
        due_at: datetime,
        target: ServerFunction[..., Any] | str,
        args: Mapping[str, object] | RunOptions | None = None,
    ) -> Scheduled: ...
    async def run_at(
        self,
        due_at: datetime,
        target: AgentReference | FunctionReference,
        args: Mapping[str, object] | RunOptions | None = None,
    ) -> Scheduled:
        """Start a run, or call a function, at a time; one that is past is at once.

        Args:
            due_at: a datetime that knows its timezone.
            target: see ``run_after``.
            args: see ``run_after``.

        Raises:
            InvalidArgument: something is out of its bounds, or does not fit.
            NotFound: there is no such agent or function.
            Forbidden: the thread belongs to somebody else.
        """
        if due_at.utcoffset() is None:
            raise InvalidArgument(f"run_at: {due_at} has no timezone; say which, as tzinfo=UTC")
        if due_at > self._calls.now() + LONGEST:
            raise InvalidArgument(f"run_at: within {LONGEST.days} days, got {due_at}")
        return await self._schedule(target, args, due_at)

    async def cancel(self, schedule_id: str) -> bool:
        """Take a schedule back, and return whether it was still waiting.

        In a mutation this too happens only if it commits.  A run that has started is for
        ``ctx.agents.SLUG.cancel``.

        Args:
            schedule_id: ``Scheduled.id``.
        """
        return await self._calls.cancel_schedule(schedule_id)

    async def _schedule(
        self,
        target: AgentReference | FunctionReference,
        args: Mapping[str, object] | RunOptions | None,
        due_at: datetime,
    ) -> Scheduled:
        given = cast(Mapping[str, object], args or {})
        if is_function(target):
            return await self._calls.schedule_call(target, given, due_at)
        slug = slug_of(cast(AgentReference, target), self._slugs)
        if slug is None:
            wanted = getattr(target, "slug", target)
            raise NotFound(f"no agent {wanted!r}; there are: {', '.join(sorted(self._slugs))}")
        return await self._calls.schedule(run_request(slug, given), due_at)


def is_function(target: object) -> TypeGuard[FunctionReference]:
    """Whether a target is a function: a declared one, or a reference with a colon."""
    return isinstance(target, ServerFunction) or (isinstance(target, str) and ":" in target)


def run_request(slug: str, options: Mapping[str, Any]) -> RunRequest:
    """Return the run that options ask for.

    Raises:
        InvalidArgument: a run does not take them.
    """
    unknown = sorted(set(options) - RunOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(RunOptions.__annotations__)
        raise InvalidArgument(f"{', '.join(unknown)}: a run takes {known}")
    if not isinstance(options.get("input"), str):
        raise InvalidArgument("a scheduled run needs an input, what the user says")
    return RunRequest(slug, **options)
