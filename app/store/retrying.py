"""A failed run goes on from its last finished step.

What its failure cut off in the open turn is open again: results without a recorded step, and
decisions that nobody had made.  Nothing that was finished is touched.
"""

from app.domain.errors import Conflict
from app.domain.message import Part
from app.domain.run import Retried, Run, RunStatus, advance
from app.domain.storable import encode
from app.domain.thread import Thread
from app.store.executors import Executor
from app.store.locking import lock_thread, read_run
from app.store.owed import Owed
from app.store.rows import RUNS, parts_from, run_from

_OF_THREAD = "SELECT FROM agent_runs WHERE id = $1 AND thread = $2"
_NEWEST = f"""
{RUNS} WHERE r.thread = $1 AND r.input IS NULL ORDER BY r.finished_at DESC NULLS FIRST LIMIT 1
"""
_CUT_OFF = """
SELECT m.id, m.parts
  FROM agent_messages m
 WHERE m.thread = $1 AND m.run = $2 AND m.turn = $3 AND m.role = 'tool'
   AND m.status = 'interrupted'
"""
_RETRY = """
WITH t AS (
    SELECT id, version + 1 AS version FROM agent_threads WHERE id = $1
), m AS (
    UPDATE agent_messages m
       SET status = 'open', parts = n.parts::json, version = t.version
      FROM t, unnest($3::text[], $4::text[]) AS n (id, parts)
     WHERE m.id = n.id
), a AS (
    UPDATE agent_approvals a
       SET status = 'pending', requested_at = clock_timestamp(), version = t.version
      FROM t
     WHERE a.thread = $1 AND a.run = $2 AND a.status = 'cancelled'
), r AS (
    UPDATE agent_runs
       SET status = $5, stopped = NULL, error = NULL, finished_at = NULL, crashes = 0,
           queued_at = clock_timestamp(), deadline_at = clock_timestamp() + time_limit
     WHERE id = $2
)
UPDATE agent_threads o
   SET live_run = $2, status = 'queued', error = NULL, epoch = o.epoch + $6,
       wakes = o.wakes + $7, version = t.version, updated_at = clock_timestamp(),
       active_at = clock_timestamp()
  FROM t
 WHERE o.id = t.id
RETURNING o.version
"""


async def retry_run(
    executor: Executor, thread_id: str, run_id: str | None, owed: Owed
) -> Run | None:
    """Let a thread's newest run, which failed, go on; ``None``: no such run.

    Raises:
        Conflict: it did not fail, is not the newest, or the thread is busy.
    """
    thread = await lock_thread(executor, thread_id)
    if thread is None:
        return None
    if run_id is not None and not await executor.fetch(_OF_THREAD, run_id, thread_id):
        return None
    newest = await executor.fetch(_NEWEST, thread_id)
    if not newest:
        return None
    run = run_from(newest[0])
    _check(thread, run, run_id)
    change = advance(run.status, Retried())
    rows = await executor.fetch(
        _RETRY,
        thread.id,
        run.id,
        *await _reopened(executor, run),
        change.status.value,
        change.epoch,
        change.wakes,
    )
    owed.announce(thread.id, rows[0]["version"])
    owed.queued.append(run.id)
    return await read_run(executor, run.id)


def _check(thread: Thread, newest: Run, wanted: str | None) -> None:
    data = {"runId": newest.id, "status": newest.status.value}
    if thread.live_run is not None:
        raise Conflict(f"thread {thread.key!r} has an unfinished run", data)
    if wanted not in {None, newest.id}:
        raise Conflict("only the newest run of a thread can be retried", data)
    if newest.status is not RunStatus.FAILED:
        raise Conflict(f"the run did not fail: it is {newest.status.value}", data)


async def _reopened(executor: Executor, run: Run) -> tuple[list[str], list[str]]:
    """Return ids and parts of the open turn's results that were cut off, as they were before."""
    rows = await executor.fetch(_CUT_OFF, run.thread_id, run.id, run.turn)
    parts = [[_without_output(part) for part in parts_from(row["parts"])] for row in rows]
    return [row["id"] for row in rows], [encode(each) for each in parts]


def _without_output(part: Part) -> Part:
    return {name: each for name, each in part.items() if name not in {"output", "isError"}}
