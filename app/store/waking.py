"""Facts that somebody stores for a run, and the run that wakes when it waits for no more.

A fact is a step of the waiting run.  Whoever stores one does so under the thread's lock and
raises ``wakes``; whether the condition is met is asked in a later statement, under the same
lock.
"""

from app.domain.run import LIVE, PARKED, FactStored, Run, RunStatus, advance
from app.domain.thread import shown_status
from app.store.executors import Executor
from app.store.owed import Owed

_STORE = """
INSERT INTO agent_steps (run, name, turn, value, created_at)
SELECT r.id, $2, CASE WHEN $4::bool THEN r.turn END, $3::bytea, clock_timestamp()
  FROM agent_runs r WHERE r.id = $1
    ON CONFLICT (run, name) DO NOTHING
RETURNING 1
"""
_STILL_WAITS = """
SELECT r.status,
       EXISTS (SELECT FROM jsonb_array_elements(r.waits) g
                WHERE NOT EXISTS (SELECT FROM agent_steps s
                                   WHERE s.run = r.id
                                     AND s.name IN (SELECT jsonb_array_elements_text(g))))
       AS still_waits
  FROM agent_runs r
 WHERE r.id = $1
"""
_WAKE = """
WITH r AS (
    UPDATE agent_runs
       SET status = $3, queued_at = CASE WHEN $4 THEN clock_timestamp() ELSE queued_at END
     WHERE id = $2 AND $4
)
UPDATE agent_threads
   SET status = $5, wakes = wakes + $6, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""


async def store_fact(
    executor: Executor, run: Run, fact: str, value: str, owed: Owed, *, of_turn: bool = True
) -> None:
    """Store a fact (JSON) for a run whose thread is locked, once, and wake the run.

    A finished run keeps the fact too: it may be retried.

    Args:
        executor: the transaction.
        run: as it is under the lock.
        fact: the step's name.
        value: JSON text.
        owed: told after the commit.
        of_turn: the fact belongs to the run's open turn; otherwise to the whole run, which
            may look for it in any later turn.
    """
    if await executor.fetch(_STORE, run.id, fact, value.encode(), of_turn) and run.status in LIVE:
        await wake(executor, run, owed)


async def wake(executor: Executor, run: Run, owed: Owed) -> None:
    """Note a stored fact: ``wakes`` grows, and a run that waits for nothing more is queued."""
    row = (await executor.fetch(_STILL_WAITS, run.id))[0]
    status = RunStatus(row["status"])
    change = advance(status, FactStored(status in PARKED and not row["still_waits"]))
    is_queued = status in PARKED and change.status is RunStatus.QUEUED
    rows = await executor.fetch(
        _WAKE,
        run.thread_id,
        run.id,
        change.status.value,
        is_queued,
        shown_status(change.status).value,
        change.wakes,
    )
    owed.announce(run.thread_id, rows[0]["version"])
    if is_queued:
        owed.queued.append(run.id)
