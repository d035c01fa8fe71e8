"""``CallStore`` on Postgres: calls of server functions that wait for their time.

A call that was claimed is its claimer's until ``taken_until``, by Postgres's clock; whoever
claims it after that knows by ``attempts`` that somebody may have made it.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from app.domain.identity import Identity
from app.domain.scheduled import CallTarget, DueCall
from app.domain.storable import storable_text
from app.store.database import Database
from app.store.executors import Executor, Row

_PUT = """
INSERT INTO agent_scheduled_calls (id, function, arguments, user_id, roles, due_at, cron, slot)
VALUES ($1, $2, $3::text::json, $4, $5, $6, $7, $8)
    ON CONFLICT DO NOTHING
"""
_CLAIM = """
WITH c AS (
    SELECT id FROM agent_scheduled_calls a
     WHERE made_at IS NULL AND due_at <= clock_timestamp()
       AND (taken_until IS NULL OR taken_until < clock_timestamp())
       AND function = ANY ($1::text[])
       AND (cron IS NULL OR NOT EXISTS (
            SELECT FROM agent_scheduled_calls e
             WHERE e.cron = a.cron AND e.slot < a.slot AND e.made_at IS NULL))
     ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE agent_scheduled_calls a
   SET taken_until = clock_timestamp() + $3::interval, attempts = attempts + 1
  FROM c WHERE a.id = c.id
RETURNING a.id, a.function, a.arguments, a.user_id, a.roles, a.attempts, a.due_at
"""
"""The calls of a cron are made one after the other, in the order of their slots."""
_RENEW = """
UPDATE agent_scheduled_calls SET taken_until = clock_timestamp() + $2::interval
 WHERE id = ANY ($1::text[]) AND made_at IS NULL
"""
_SETTLE = """
UPDATE agent_scheduled_calls
   SET made_at = clock_timestamp(), taken_until = NULL, error = $2
 WHERE id = $1 AND made_at IS NULL
"""
_PUT_OFF = """
UPDATE agent_scheduled_calls
   SET due_at = clock_timestamp() + $2::interval, taken_until = NULL
 WHERE id = $1 AND made_at IS NULL
"""
_FAIL_UNKNOWN = """
UPDATE agent_scheduled_calls
   SET made_at = clock_timestamp(), taken_until = NULL,
       error = 'no worker knows the function ' || function
 WHERE made_at IS NULL AND due_at < clock_timestamp() - $2::interval
   AND (taken_until IS NULL OR taken_until < clock_timestamp())
   AND NOT function = ANY ($1::text[])
RETURNING 1
"""
_CANCEL = """
DELETE FROM agent_scheduled_calls
 WHERE id = $1 AND made_at IS NULL AND taken_until IS NULL AND attempts = 0
RETURNING 1
"""


class PostgresCallStore:
    """Implements ``app.domain.ports.schedules.CallStore``, which says what each method does."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """See ``CallStore.put``."""
        await put_call(self._db, call_id, target, due_at)

    async def cancel(self, call_id: str) -> bool:
        """See ``CallStore.cancel``."""
        return await cancel_call(self._db, call_id)

    async def claim(
        self, functions: Collection[str], limit: int, lease: timedelta
    ) -> Sequence[DueCall]:
        """See ``CallStore.claim``."""
        claimed = await self._db.fetch(_CLAIM, list(functions), limit, lease)
        return sorted(map(_due_call, claimed), key=lambda call: call.due_at)

    async def renew(self, call_ids: Collection[str], lease: timedelta) -> None:
        """See ``CallStore.renew``."""
        await self._db.fetch(_RENEW, list(call_ids), lease)

    async def settle(self, call_id: str, error: str | None) -> None:
        """See ``CallStore.settle``."""
        await self._db.fetch(_SETTLE, call_id, None if error is None else storable_text(error))

    async def put_off(self, call_id: str, wait: timedelta) -> None:
        """See ``CallStore.put_off``."""
        await self._db.fetch(_PUT_OFF, call_id, wait)

    async def fail_unknown(self, functions: Collection[str], after: timedelta) -> int:
        """See ``CallStore.fail_unknown``."""
        return len(await self._db.fetch(_FAIL_UNKNOWN, list(functions), after))


async def put_call(
    executor: Executor,
    call_id: str,
    target: CallTarget,
    due_at: datetime,
    *,
    cron: str | None = None,
    slot: datetime | None = None,
) -> None:
    """Store a call in whatever transaction this is."""
    caller = target.caller
    await executor.fetch(
        _PUT,
        call_id,
        target.function,
        target.arguments,
        caller.user_id,
        sorted(caller.roles),
        due_at,
        cron,
        slot,
    )


async def cancel_call(executor: Executor, call_id: str) -> bool:
    """Take a call back that nobody has begun; ``False``: there is none."""
    return bool(await executor.fetch(_CANCEL, call_id))


def _due_call(row: Row) -> DueCall:
    caller = Identity(row["user_id"], frozenset(row["roles"]))
    target = CallTarget(row["function"], row["arguments"], caller)
    return DueCall(row["id"], target, row["attempts"], row["due_at"])
