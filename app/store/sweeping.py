"""What the sweeper finds: runs that nobody can serve, that are late or poison, and broken laws.

Each run is ended in a transaction of its own, which looks again under the thread's lock.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from app.domain.errors import RecordRefused
from app.domain.run import Ending
from app.store.executors import Executor, Row
from app.store.locking import lock_to_end, read_run
from app.store.owed import Owed
from app.store.queueing import Silent
from app.store.settling import Settler
from app.store.transacting import Transacting
from app.telemetry.logs import log_context

log = logging.getLogger(__name__)

_UNKNOWN = """
SELECT r.id, r.thread,
       CASE WHEN r.agent_version IS NOT NULL AND EXISTS (
                SELECT FROM agent_workers w WHERE r.agent = ANY (w.agents) AND w.gone_at IS NULL)
            THEN format('no worker has version %L of the agent %L, to which the run is pinned',
                        r.agent_version, r.agent)
            ELSE format('no worker serves the agent %L', r.agent)
       END AS why
  FROM agent_runs r
 WHERE r.status = 'queued' AND r.queued_at <= clock_timestamp() - $1::interval
   AND ($2::text IS NULL OR r.id = $2)
   AND NOT EXISTS (SELECT FROM agent_workers w,
                               unnest(w.agents, w.versions) AS s (agent, version)
                    WHERE s.agent = r.agent
                      AND (r.agent_version IS NULL OR r.agent_version = s.version)
                      AND (w.gone_at IS NULL OR w.gone_at > clock_timestamp() - $1::interval))
   AND EXISTS (SELECT FROM agent_workers w
                WHERE w.gone_at IS NULL AND w.started_at <= clock_timestamp() - $1::interval)
"""
_OVERDUE = """
SELECT id, thread, format('the run did not end within its time of %s', time_limit) AS why
  FROM agent_runs
 WHERE deadline_at IS NOT NULL AND finished_at IS NULL AND deadline_at <= clock_timestamp()
   AND ($1::text IS NULL OR id = $1)
"""
_POISON = """
SELECT id, thread, format('%s workers in a row died while they drove this run', crashes + 1) AS why
  FROM agent_runs
 WHERE worker = $1 AND status = 'running' AND crashes + 1 >= $2 AND ($3::text IS NULL OR id = $3)
"""
_STRANDED = """
SELECT format('thread %s is busy with run %s, which has ended', t.key, t.live_run) AS sentence
  FROM agent_threads t LEFT JOIN agent_runs r ON r.id = t.live_run
 WHERE t.live_run IS NOT NULL
   AND (r.id IS NULL OR r.status IN ('completed', 'failed', 'cancelled'))
UNION ALL
SELECT format('run %s is unfinished, but its thread is not busy with it', r.id)
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status IN ('queued', 'running', 'awaiting_input', 'waiting')
   AND t.live_run IS DISTINCT FROM r.id
UNION ALL
SELECT format('run %s is parked though what it waits for is there', r.id)
  FROM agent_runs r
 WHERE r.status IN ('awaiting_input', 'waiting')
   AND NOT EXISTS (SELECT FROM jsonb_array_elements(r.waits) g
                    WHERE NOT EXISTS (SELECT FROM agent_steps s
                                       WHERE s.run = r.id
                                         AND s.name IN (SELECT jsonb_array_elements_text(g))))
UNION ALL
SELECT format('run %s is held back though its thread is free', r.id)
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status = 'pending' AND t.live_run IS NULL
UNION ALL
SELECT format('signal %s is unread though its thread is free', g.id)
  FROM agent_signals g JOIN agent_threads t ON t.id = g.thread
 WHERE g.read_at IS NULL AND t.live_run IS NULL
UNION ALL
SELECT format('run %s is unfinished though its parent %s has ended', r.id, r.parent)
  FROM agent_runs r JOIN agent_runs p ON p.id = r.parent
 WHERE r.parent IS NOT NULL AND r.finished_at IS NULL AND p.finished_at IS NOT NULL
UNION ALL
SELECT format('message %s is open though its run %s has ended', m.key, m.run)
  FROM agent_messages m LEFT JOIN agent_runs r ON r.id = m.run
 WHERE m.status = 'open' AND (r.id IS NULL OR r.finished_at IS NOT NULL)
UNION ALL
SELECT format('timer %s has been due for %s', m.id, clock_timestamp() - m.due_at)
  FROM agent_timers m
 WHERE m.fired_at IS NULL AND m.due_at < clock_timestamp() - interval '1 minute'
 LIMIT 20
"""

Find: TypeAlias = Callable[[Executor, str | None], Awaitable[Sequence[Row]]]
"""Returns runs (``id``, ``thread``, ``why``) that are to fail; with an id, that one at most."""


def unknown_agents(after: timedelta) -> Find:
    """Find queued runs that no worker could serve for so long, by Postgres's clock.

    A worker that has left counts for that long, so that a restart fails nothing; and one
    worker must have been here for that long, or none has had the time to come back.
    """
    return lambda executor, run_id: executor.fetch(_UNKNOWN, after, run_id)


def overdue() -> Find:
    """Find unfinished runs that are past their time, wherever they are."""
    return lambda executor, run_id: executor.fetch(_OVERDUE, run_id)


def poison(dead: Silent, max_attempts: int) -> Find:
    """Find a dead worker's runs that have used up their tries."""

    async def find(executor: Executor, run_id: str | None) -> Sequence[Row]:
        if not await dead.still_is(executor):
            return ()
        return await executor.fetch(_POISON, dead.worker, max_attempts, run_id)

    return find


@dataclass(frozen=True, slots=True)
class Failing:
    """Settles as failed, under ``code``, what ``find`` finds."""

    settler: Settler
    code: str
    find: Find

    async def all(self, transacting: Transacting) -> int:
        """Look once; return how many there were.

        A thread that somebody else holds just now is left for the next sweep, and so is one whose
        rows do not let its run end: the others must not wait behind it, nor its finder die of it.
        """
        failed = 0
        for row in await self.find(transacting.database, None):
            try:
                failed += await transacting.run(partial(self._one, row))
            except (RecordRefused, LookupError):
                log.exception("run %s cannot be ended", row["id"])
        return failed

    async def _one(self, found: Row, executor: Executor, owed: Owed) -> bool:
        thread = await lock_to_end(executor, found["thread"], found["id"], wait=False)
        still = [] if thread is None else await self.find(executor, found["id"])
        if thread is None or not still:
            return False  # claimed, ended, or a worker has come meanwhile
        run = await read_run(executor, found["id"])
        ending = Ending.failed(self.code, still[0]["why"])
        await self.settler.end(executor, thread, run, ending, owed)
        with log_context(thread=thread.id, run=run.id, epoch=thread.epoch):
            log.warning("run %s fails, %s: %s", run.id, self.code, still[0]["why"])
        return True


async def stranded(executor: Executor) -> Sequence[str]:
    """Return one sentence for each row that breaks a law; at most 20."""
    return [row["sentence"] for row in await executor.fetch(_STRANDED)]
