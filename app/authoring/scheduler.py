"""``ctx.scheduler``: runs that start later, once, whoever restarts in between.

A schedule is a row of the database, made in the mutation's own transaction: a mutation that
rolls back has scheduled nothing.  A run that is due on a busy thread waits until it is free,
whatever its agent says of other starts: nobody is there to be told that it was refused.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias, cast

from app.authoring.producer import RunOptions, RunRequest
from app.domain.errors import InvalidArgument, NotFound

LONGEST = timedelta(days=3660)


class HasSlug(Protocol):
    """An ``Agent``, or a producer of ``ctx.agents``."""

    @property
    def slug(self) -> str:
        """The agent's."""
        ...


AgentReference: TypeAlias = HasSlug | str


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A run that will start.

    Attributes:
        id: the schedule's.
        run_id: what the run will be called.
        thread_key: the conversation that it will be part of.
        due_at: when.
    """

    id: str
    run_id: str
    thread_key: str
    due_at: datetime


class ScheduleCalls(Protocol):
    """What a context does for its scheduler."""

    def now(self) -> datetime:
        """Return the time."""
        ...

    async def schedule(self, request: RunRequest, due_at: datetime) -> Scheduled:
        """Start a run when it is due."""
        ...


class Scheduler:
    """Starts runs of agents later."""

    def __init__(self, slugs: Collection[str], calls: ScheduleCalls) -> None:
        self._slugs = slugs
        self._calls = calls

    async def run_after(
        self, delay: timedelta | float, agent: AgentReference, run: RunOptions
    ) -> Scheduled:
        """Start a run after a while, pinned to the version that the agent has now.

        Args:
            delay: how long to wait; a number counts milliseconds.
            agent: the agent, ``ctx.agents.SLUG`` or a slug.
            run: ``{"input": ..., "thread_key": ...}``, and what else ``RunOptions`` has.

        Raises:
            InvalidArgument: something is out of its bounds.
            NotFound: there is no such agent.
            Forbidden: the thread belongs to somebody else.
        """
        try:
            wait = delay if isinstance(delay, timedelta) else timedelta(milliseconds=delay)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument(f"run_after: {delay!r} are no milliseconds") from None
        if not timedelta(0) <= wait <= LONGEST:
            raise InvalidArgument(f"run_after: from nothing to {LONGEST.days} days, got {wait}")
        return await self._schedule(agent, run, self._calls.now() + wait)

    async def run_at(self, due_at: datetime, agent: AgentReference, run: RunOptions) -> Scheduled:
        """Start a run at a time; one that is past is at once.

        Args:
            due_at: a datetime that knows its timezone.
            agent: the agent, ``ctx.agents.SLUG`` or a slug.
            run: see ``run_after``.

        Raises:
            InvalidArgument: something is out of its bounds.
            NotFound: there is no such agent.
            Forbidden: the thread belongs to somebody else.
        """
        if due_at.utcoffset() is None:
            raise InvalidArgument(f"run_at: {due_at} has no timezone; say which, as tzinfo=UTC")
        if due_at > self._calls.now() + LONGEST:
            raise InvalidArgument(f"run_at: within {LONGEST.days} days, got {due_at}")
        return await self._schedule(agent, run, due_at)

    async def _schedule(
        self, agent: AgentReference, run: RunOptions, due_at: datetime
    ) -> Scheduled:
        slug = agent if isinstance(agent, str) else agent.slug
        if slug not in self._slugs:
            raise NotFound(f"no agent {slug!r}; there are: {', '.join(sorted(self._slugs))}")
        return await self._calls.schedule(_request(slug, run), due_at)


def _request(slug: str, run: RunOptions) -> RunRequest:
    options = cast(Mapping[str, Any], run)
    unknown = sorted(set(options) - RunOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(RunOptions.__annotations__)
        raise InvalidArgument(f"{', '.join(unknown)}: a run takes {known}")
    if not isinstance(options.get("input"), str):
        raise InvalidArgument("a scheduled run needs an input, what the user says")
    return RunRequest(slug, **options)
