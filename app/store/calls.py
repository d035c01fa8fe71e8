"""The memory of calls: a call that is repeated under its key finds what the first one did."""

from app.domain.calls import CallKey, RememberedCall
from app.domain.storable import encode
from app.domain.tables import TableWrites, writes_from_json, writes_to_json
from app.store.executors import Executor
from app.store.rows import parse_json

_NOTE = """
INSERT INTO agent_calls (identity, function, dedupe, arguments) VALUES ($1, $2, $3, $4)
    ON CONFLICT (identity, function, dedupe) DO NOTHING
RETURNING 1
"""
_FIND = """
SELECT arguments, result::text AS result, writes::text AS writes FROM agent_calls
 WHERE identity = $1 AND function = $2 AND dedupe = $3
"""
_ANSWER = """
UPDATE agent_calls SET result = $4::text::json, writes = $5::text::json
 WHERE identity = $1 AND function = $2 AND dedupe = $3
"""
_FORGET = """
DELETE FROM agent_calls
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_calls
                           WHERE created_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""


async def remember(executor: Executor, call: CallKey, arguments: str) -> RememberedCall | None:
    """Note that a call is being made; return the earlier one under its key, if there was one.

    Waits for a transaction that is just making the same call.
    """
    key = (call.identity, call.function, call.dedupe)
    while True:
        if await executor.fetch(_NOTE, *key, arguments):
            return None
        found = await executor.fetch(_FIND, *key)
        if found:
            return RememberedCall(
                found[0]["arguments"], found[0]["result"], _writes(found[0]["writes"])
            )
        # The earlier one was forgotten between the two statements: this is the first.


async def answer(executor: Executor, call: CallKey, result: str, writes: TableWrites) -> None:
    """Store the result (JSON text) of a remembered call, and what it wrote."""
    stored = encode(writes_to_json(writes)) if writes else None
    await executor.fetch(_ANSWER, call.identity, call.function, call.dedupe, result, stored)


async def forget_old_calls(executor: Executor, limit: int = 5000) -> int:
    """Delete up to ``limit`` calls that are older than a day; return how many there were."""
    return len(await executor.fetch(_FORGET, limit))


def _writes(stored: str | None) -> TableWrites:
    return {} if stored is None else writes_from_json(parse_json(stored))
