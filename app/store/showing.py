"""What is asked below is seen at the top: the thread there changes with what its people are shown.

Locks are taken from the root down, always.  Which thread is at the top of an approval never
changes, so it is read without a lock, and locked before the one that asks.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from app.domain.errors import Contended, StoreUnavailable
from app.store.executors import Executor
from app.store.locking import lock_free_thread, lock_thread
from app.store.owed import Owed

log = logging.getLogger(__name__)

_ROOTS = """
SELECT DISTINCT root FROM agent_approvals
 WHERE run = $1 AND status = 'pending' AND root IS NOT NULL
"""
_ROOTS_OF_CALLS = """
SELECT DISTINCT root FROM agent_approvals
 WHERE thread = $1 AND tool_call_id = ANY ($2::text[]) AND root IS NOT NULL
"""
_SHOW = """
UPDATE agent_threads SET version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""


async def show_in_root(thread_id: str, executor: Executor, owed: Owed) -> None:
    """Let the watchers of the thread at the top see what waits, or waits no more, below it."""
    for row in await executor.fetch(_SHOW, thread_id):
        owed.announce(thread_id, row["version"])


async def show_at_the_top(owed: Owed, show: Callable[[str], Awaitable[None]]) -> None:
    """After the commit, ``show`` it at each thread at the top that this has closed a card of.

    Not in the same transaction: it would lock the threads from below up.
    """
    for root in sorted(owed.shown - owed.versions.keys()):
        try:
            await show(root)
        except (Contended, StoreUnavailable) as error:
            # What was done is done, whoever is told of it now; the next change shows it there.
            log.warning("thread %s does not show yet what was closed below: %s", root, error)


async def roots_of_pending(executor: Executor, run_id: str) -> Sequence[str]:
    """Return the threads at the top of the runs whose people see what this run asks."""
    return [row["root"] for row in await executor.fetch(_ROOTS, run_id)]


async def lock_roots(
    executor: Executor, thread_id: str, calls: Sequence[str], *, wait: bool = True
) -> Sequence[str] | None:
    """Lock the threads at the top whose people see these calls, and return them.

    ``None``: somebody holds one of them, and nobody waits for him.
    """
    roots = [row["root"] for row in await executor.fetch(_ROOTS_OF_CALLS, thread_id, list(calls))]
    lock = lock_thread if wait else lock_free_thread
    for root in sorted(roots):
        if await lock(executor, root) is None and not wait:
            return None
    return roots
