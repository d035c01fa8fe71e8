"""The read side: what feeds, HTTP and functions show."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.approval import Approval
from app.domain.branching import Branches
from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.run import Run, RunStatus
from app.domain.storable import Json
from app.domain.thread import Thread


@dataclass(frozen=True, slots=True)
class WaitingSend:
    """A send that waits: a run held back until the thread is free, or an unread signal.

    ``id`` is the run's or the signal's; ``is_run`` says which.
    """

    id: str
    is_run: bool
    text: str
    created_at: datetime
    author: str | None = None
    dedupe: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """A thread and messages of it, as of one version (``thread.version``).

    ``waiting`` are sends that nobody has read yet, in the order in which they will be.
    ``run_id``, ``run_status``, ``stopped`` and ``output`` are of the live run, else of the one that
    ended last.
    ``complete`` is false when more rows changed than were asked for.
    ``branches`` are those of a root that has any, ``conversation`` is the root's key of a branch.
    """

    thread: Thread
    messages: Sequence[Message]
    approvals: Sequence[Approval]
    waiting: Sequence[WaitingSend] = ()
    run_id: str | None = None
    run_status: RunStatus | None = None
    stopped: str | None = None
    output: Json = None
    complete: bool = True
    branches: Branches | None = None
    conversation: str | None = None


class ThreadReader(Protocol):
    """Reads threads.  Never locks."""

    async def find(self, key: str) -> Thread | None:
        """Return the thread with this key."""
        ...

    async def run(self, run_id: str) -> Run | None:
        """Return one run."""
        ...

    async def page(self, thread_id: str, before: int | None, limit: int) -> list[Message]:
        """Return the newest ``limit`` messages with ``seq`` below ``before``, oldest first."""
        ...

    async def snapshot(
        self, key: str, limit: int, readers: Collection[Identity] | None = None
    ) -> ThreadSnapshot | None:
        """Return thread, newest messages and pending approvals, read in one snapshot.

        Args:
            key: the thread's.
            limit: of messages.
            readers: who asks, if that is known.  What answers to none of them comes without
                anything but the thread, so that it costs what a key costs that is not in use.
        """
        ...

    async def delta(self, thread_id: str, after: int, limit: int) -> ThreadSnapshot | None:
        """Return the thread, the messages changed after that version and pending approvals."""
        ...

    async def approvals(
        self,
        *,
        key: str | None = None,
        everything: bool = False,
        calls: Sequence[str] | None = None,
        visible_to: Identity | None = None,
        agents: Sequence[str] = (),
        limit: int = 200,
    ) -> list[Approval]:
        """Return approvals: those that wait, oldest first; then, newest first, the others.

        Args:
            key: of one thread: those that it asks for, and those of the runs below it.
            everything: also those that were decided or closed.
            calls: only of these tool calls, and only those that the thread itself asks for.
            visible_to: only what he may see: an admin everything, others those of their own
                threads, of ``agents``, and those for which they are named as an approver, by
                an operator or else by the call's rules.
            agents: see there.
            limit: how many at most.
        """
        ...

    async def versions(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the current version of each of these threads, in one query."""
        ...

    async def sessions(
        self, agent: str, owner: str | None, *, everybody: bool, before: str | None, limit: int
    ) -> list[Thread]:
        """Return conversations with an agent, newest activity first: their roots, no branches.

        Status and error are those of the branch that is shown.

        ``everybody`` (admins) ignores ``owner``; otherwise only the owner's own ones are listed.
        ``before`` is the id of the last thread of the page before.
        """
        ...

    async def state(self, thread_id: str) -> str | None:
        """Return the JSON of the thread's synced state; ``None`` when it has none."""
        ...

    async def timeline(self) -> str:
        """Return ``system_identifier-timeline_id`` of the database."""
        ...
