"""``ctx.agents``: how server code starts, cancels and watches runs.

Whoever holds a producer is server code and trusted: ``owner`` says to whom a new
thread belongs, and a thread that belongs to somebody else is refused.  Whether a
start is part of a transaction is decided by the context that the producer came
from, not by its user.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.domain.errors import NotFound
from app.domain.identity import Identity

RESERVED_SLUGS = frozenset({"run"})
"""Slugs that would hide a method of ``ctx.agents``."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a producer asks for.  ``thread_key`` is made up when there is none."""

    agent: str
    input: str
    owner: str | None = None
    thread_key: str | None = None
    title: str | None = None
    model: str | None = None
    max_turns: int | None = None


@dataclass(frozen=True, slots=True)
class StartedAgentRun:
    """A run that was started; inside a mutation, one that exists once it has committed."""

    id: str
    thread_key: str


class AgentCalls(Protocol):
    """What a context does for its producers."""

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


class Producer:
    """Runs of one agent."""

    def __init__(self, agent: str, calls: AgentCalls) -> None:
        self._agent = agent
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
    ) -> StartedAgentRun:
        """Start a run, or continue a thread, and return at once.

        Args:
            input: what the user says.
            owner: to whom a new thread belongs; it stays so.  ``None``: whoever knows its key.
            thread_key: the conversation to continue or begin; a fresh one when left out.
            title: what a new thread is called; by default the beginning of its first input.
            model: another model than the agent's, as ``provider:model``.
            max_turns: another limit than the agent's.

        Raises:
            Forbidden: the thread belongs to somebody else.
            Conflict: the thread has an unfinished run; ``data`` has ``runId`` and ``status``.
            InvalidArgument: a value is out of its bounds.
        """
        return await self._calls.start(
            RunRequest(self._agent, input, owner, thread_key, title, model, max_turns)
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
        return await self._calls.cancel(self._agent, run_id, thread_key, by)

    async def status(self, run_id: str) -> str | None:
        """Return the run's status (``queued``, ``running``, ...); ``None`` for no such run."""
        return await self._calls.status(self._agent, run_id)


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

    async def run(
        self,
        slug: str,
        *,
        input: str,  # noqa: A002  # the word of the public surface
        owner: str | None = None,
        thread_key: str | None = None,
        title: str | None = None,
        model: str | None = None,
        max_turns: int | None = None,
    ) -> StartedAgentRun:
        """Do what ``ctx.agents.SLUG.run`` does, for a slug that is known at run time only.

        Raises:
            NotFound: there is no such agent.
        """
        if slug not in self._by_name.values():
            raise NotFound(f"no agent {slug!r}; there are: {self._known()}")
        return await self._calls.start(
            RunRequest(slug, input, owner, thread_key, title, model, max_turns)
        )

    def _known(self) -> str:
        return ", ".join(sorted(self._by_name.values())) or "none"


def attribute_name(slug: str) -> str:
    """Return the name of an agent's attribute on ``ctx.agents``."""
    return slug.replace("-", "_")
