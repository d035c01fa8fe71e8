"""The table as a queue: taking runs, giving them back, and whose worker is alive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.ports import ClaimedRun, Serves
from app.domain.run import Fence, Released, RunStatus, advance
from app.domain.thread import shown_status
from app.store.executors import Executor
from app.store.locking import lock_for, read_run
from app.store.owed import Owed
from app.store.rows import run_from, thread_from
from app.store.statements import CLAIM, TAKE_OVER

_RELEASE = """
WITH r AS (UPDATE agent_runs SET status = $3, worker = NULL WHERE id = $2)
UPDATE agent_threads
   SET status = $4, epoch = epoch + $5, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""
_FORGET = """
WITH long_gone AS (
    DELETE FROM agent_workers WHERE gone_at < clock_timestamp() - interval '1 day'
)
UPDATE agent_workers SET gone_at = clock_timestamp()
 WHERE id = $1 AND gone_at IS NULL
   AND NOT EXISTS (SELECT FROM agent_runs WHERE worker = $1 AND status = 'running')
"""
_HELD_BEAT = """
SELECT CASE WHEN gone_at IS NULL THEN beat ELSE 0 END AS beat
  FROM agent_workers WHERE id = $1 FOR NO KEY UPDATE
"""
_UNHEARD = """
INSERT INTO agent_workers (id, agents, gone_at) VALUES ($1, '{}', clock_timestamp())
    ON CONFLICT DO NOTHING
"""
_BEATS = """
SELECT coalesce(w.id, r.worker) AS worker, coalesce(w.beat, 0) AS beat
  FROM (SELECT id, beat FROM agent_workers WHERE gone_at IS NULL) w
  FULL JOIN (SELECT DISTINCT worker FROM agent_runs WHERE status = 'running') r ON r.worker = w.id
"""
_OLDEST = """
SELECT clock_timestamp() - min(queued_at) AS waited FROM agent_runs WHERE status = 'queued'
"""
_LAST_TRY = """
SELECT clock_timestamp() - min(r.crashed_at) AS waited
  FROM agent_runs r
 WHERE r.status = 'queued' AND r.crashes >= $3 AND r.agent = ANY ($1::text[])
   AND (r.agent_version IS NULL
        OR (r.agent, r.agent_version) IN (SELECT * FROM unnest($1::text[], $2::text[])))
"""


async def claim(
    executor: Executor,
    worker: str,
    serves: Serves,
    limit: int,
    owed: Owed,
    *,
    last_crashes: int,
    last_try: bool,
) -> list[ClaimedRun]:
    """Take up to ``limit`` of the oldest queued runs.  One statement.

    ``last_crashes``: a run that has crashed so often is at its last try.
    """
    arguments = (*served(serves), limit, last_crashes, last_try)
    rows = await executor.fetch(CLAIM, worker, *arguments)
    claimed = [ClaimedRun(run_from(row, "r_"), thread_from(row, "t_")) for row in rows]
    for one in claimed:
        owed.announce(one.thread.id, one.thread.version)
    return claimed


def served(serves: Serves) -> tuple[list[str], list[str | None]]:
    """Return the agents and, in the same order, their versions."""
    return list(serves.agents), list(serves.agents.values())


async def release(executor: Executor, fence: Fence, owed: Owed) -> bool:
    """Give a running run back; it keeps its place in the queue."""
    thread = await lock_for(executor, fence)
    if thread is None:
        return False
    run = await read_run(executor, fence.run_id)
    if run.status is not RunStatus.RUNNING:
        return False
    change = advance(run.status, Released())
    rows = await executor.fetch(
        _RELEASE,
        thread.id,
        run.id,
        change.status.value,
        shown_status(change.status).value,
        change.epoch,
    )
    owed.announce(thread.id, rows[0]["version"])
    owed.queued.append(run.id)
    return True


async def last_try_waits(executor: Executor, serves: Serves, last_crashes: int) -> timedelta | None:
    """Return for how long the oldest queued run at its last try has waited since its crash."""
    rows = await executor.fetch(_LAST_TRY, *served(serves), last_crashes)
    waited: timedelta | None = rows[0]["waited"]
    return waited


@dataclass(frozen=True, slots=True)
class Silent:
    """A worker that is taken for dead, and the beat that did not move; ``None``: whatever it is."""

    worker: str
    beat: int | None

    async def still_is(self, executor: Executor) -> bool:
        """Whether that is its beat; then it cannot move before the transaction ends."""
        if self.beat is None:
            return True
        rows = await executor.fetch(_HELD_BEAT, self.worker)
        if not rows:  # it never beat: a first one has to wait as well
            await executor.fetch(_UNHEARD, self.worker)
            rows = await executor.fetch(_HELD_BEAT, self.worker)
        return bool(rows) and rows[0]["beat"] == self.beat


async def take_over(executor: Executor, dead: Silent, max_attempts: int, owed: Owed) -> int | None:
    """Queue a dead worker's runs again and forget it once it holds none; ``None``: it lives."""
    if not await dead.still_is(executor):
        return None
    rows = await executor.fetch(TAKE_OVER, dead.worker, max_attempts)
    for row in rows:
        owed.announce(row["thread"], row["version"])
        owed.queued.append(row["run"])
    await executor.fetch(_FORGET, dead.worker)
    return len(rows)


async def beats(executor: Executor) -> Mapping[str, int]:
    """Return the last beat of each worker that is registered or holds a running run."""
    return {row["worker"]: row["beat"] for row in await executor.fetch(_BEATS)}


async def oldest_queued(executor: Executor) -> timedelta | None:
    """Return for how long the oldest queued run has waited."""
    waited: timedelta | None = (await executor.fetch(_OLDEST))[0]["waited"]
    return waited
