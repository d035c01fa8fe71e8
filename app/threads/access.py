"""Who may see, start and decide what.  Pure; every way in asks here.

A thread of somebody else and a missing one are the same to a reader: both are
``None``, and whatever answers is built from that one value.
"""

from typing import Literal, TypeAlias

from app.domain.errors import Forbidden, NotFound, Unauthenticated
from app.domain.identity import Identity
from app.domain.ports import ThreadReader
from app.domain.run import Run
from app.domain.thread import Thread

Access: TypeAlias = Literal["authenticated", "public", "internal"]
"""Who may start a run of an agent from outside; ``internal`` is server code alone."""

_NEWEST = (1 << 63) - 1
"""The largest version that a row can have."""

_NO_THREAD = "00000000-0000-0000-0000-000000000000"


async def readable_thread(reader: ThreadReader, key: str, caller: Identity) -> Thread | None:
    """Return the thread with this key if it answers to the caller."""
    thread = await reader.find(key)
    return thread if thread is not None and caller.may_read(thread.owner) else None


async def meant_thread(
    reader: ThreadReader, key: str, caller: Identity, run_id: str | None = None
) -> Thread | None:
    """Return the thread that this caller means by a key, if it answers to him.

    A root's key is the conversation's, and means the branch that is shown, or the one that a named
    run is in.
    """
    found = await reader.snapshot(key, 0, [caller])
    if found is None or not caller.may_read(found.thread.owner):
        return None
    if found.branches is None:
        return found.thread
    run = None if run_id is None else await reader.run(run_id)
    of_run = None if run is None else found.branches.key_of(run.thread_id)
    return await reader.find(of_run or found.branches.key_of(found.branches.selected) or key)


async def thread_of(reader: ThreadReader, run: Run, caller: Identity) -> Thread | None:
    """Return the thread of a run if it answers to the caller."""
    # No message is newer than the newest possible version, so only the thread is read.
    found = await reader.delta(run.thread_id, _NEWEST, 0)
    return found.thread if found is not None and caller.may_read(found.thread.owner) else None


async def readable_run(
    reader: ThreadReader, run_id: str, caller: Identity
) -> tuple[Run, Thread] | None:
    """Return a run and its thread if that answers to the caller.

    A thread is looked for in any case, so that a foreign run costs what a missing one does.
    """
    run = await reader.run(run_id)
    found = await reader.delta(_NO_THREAD if run is None else run.thread_id, _NEWEST, 0)
    if run is None or found is None or not caller.may_read(found.thread.owner):
        return None
    return run, found.thread


def may_see_agent(access: Access, caller: Identity) -> bool:
    """Return whether an agent is in the caller's list."""
    match access:
        case "public":
            return True
        case "authenticated":
            return caller.user_id is not None
        case "internal":
            return caller.is_admin


def check_may_start(slug: str, access: Access | None, caller: Identity) -> None:
    """Let the caller start a run of this agent from outside, or raise.

    Args:
        slug: as the caller wrote it.
        access: the agent's; ``None`` when there is no such agent.
        caller: who asks.

    Raises:
        NotFound: no such agent, or an internal one: which, we do not say.
        Unauthenticated: the caller has to sign in first.
    """
    if access is None or access == "internal":
        raise NotFound(f"no agent {slug!r}")
    if access == "authenticated" and caller.user_id is None:
        raise Unauthenticated(f"sign in to talk to agent {slug!r}")


def check_may_signal(thread: Thread | None, caller: Identity) -> None:
    """Let the caller put a message or an event into this thread, or raise.

    That is for admins and for whoever owns the thread; a missing thread is refused like a
    foreign one, except to admins, who may know.

    Raises:
        Forbidden: the caller has no right to, or nobody could say.
    """
    owns = thread is not None and thread.owner is not None and thread.owner == caller.user_id
    if not (owns or caller.is_admin):
        raise Forbidden("only the thread's owner or an admin may do this")


def check_may_retry(thread: Thread, access: Access | None, caller: Identity) -> None:
    """Let the caller retry a run of this thread, which answers to him, or raise.

    Owners and admins may.  On a thread without an owner, whoever could have started the run.

    Args:
        thread: the run's.
        access: the agent's; ``None`` when there is no such agent any more.
        caller: who asks.

    Raises:
        NotFound: no such agent, or an internal one: which, we do not say.
        Unauthenticated: the caller has to sign in first.
    """
    if thread.owner is None and not caller.is_admin:
        check_may_start(thread.agent, access, caller)
