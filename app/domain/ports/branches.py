"""Forks and branches: what is asked about a conversation, and what is made of it."""

from dataclasses import dataclass
from typing import Protocol

from app.domain.branching import Asked, Conversation
from app.domain.ports.runs import StartedRun, StartRun


@dataclass(frozen=True, slots=True)
class NewBranch:
    """A branch to make, with a run to start in it.

    Attributes:
        root_id: the conversation's.
        source_id: whose messages it begins with: the first ``shared`` ones.
        start: of the run; its thread is the branch.
    """

    root_id: str
    source_id: str
    shared: int
    start: StartRun


@dataclass(frozen=True, slots=True)
class NewFork:
    """A conversation to make that begins with another one's messages.

    Attributes:
        source_id: whose messages.
        thread_id: the new thread's, and its key.
        owner: to whom it belongs.
        message_id: the last message that is copied; ``None``: all are.
        before: that message itself is left out.
        title: ``None``: as the other one is called.
    """

    source_id: str
    thread_id: str
    owner: str | None
    message_id: str | None = None
    before: bool = False
    title: str | None = None


class BranchMaker(Protocol):
    """Makes forks and branches, as part of a transaction."""

    async def branch(self, new: NewBranch) -> StartedRun:
        """Make a branch, start its run and select it.  Locks the root.

        Raises:
            NotFound: there is no such conversation any more.
            Conflict: it has as many branches as it may have, or changed meanwhile.
        """
        ...

    async def fork(self, new: NewFork) -> None:
        """Make a conversation.  Locks the one that it is made from.

        Raises:
            NotFound: there is no such thread, or no such message in it.
            InvalidArgument: the cut would part a call from its result.
        """
        ...


class BranchStore(Protocol):
    """Finds what a branch begins with, and selects one.  Checks nobody's rights."""

    async def conversation(self, key: str) -> Conversation | None:
        """Return the conversation of the thread with this key."""
        ...

    async def asked(self, conversation: Conversation, message_id: str | None) -> Asked | None:
        """Return what a run was asked.

        Args:
            conversation: whose threads are looked at.
            message_id: a message of the run, in any of the threads; ``None``: the last run of
                the conversation's thread, or of the selected one if that is the root.

        Returns:
            ``None``: there is no such message, or it belongs to no run.
        """
        ...

    async def thread_of(self, conversation: Conversation, message_id: str | None) -> str | None:
        """Return which of the conversation's threads has this message.

        ``None`` for a message is any of the thread that is meant, as for ``asked``.
        """
        ...

    async def select(self, root_id: str, thread_id: str) -> bool:
        """Select a thread of a conversation; ``False``: it is none of its threads."""
        ...
