"""What an operator looks at: runs, their steps, threads, workers, and what happened lately.

Each is one statement on indexes; nothing here locks, and nothing is on the way of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.domain.approval import Approval
from app.domain.message import Message
from app.domain.run_filter import RunFilter
from app.store.executors import Executor
from app.store.rows import APPROVALS, MESSAGES, approval_from, message_from, parse_json

Row = Mapping[str, Any]

_RUN = """
SELECT r.id, t.key, r.agent, r.agent_version, r.override, t.owner, t.title, r.status, r.turn,
       r.usage, r.policy ->> 'model' AS model, r.error, r.stopped, r.worker,
       r.attempts, r.crashes, r.parent AS parent_run_id, p.key AS parent_key,
       (SELECT count(*) FROM agent_approvals a
         WHERE a.thread = r.thread AND a.run = r.id AND a.status = 'pending') AS pending_approvals,
       r.created_at, r.queued_at, r.finished_at,
       extract(epoch FROM coalesce(r.finished_at, clock_timestamp()) - r.created_at) * 1000
       AS duration_ms
  FROM agent_runs r
  JOIN agent_threads t ON t.id = r.thread
  LEFT JOIN agent_threads p ON p.id = r.parent_thread
"""
# Each question is a statement of what it asks for and no more: one plan is kept for each, and one
# that has to fit every filter reads all there is.  Times are the statement's: no index is read from
# a time that goes on meanwhile.
_ASKED_OF_RUNS = {
    "agent": "r.agent = {}",
    "owner": "t.owner = {}",
    "key": """r.thread = ANY (ARRAY (
       SELECT k.id FROM agent_threads k WHERE k.key = {0}
        UNION ALL
       SELECT b.id FROM agent_threads k JOIN agent_threads b ON b.conversation = k.id
        WHERE k.key = {0}))""",
    "since": "r.created_at >= {}::timestamptz",
    "until": "r.created_at < {}::timestamptz",
    "within_s": "r.created_at >= statement_timestamp() - make_interval(secs => {}::int)",
    "min_tokens": """coalesce((r.usage ->> 'inputTokens')::bigint, 0)
     + coalesce((r.usage ->> 'outputTokens')::bigint, 0) >= {}::bigint""",
    "status": "r.status = {}",
    "before": """(r.created_at, r.id) < ((SELECT b.created_at FROM agent_runs b WHERE b.id = {0}),
                              {0}::text)""",
}
_ONE = f"{_RUN} WHERE r.id = $1"
_MORE = "SELECT policy, waits, deadline_at, thread FROM agent_runs WHERE id = $1"
_SAID = f"{MESSAGES} WHERE m.thread = $1 AND m.run = $2 ORDER BY m.seq DESC LIMIT $3"
_ASKED = f"""
{APPROVALS} WHERE a.thread = $1 AND a.run = $2
 ORDER BY a.status = 'pending' DESC, a.requested_at DESC, a.id DESC LIMIT $3
"""
_CHILDREN = f"{_RUN} WHERE r.parent = $1 ORDER BY r.created_at, r.id LIMIT 200"
_STEPS = """
SELECT name, turn, created_at AS finished_at, trace,
       CASE WHEN octet_length(value) <= $2 THEN convert_from(value, 'UTF8') END AS value,
       octet_length(value) AS size
  FROM agent_steps WHERE run = $1 ORDER BY created_at, name LIMIT 2000
"""
_THREADS = """
SELECT t.id, t.key, t.agent, t.owner, t.title, coalesce(s.status, t.status) AS status, t.usage,
       CASE WHEN s.id IS NULL THEN t.error ELSE s.error END AS error, t.seq AS messages,
       t.created_at, t.active_at
  FROM agent_threads t LEFT JOIN agent_threads s ON s.id = t.branch
 WHERE t.conversation IS NULL
   AND ($1::text IS NULL OR t.agent = $1) AND ($2::text IS NULL OR t.owner = $2)
   AND ($3::text IS NULL OR coalesce(s.status, t.status) = $3)
   AND ($4::text IS NULL OR strpos(lower(t.key || ' ' || coalesce(t.title, '') || ' '
                                         || coalesce(t.owner, '')), lower($4)) > 0)
   AND ($5::text IS NULL OR (t.active_at, t.id) < (SELECT b.active_at, b.id FROM agent_threads b
                                                    WHERE b.id = $5))
 ORDER BY t.active_at DESC, t.id DESC
 LIMIT $6
"""
_UNFINISHED = """
SELECT agent, status, count(*) AS runs FROM agent_runs
 WHERE status IN ('queued', 'running', 'awaiting_input', 'waiting') GROUP BY agent, status
