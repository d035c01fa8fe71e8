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


async def lock_thread(executor: Executor, thread_id: str) -> Thread | None:
    """Lock a thread's row until the transaction ends and return it."""
    found = await executor.fetch(_LOCK, thread_id)
    return thread_from(found[0]) if found else None


async def lock_for(executor: Executor, fence: Fence) -> Thread | None:
    """Lock a thread's row; ``None`` when it does not let this fence through."""
    thread = await lock_thread(executor, fence.thread_id)
    if thread is None or (thread.live_run, thread.epoch) != (fence.run_id, fence.epoch):
        return None
    return thread


async def read_run(executor: Executor, run_id: str) -> Run:
    """Return a run whose thread is locked."""
    return run_from((await executor.fetch(_RUN, run_id))[0])
