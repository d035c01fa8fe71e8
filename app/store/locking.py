"""The first statement of every transaction here: lock the thread's row, and it alone.

Whatever else the transaction reads, it reads in a later statement: one that waited for the
lock would see the other tables as they were before the wait.
"""

from app.domain.run import Fence, Run
from app.domain.thread import Thread
from app.store.executors import Executor
from app.store.rows import RUNS, THREADS, run_from, thread_from

_LOCK = f"{THREADS} WHERE t.id = $1 FOR NO KEY UPDATE"
_RUN = f"{RUNS} WHERE r.id = $1"
_PARENT = """
SELECT r.parent_thread FROM agent_runs r
 WHERE r.id = coalesce($2, (SELECT t.live_run FROM agent_threads t WHERE t.id = $1))
   AND r.parent_thread IS NOT NULL
"""


async def lock_thread(executor: Executor, thread_id: str) -> Thread | None:
    """Lock a thread's row until the transaction ends and return it."""
    found = await executor.fetch(_LOCK, thread_id)
    return thread_from(found[0]) if found else None


async def lock_free_thread(executor: Executor, thread_id: str) -> Thread | None:
    """Lock a thread's row unless somebody else holds it."""
    found = await executor.fetch(f"{_LOCK} SKIP LOCKED", thread_id)
    return thread_from(found[0]) if found else None


async def lock_to_end(
    executor: Executor, thread_id: str, run_id: str | None = None, *, wait: bool = True
) -> Thread | None:
    """Lock the thread of a run that may be ended; its parent's thread comes first.

    Locks are taken from the root down, always, so that an end that tells the parent and an end
    of the parent that ends its children do not wait for each other.  What a run's parent is
    never changes, so it is read without a lock.

    Args:
        executor: the transaction.
        thread_id: the thread.
        run_id: the run; ``None``: whichever is live.
        wait: otherwise a thread that somebody else holds is answered like a missing one.
    """
    lock = _LOCK if wait else f"{_LOCK} SKIP LOCKED"
    for row in await executor.fetch(_PARENT, thread_id, run_id):
        if not await executor.fetch(lock, row["parent_thread"]):
            return None
    found = await executor.fetch(lock, thread_id)
    return thread_from(found[0]) if found else None


async def lock_for(executor: Executor, fence: Fence, *, to_end: bool = False) -> Thread | None:
    """Lock a thread's row; ``None`` when it does not let this fence through."""
    thread = (
        await lock_to_end(executor, fence.thread_id, fence.run_id)
        if to_end
        else await lock_thread(executor, fence.thread_id)
    )
    if thread is None or (thread.live_run, thread.epoch) != (fence.run_id, fence.epoch):
        return None
    return thread


async def read_run(executor: Executor, run_id: str) -> Run:
    """Return a run whose thread is locked."""
    return run_from((await executor.fetch(_RUN, run_id))[0])


async def find_run(executor: Executor, run_id: str) -> Run | None:
    """Return a run, if there is one with this id."""
    found = await executor.fetch(_RUN, run_id)
    return run_from(found[0]) if found else None
