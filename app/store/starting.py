"""Starting a run, inside any transaction.

The thread's row is locked there and then: until the transaction ends, nobody else can
start a run on it.  If the transaction is rolled back, nothing has started.
"""

from collections.abc import Mapping

from app.domain.errors import Conflict, Forbidden, InvalidArgument
from app.domain.message import user_key
from app.domain.ports import StartedRun, StartRun
from app.domain.storable import encode
from app.store.executors import Executor, Row

_LOCK = """
SELECT id, owner, live_run, seq, version FROM agent_threads WHERE key = $1 FOR NO KEY UPDATE
"""
_MAKE = """
INSERT INTO agent_threads (id, key, agent, owner, status)
VALUES ($1, $2, $3, $4, 'queued')
    ON CONFLICT DO NOTHING
RETURNING id, owner, live_run, seq, version
"""
_WRITE = """
WITH r AS (
    INSERT INTO agent_runs (id, thread, agent, status, policy, queued_at, created_at)
    VALUES ($1, $2, $3, 'queued', $4::text::json, clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO NOTHING
    RETURNING id
), m AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, parts, author,
                                dedupe, created_at)
    SELECT $5, $6, $2, r.id, $7::bigint + 1, $8::bigint + 1, 'user', 'complete', $9::text::json,
           $10, $11, clock_timestamp()
      FROM r
)
UPDATE agent_threads o
   SET live_run = r.id, status = 'queued', error = NULL, title = coalesce(o.title, $12),
       seq = $7 + 1, version = $8 + 1, updated_at = clock_timestamp(),
       active_at = clock_timestamp()
  FROM r
 WHERE o.id = $2
RETURNING o.version
"""
_STATUS = "SELECT status FROM agent_runs WHERE id = $1"


async def start_run(executor: Executor, start: StartRun) -> StartedRun:
    """Write thread, run and the user's message; the run exists once this has committed.

    Starting the same ``run_id`` again changes nothing and answers the same.

    Raises:
        Forbidden: the thread belongs to somebody else.
        Conflict: the thread has an unfinished run.
        InvalidArgument: the thread's id is another thread's.
    """
    thread = await _locked_thread(executor, start)
    if thread["owner"] not in {None, start.owner} and not start.as_admin:
        raise Forbidden(f"thread {start.thread_key!r} belongs to somebody else")
    if thread["live_run"] not in {None, start.run_id}:
        raise await _conflict(executor, start, thread["live_run"])
    written = await executor.fetch(_WRITE, *_arguments(start, thread))
    version: int = written[0]["version"] if written else thread["version"]
    return StartedRun(start.run_id, thread["id"], start.thread_key, version)


async def _locked_thread(executor: Executor, start: StartRun) -> Row:
    made = (start.thread_id, start.thread_key, start.agent, start.owner)
    for _ in range(3):
        found = await executor.fetch(_LOCK, start.thread_key)
        found = found or await executor.fetch(_MAKE, *made)
        if found:
            return found[0]
        # Somebody made it between the two: lock theirs.
    raise InvalidArgument(f"the id {start.thread_id!r} belongs to a thread with another key")


async def _conflict(executor: Executor, start: StartRun, live_run: str) -> Conflict:
    status = (await executor.fetch(_STATUS, live_run))[0]["status"]
    data: Mapping[str, object] = {"runId": live_run, "status": status}
    return Conflict(f"thread {start.thread_key!r} has an unfinished run", data)


def _arguments(start: StartRun, thread: Row) -> tuple[object, ...]:
    return (
        start.run_id,
        thread["id"],
        start.agent,
        encode(dict(start.policy)),
        start.message_id,
        user_key(start.run_id),
        thread["seq"],
        thread["version"],
        start.parts,
        start.author,
        start.dedupe,
        start.title,
    )