UNION ALL
SELECT agent, status, count(*) FROM agent_runs WHERE status = 'pending' GROUP BY agent, status
"""
"""On indexes that hold unfinished runs alone."""
_WORKERS = """
SELECT w.id, w.agents, w.started_at,
       (SELECT count(*) FROM agent_runs r WHERE r.worker = w.id AND r.status = 'running')
       AS running
  FROM agent_workers w WHERE w.gone_at IS NULL ORDER BY w.started_at, w.id
"""
# Threads are counted while they are few, then as the planner estimates them.
_SYSTEM = """
SELECT (SELECT extract(epoch FROM clock_timestamp() - min(queued_at))
          FROM agent_runs WHERE status = 'queued') AS oldest_queued_s,
       (SELECT count(*) FROM agent_approvals WHERE status = 'pending') AS pending_approvals,
       greatest((SELECT reltuples::bigint FROM pg_class WHERE oid = 'agent_threads'::regclass),
                (SELECT count(*) FROM (SELECT FROM agent_threads LIMIT 10000) few)) AS threads,
       pg_database_size(current_database()) AS database_bytes
"""
_MINUTES = """
SELECT m.minute,
       count(*) FILTER (WHERE e.what = 'started') AS started,
       count(*) FILTER (WHERE e.what = 'completed') AS completed,
       count(*) FILTER (WHERE e.what = 'failed') AS failed,
       count(*) FILTER (WHERE e.what = 'cancelled') AS cancelled,
       count(*) FILTER (WHERE e.what = 'recovered') AS recovered
  FROM generate_series(date_trunc('minute', statement_timestamp()) - interval '59 minutes',
                       date_trunc('minute', statement_timestamp()), interval '1 minute') m (minute)
  LEFT JOIN (SELECT v.what, date_trunc('minute', v.at) AS minute
               FROM agent_runs r
              CROSS JOIN LATERAL (VALUES ('started', r.created_at), (r.status, r.finished_at),
                                         ('recovered', r.crashed_at)) v (what, at)
              WHERE r.created_at
                    >= date_trunc('minute', statement_timestamp()) - interval '59 minutes') e
    ON e.minute = m.minute
 GROUP BY m.minute ORDER BY m.minute
