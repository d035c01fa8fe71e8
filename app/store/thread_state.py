"""A thread's synced state: one JSON value, empty until it is seeded or set.

It is written under the live run's fence.  A change that a step makes of it leaves a receipt, a
step of its own: a body that runs again finds it and changes nothing.
"""

from collections.abc import Callable

from app.domain.run import Fence
from app.store.executors import Executor
from app.store.locking import lock_for
from app.store.owed import Owed

_READ = "SELECT state FROM agent_threads WHERE id = $1"
_WRITE = """
UPDATE agent_threads
   SET state = $4::text::json, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1 AND live_run = $2 AND epoch = $3
RETURNING version
"""
_HAS_RECEIPT = "SELECT FROM agent_steps WHERE run = $1 AND name = $2"
_RECEIPT = """
INSERT INTO agent_steps (run, name, turn, value, created_at)
VALUES ($1, $2, $3, 'null', clock_timestamp())
"""


async def read_state(executor: Executor, thread_id: str) -> str | None:
    """Return the JSON of a thread's state."""
    rows = await executor.fetch(_READ, thread_id)
    return rows[0]["state"] if rows else None


async def write_state(executor: Executor, fence: Fence, state: str, owed: Owed) -> bool:
    """Replace the state; ``False`` when the fence is lost."""
    rows = await executor.fetch(_WRITE, fence.thread_id, fence.run_id, fence.epoch, state)
    if rows:
        owed.announce(fence.thread_id, rows[0]["version"])
    return bool(rows)


async def update_state(
    executor: Executor,
    fence: Fence,
    receipt: str,
    turn: int | None,
    change: Callable[[str | None], str],
    *,
    owed: Owed,
) -> bool:
    """Change the state at most once per receipt; ``False`` when the fence is lost."""
    if await lock_for(executor, fence) is None:
        return False
    if await executor.fetch(_HAS_RECEIPT, fence.run_id, receipt):
        return True
    state = change(await read_state(executor, fence.thread_id))
    await executor.fetch(_RECEIPT, fence.run_id, receipt, turn)
    return await write_state(executor, fence, state, owed)
