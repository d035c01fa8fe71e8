"""What is deleted when nobody can ask for it any more: one bite at a time."""

from app.store.calls import forget_old_calls
from app.store.executors import Executor

_FORGET_TIMERS = """
DELETE FROM agent_timers
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_timers
                           WHERE fired_at IS NOT NULL
                             AND fired_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""
_FORGET_SIGNALS = """
DELETE FROM agent_signals
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_signals
                           WHERE read_at IS NOT NULL
                             AND read_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""

_FORGET_CALLS = """
DELETE FROM agent_scheduled_calls
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_scheduled_calls
                           WHERE made_at IS NOT NULL
                             AND made_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""
_FORGET_NOTICES = """
DELETE FROM agent_notices
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_notices
                           WHERE settled_at IS NOT NULL
                             AND settled_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""
_FORGET_DECKS = """
DELETE FROM agent_cron_decks
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM agent_cron_decks
                           WHERE NOT holds
                             AND seen_at < clock_timestamp() - interval '24 hours' LIMIT $1))
RETURNING 1
"""


_FORGETTING = (
    _FORGET_TIMERS,
    _FORGET_SIGNALS,
    _FORGET_CALLS,
    _FORGET_NOTICES,
    _FORGET_DECKS,
)


async def forget_what_is_over(executor: Executor, limit: int = 5000) -> int:
    """Delete calls, fired timers, read signals and notices that are over for a day; how many.

    Up to ``limit`` of each kind.  They are kept that long so that the same call, schedule or
    signal, sent again, is known.  Decks of crons that no worker had for a day go with them.
    """
    forgotten = await forget_old_calls(executor, limit)
    for statement in _FORGETTING:
        forgotten += len(await executor.fetch(statement, limit))
    return forgotten