"""
_DAYS = """
r.created_at >= (date_trunc('day', statement_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
                - make_interval(days => $1 - 1)
"""
_SUMS = """
coalesce(sum((u.usage ->> 'inputTokens')::bigint), 0)::bigint AS input_tokens,
       coalesce(sum((u.usage ->> 'outputTokens')::bigint), 0)::bigint AS output_tokens,
       coalesce(sum((u.usage ->> 'cacheReadTokens')::bigint), 0)::bigint AS cache_read_tokens,
       coalesce(sum((u.usage ->> 'cacheWriteTokens')::bigint), 0)::bigint AS cache_write_tokens
"""
_SPENT = f"""
SELECT r.agent, (r.created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS runs,
       count(*) FILTER (WHERE r.status = 'completed') AS completed,
       {_SUMS}
  FROM agent_runs r CROSS JOIN LATERAL (SELECT r.usage) u
 WHERE {_DAYS}
 GROUP BY 1, 2 ORDER BY 1, 2
"""
# By thread and run: copies in another conversation keep the run that they come from.
_SPENT_ON_MODELS = f"""
SELECT r.agent, (r.created_at AT TIME ZONE 'UTC')::date AS day, u.model_name AS model,
       {_SUMS}
  FROM agent_runs r JOIN agent_messages u ON u.thread = r.thread AND u.run = r.id
 WHERE {_DAYS} AND u.usage IS NOT NULL AND u.model_name IS NOT NULL
 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class PostgresAdminReader:
    """Implements ``app.functions.ports.AdminReader``."""

    def __init__(self, database: Executor) -> None:
        self._db = database

    async def runs(
        self, which: RunFilter, *, status: str | None, before: str | None, limit: int
    ) -> Sequence[Row]:
        """See ``AdminReader.runs``."""
        where, arguments = _asked({**asdict(which), "status": status, "before": before})
        newest = f"ORDER BY r.created_at DESC, r.id DESC LIMIT {int(limit)}"
        rows = await self._db.fetch(f"{_RUN} {where} {newest}", *arguments)
        return [_run(row) for row in rows]

    async def counts(self, which: RunFilter) -> Mapping[str, int]:
        """See ``AdminReader.counts``."""
        where, arguments = _asked(asdict(which))
        is_owned = which.owner is not None
        of_threads = "JOIN agent_threads t ON t.id = r.thread" if is_owned else ""
        rows = await self._db.fetch(
            f"SELECT r.status, count(*) AS runs FROM agent_runs r {of_threads} {where} GROUP BY 1",
            *arguments,
        )
        return {row["status"]: row["runs"] for row in rows}

    async def run(self, run_id: str) -> Row | None:
        """See ``AdminReader.run``."""
        found = await self._db.fetch(_ONE, run_id)
        return _run(found[0]) if found else None

    async def more_of(self, run_id: str) -> Row:
        """See ``AdminReader.more_of``."""
        (row,) = await self._db.fetch(_MORE, run_id)
        return {
            "policy": parse_json(row["policy"]),
            "waits": parse_json(row["waits"]),
            "deadline_at": row["deadline_at"],
            "thread": row["thread"],
        }

    async def messages(self, thread_id: str, run_id: str, limit: int) -> Sequence[Message]:
        """See ``AdminReader.messages``."""
        rows = await self._db.fetch(_SAID, thread_id, run_id, limit)
        return [message_from(row) for row in reversed(rows)]

    async def approvals(self, thread_id: str, run_id: str, limit: int) -> Sequence[Approval]:
        """See ``AdminReader.approvals``."""
        rows = await self._db.fetch(_ASKED, thread_id, run_id, limit)
        return [approval_from(row) for row in reversed(rows)]

    async def children(self, run_id: str) -> Sequence[Row]:
        """See ``AdminReader.children``."""
        return [_run(row) for row in await self._db.fetch(_CHILDREN, run_id)]

    async def steps(self, run_id: str, largest: int) -> Sequence[Row]:
        """See ``AdminReader.steps``."""
        return [
            {
                "name": row["name"],
                "turn": row["turn"],
                "finished_at": row["finished_at"],
                "trace": parse_json(row["trace"]),
                "value": None if row["value"] is None else parse_json(row["value"]),
                "size": row["size"],
            }
            for row in await self._db.fetch(_STEPS, run_id, largest)
        ]

    async def threads(
        self,
        *,
        agent: str | None,
        owner: str | None,
        status: str | None,
        search: str | None,
        before: str | None,
        limit: int,
    ) -> Sequence[Row]:
        """See ``AdminReader.threads``."""
        rows = await self._db.fetch(_THREADS, agent, owner, status, search, before, limit)
        return [_with_json(row, "usage", "error") for row in rows]

    async def unfinished(self) -> Mapping[str, Mapping[str, int]]:
        """See ``AdminReader.unfinished``."""
        found: dict[str, dict[str, int]] = {}
        for row in await self._db.fetch(_UNFINISHED):
            found.setdefault(row["agent"], {})[row["status"]] = row["runs"]
        return found

    async def system(self) -> Row:
        """See ``AdminReader.system``."""
        (row,) = await self._db.fetch(_SYSTEM)
        return {
            **{name: row[name] for name in ("pending_approvals", "threads", "database_bytes")},
            "oldest_queued_s": None
            if row["oldest_queued_s"] is None
            else float(row["oldest_queued_s"]),
            "workers": [_plain(each) for each in await self._db.fetch(_WORKERS)],
            "minutes": [_plain(each) for each in await self._db.fetch(_MINUTES)],
        }

    async def spent(self, days: int) -> Sequence[Row]:
        """See ``AdminReader.spent``."""
        return [_plain(each) for each in await self._db.fetch(_SPENT, days)]

    async def spent_on_models(self, days: int) -> Sequence[Row]:
        """See ``AdminReader.spent_on_models``."""
        return [_plain(each) for each in await self._db.fetch(_SPENT_ON_MODELS, days)]


def _asked(filters: Mapping[str, object]) -> tuple[str, list[object]]:
    """Return the condition of what is asked for, and its arguments."""
    asked = {name: value for name, value in filters.items() if value is not None}
    conditions = [
        _ASKED_OF_RUNS[name].format(f"${place}") for place, name in enumerate(asked, start=1)
    ]
    return f"WHERE {' AND '.join(conditions)}" if conditions else "", list(asked.values())


def _run(row: Any) -> Row:  # noqa: ANN401  # the driver's row
    found = dict(_with_json(row, "usage", "error"))
    found["duration_ms"] = None if found["duration_ms"] is None else float(found["duration_ms"])
    return found


def _with_json(row: Any, *columns: str) -> Row:  # noqa: ANN401  # the driver's row
    return {**_plain(row), **{name: parse_json(row[name]) for name in columns}}


def _plain(row: Any) -> dict[str, Any]:  # noqa: ANN401  # the driver's row
    return dict(row.items())
