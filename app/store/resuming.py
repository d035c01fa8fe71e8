"""What a drive asks about its own fence: may I go on, and from where."""

from app.domain.message import Message
from app.domain.ports import OpenTurn
from app.domain.run import Fence
from app.store.executors import Executor
from app.store.rows import MESSAGE, SIGNALS, columns, listed, message_from, signal_from

_OPEN_TURN = f"""
SELECT t.wakes, t.version, s.name, s.value,
       (SELECT json_agg(x ORDER BY x.place)
          FROM ({SIGNALS} WHERE g.thread = $1 AND g.read_at IS NULL AND g.mode <> 'queue') x)
       AS signals
  FROM agent_threads t
  JOIN agent_runs r ON r.id = t.live_run
  LEFT JOIN agent_steps s ON s.run = r.id AND (s.turn IS NULL OR s.turn >= r.turn)
 WHERE t.id = $1 AND t.live_run = $2 AND t.epoch = $3
"""
_HISTORY = f"""
SELECT {columns(MESSAGE, "m")}, m.model FROM agent_messages m WHERE m.thread = $1 ORDER BY m.seq
"""
_HOLDS = "SELECT FROM agent_threads WHERE id = $1 AND live_run = $2 AND epoch = $3 FOR SHARE"
_RESTS = "SELECT FROM agent_runs WHERE id = $1 AND status NOT IN ('queued', 'running')"
_RAISE = """
UPDATE agent_threads SET epoch = greatest(epoch, $4) + 1
 WHERE id = $1 AND live_run = $2 AND epoch = $3
RETURNING epoch
"""


async def open_turn(executor: Executor, fence: Fence) -> OpenTurn | None:
    """Return wakes, steps and signals as of one moment, or ``None`` when the fence is lost."""
    rows = await executor.fetch(_OPEN_TURN, fence.thread_id, fence.run_id, fence.epoch)
    if not rows:
        return None
    steps = {row["name"]: row["value"].decode() for row in rows if row["name"] is not None}
    signals = [signal_from(row) for row in listed(rows[0]["signals"], "created_at")]
    return OpenTurn(rows[0]["wakes"], rows[0]["version"], steps, signals)


async def history(executor: Executor, thread_id: str) -> list[Message]:
    """Return the thread's messages in order, with their private ``model``."""
    rows = await executor.fetch(_HISTORY, thread_id)
    return [message_from(row, model=row["model"]) for row in rows]


async def holds(executor: Executor, fence: Fence) -> bool:
    """Whether the fence is let through, once whoever holds the thread is done."""
    return bool(await executor.fetch(_HOLDS, fence.thread_id, fence.run_id, fence.epoch))


async def rests(executor: Executor, run_id: str) -> bool:
    """Whether the run is parked or has ended."""
    return bool(await executor.fetch(_RESTS, run_id))


async def raise_epoch(executor: Executor, fence: Fence, above: int) -> Fence | None:
    """Lift the epoch over ``above`` and return the new fence."""
    arguments = (fence.thread_id, fence.run_id, fence.epoch, above)
    rows = await executor.fetch(_RAISE, *arguments)
    return Fence(fence.thread_id, fence.run_id, rows[0]["epoch"]) if rows else None
