"""What the sweeper asks of the tables: runs that nobody can serve, and broken laws."""

from collections.abc import Sequence
from datetime import timedelta

from app.store.executors import Executor, Row

_UNKNOWN = """
SELECT r.id, r.thread, r.agent
  FROM agent_runs r
 WHERE r.status = 'queued' AND r.queued_at <= clock_timestamp() - $1::interval
   AND ($2::text IS NULL OR r.id = $2)
   AND NOT EXISTS (SELECT FROM agent_workers w
                    WHERE r.agent = ANY (w.agents)
                      AND (w.gone_at IS NULL OR w.gone_at > clock_timestamp() - $1::interval))
   AND EXISTS (SELECT FROM agent_workers w
                WHERE w.gone_at IS NULL AND w.started_at <= clock_timestamp() - $1::interval)
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
                                       WHERE s.run = r.id AND g ? s.name))
 LIMIT 20
"""


async def unknown_agents(
    executor: Executor, after: timedelta, run_id: str | None = None
) -> Sequence[Row]:
    """Return queued runs (``id``, ``thread``, ``agent``) that no worker could serve for so long.

    A worker that has left counts for that long, so that a restart fails nothing; and one
    worker must have been here for that long, or none has had the time to come back.

    ``after`` is measured by Postgres's clock; with ``run_id`` that run alone is looked at.
    """
    return await executor.fetch(_UNKNOWN, after, run_id)


async def stranded(executor: Executor) -> Sequence[str]:
    """Return one sentence for each row that breaks a law; at most 20."""
    return [row["sentence"] for row in await executor.fetch(_STRANDED)]
