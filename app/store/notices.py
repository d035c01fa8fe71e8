"""Notices on their way to another system: written with what they tell of, sent until taken.

A notice that was claimed is its claimer's for a while, by Postgres's clock; one whose claimer died
is sent again, so whoever gets it may get it twice, under the same id.
"""

from collections.abc import Sequence
from datetime import timedelta

from app.domain.notice import Notice, OwedNotice
from app.domain.storable import encode, storable_text
from app.store.database import Database
from app.store.executors import Executor
from app.store.rows import parse_json

_PUT = """
INSERT INTO agent_notices (id, kind, data, due_at, created_at)
SELECT n.id, n.kind, n.data::json, clock_timestamp(), clock_timestamp()
  FROM unnest($1::text[], $2::text[], $3::text[]) AS n (id, kind, data)
    ON CONFLICT (id) DO NOTHING
"""
_CLAIM = """
WITH c AS (
    SELECT id FROM agent_notices
     WHERE settled_at IS NULL AND due_at <= clock_timestamp()
     ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE agent_notices n
   SET due_at = clock_timestamp() + $2::interval, attempts = attempts + 1
  FROM c WHERE n.id = c.id
RETURNING n.id, n.kind, n.data, n.created_at, n.attempts
"""
_SETTLE = """
UPDATE agent_notices SET settled_at = clock_timestamp(), error = $2
 WHERE id = $1 AND settled_at IS NULL
"""
_PUT_OFF = """
UPDATE agent_notices SET due_at = clock_timestamp() + $2::interval, error = $3
 WHERE id = $1 AND settled_at IS NULL
"""


async def put_notices(executor: Executor, notices: Sequence[Notice]) -> None:
    """Store notices in the transaction that makes them true, each once."""
    await executor.fetch(
        _PUT,
        [notice.id for notice in notices],
        [notice.kind for notice in notices],
        [encode(dict(notice.data)) for notice in notices],
    )


class PostgresNotices:
    """Implements ``app.channels.webhook.NoticeStore``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(self, limit: int, lease: timedelta) -> Sequence[OwedNotice]:
        """See ``NoticeStore.claim``."""
        rows = await self._db.fetch(_CLAIM, limit, lease)
        return [
            OwedNotice(
                Notice(row["id"], row["kind"], parse_json(row["data"])),
                row["created_at"],
                row["attempts"],
            )
            for row in sorted(rows, key=lambda row: row["created_at"])
        ]

    async def settle(self, notice_id: str, error: str | None) -> None:
        """See ``NoticeStore.settle``."""
        await self._db.fetch(_SETTLE, notice_id, None if error is None else storable_text(error))

    async def put_off(self, notice_id: str, wait: timedelta, error: str) -> None:
        """See ``NoticeStore.put_off``."""
        await self._db.fetch(_PUT_OFF, notice_id, wait, storable_text(error))
