"""Mends what the laws do not allow, for ``ropewalk doctor``; must never have anything to do.

Suspects are found without a lock.  Each thread is then looked at again in a transaction of its
own, under its lock, and mended by the same words that end, wake and start runs everywhere else.
"""

from app.domain.message import interrupted_part
from app.domain.ports import Aborts, Announce, Doorbell, Ids, Journal
from app.domain.run import FINAL, PARKED, Ending, RunStatus
from app.domain.storable import encode
from app.domain.thread import Thread, ThreadStatus, shown_status
from app.store.beginning import follow_up
from app.store.database import Connection, Database
from app.store.executors import Executor
from app.store.locking import find_run, lock_thread, lock_to_end, read_run
from app.store.owed import Listeners, Owed
from app.store.rows import parts_from
from app.store.settling import Settler
from app.store.transacting import Transacting
from app.store.waking import wake

_SUSPECTS = """
SELECT t.id
  FROM agent_threads t
 WHERE t.live_run IS NOT NULL
   AND NOT EXISTS (SELECT FROM agent_runs r WHERE r.id = t.live_run AND r.finished_at IS NULL)
UNION
SELECT r.thread
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status IN ('queued', 'running', 'awaiting_input', 'waiting')
   AND t.live_run IS DISTINCT FROM r.id
UNION
SELECT r.thread
  FROM agent_runs r
 WHERE r.status IN ('awaiting_input', 'waiting')
   AND NOT EXISTS (SELECT FROM jsonb_array_elements(r.waits) g
                    WHERE NOT EXISTS (SELECT FROM agent_steps s
                                       WHERE s.run = r.id
                                         AND s.name IN (SELECT jsonb_array_elements_text(g))))
UNION
SELECT r.thread
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status = 'pending' AND t.live_run IS NULL
UNION
SELECT g.thread
  FROM agent_signals g JOIN agent_threads t ON t.id = g.thread
 WHERE g.read_at IS NULL AND t.live_run IS NULL
UNION
SELECT m.thread
  FROM agent_messages m LEFT JOIN agent_runs r ON r.id = m.run
 WHERE m.status = 'open' AND (r.id IS NULL OR r.finished_at IS NOT NULL)
UNION
SELECT r.thread
  FROM agent_runs r JOIN agent_runs p ON p.id = r.parent
 WHERE r.parent IS NOT NULL AND r.finished_at IS NULL AND p.finished_at IS NOT NULL
"""
_LET_GO = """
UPDATE agent_threads
   SET live_run = NULL, epoch = epoch + 1, status = $2, version = version + 1,
       updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""
_STRAY = """
SELECT id, status FROM agent_runs
 WHERE thread = $1 AND status IN ('queued', 'running', 'awaiting_input', 'waiting')
"""
_LEFT_OPEN = """
SELECT m.id, m.parts
  FROM agent_messages m LEFT JOIN agent_runs r ON r.id = m.run
 WHERE m.thread = $1 AND m.status = 'open' AND (r.id IS NULL OR r.finished_at IS NOT NULL)
"""
_CLOSE = """
WITH t AS (
    UPDATE agent_threads SET version = version + 1, updated_at = clock_timestamp()
     WHERE id = $1
    RETURNING version
)
UPDATE agent_messages m
   SET status = 'interrupted', parts = n.parts::json, version = t.version
  FROM t, unnest($2::text[], $3::text[]) AS n (id, parts)
 WHERE m.id = n.id
RETURNING m.version
"""
_TAKE_IN = """
WITH r AS (
    UPDATE agent_runs SET status = $3, worker = NULL,
           queued_at = CASE WHEN $4 THEN clock_timestamp() ELSE queued_at END
     WHERE id = $2
)
UPDATE agent_threads
   SET live_run = $2, epoch = epoch + 1, status = $5, version = version + 1,
       updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""


class PostgresMender:
    """Mends threads."""

    def __init__(
        self,
        database: Database,
        *,
        journal: Journal,
        announce: Announce,
        doorbell: Doorbell,
        aborts: Aborts,
        ids: Ids,
    ) -> None:
        self._db = database
        self._transacting = Transacting(database, Listeners(announce, doorbell, journal, aborts))
        self._settler = Settler(journal, ids)

    async def mend(self) -> int:
        """Mend every thread that breaks a law, and return how many there were."""
        suspects = [row["id"] for row in await self._db.fetch(_SUSPECTS)]
        return sum([await self._mend_thread(thread_id) for thread_id in suspects])

    async def _mend_thread(self, thread_id: str) -> bool:
        async def work(connection: Connection, owed: Owed) -> bool:
            thread = await lock_to_end(connection, thread_id)
            if thread is None:
                return False
            await _close_results(connection, thread, owed)
            thread = await _find_live_run(connection, thread, owed)
            if thread.live_run is None:
                await follow_up(connection, thread, self._settler.ids, owed)
            else:
                await self._mend_run(connection, thread, thread.live_run, owed)
            return bool(owed.versions)

        return await self._transacting.run(work)

    async def _mend_run(self, executor: Executor, thread: Thread, run_id: str, owed: Owed) -> None:
        """Wake a run that waits for nothing more; end a child whose parent has ended."""
        run = await read_run(executor, run_id)
        parent = await find_run(executor, run.parent.run_id) if run.parent else None
        if parent is not None and parent.status in FINAL:
            await self._settler.end(executor, thread, run, Ending.cancelled(), owed)
        elif run.status in PARKED:
            # A run that still waits for something stays parked: one more look is all it costs.
            await wake(executor, run, owed)


async def _close_results(executor: Executor, thread: Thread, owed: Owed) -> None:
    """Let results that were left open by runs that have ended say so."""
    rows = await executor.fetch(_LEFT_OPEN, thread.id)
    if rows:
        parts = [[interrupted_part(part) for part in parts_from(row["parts"])] for row in rows]
        closed = await executor.fetch(
            _CLOSE, thread.id, [row["id"] for row in rows], [encode(each) for each in parts]
        )
        owed.announce(thread.id, closed[0]["version"])


async def _find_live_run(executor: Executor, thread: Thread, owed: Owed) -> Thread:
    """Let go of a run that has ended, and take in one that nobody looks after."""
    live = await find_run(executor, thread.live_run) if thread.live_run else None
    if thread.live_run is not None and (live is None or live.status in FINAL):
        shown = ThreadStatus.FAILED if live is None else shown_status(live.status)
        rows = await executor.fetch(_LET_GO, thread.id, shown.value)
        owed.announce(thread.id, rows[0]["version"])
        live = None
    if live is None:
        for stray in await executor.fetch(_STRAY, thread.id):  # one at most: an index sees to it
            await _take_in(executor, thread.id, stray["id"], RunStatus(stray["status"]), owed)
    found = await lock_thread(executor, thread.id)
    return thread if found is None else found


async def _take_in(
    executor: Executor, thread_id: str, run_id: str, status: RunStatus, owed: Owed
) -> None:
    """Make a run its thread's live one again; whatever a worker was doing goes on elsewhere."""
    now = status if status in PARKED else RunStatus.QUEUED
    is_queued = now is RunStatus.QUEUED
    rows = await executor.fetch(
        _TAKE_IN, thread_id, run_id, now.value, is_queued, shown_status(now).value
    )
    owed.announce(thread_id, rows[0]["version"])
    if is_queued:
        owed.queued.append(run_id)
