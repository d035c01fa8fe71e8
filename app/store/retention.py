"""What is deleted when nobody can ask for it any more: one bite at a time."""

from app.store.calls import forget_old_calls
from app.store.executors import Executor


def _forgetting(table: str, what: str) -> str:
    """Return the statement that deletes up to ``$1`` rows of which this holds."""
    return f"""
DELETE FROM {table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM {table} WHERE {what} LIMIT $1))
RETURNING 1
"""


_DAY_AGO = "clock_timestamp() - interval '24 hours'"
_FORGETTING = tuple(
    _forgetting(table, f"{over} IS NOT NULL AND {over} < {_DAY_AGO}")
    for table, over in (
        ("agent_timers", "fired_at"),
        ("agent_signals", "read_at"),
        ("agent_scheduled_calls", "made_at"),
        ("agent_notices", "settled_at"),
    )
)
_FORGET_DECKS = _forgetting("agent_cron_decks", f"NOT holds AND seen_at < {_DAY_AGO}")


async def forget_what_is_over(executor: Executor, limit: int = 5000) -> int:
    """Delete calls, fired timers, read signals and notices that are over for a day; how many.

    Up to ``limit`` of each kind.  They are kept that long so that the same call, schedule or
    signal, sent again, is known.  Decks of crons that no worker had for a day go with them.
    """
    forgotten = await forget_old_calls(executor, limit)
    for statement in (*_FORGETTING, _FORGET_DECKS):
        forgotten += len(await executor.fetch(statement, limit))
    return forgotten
