"""Users whose tokens were taken back: whatever was issued to them before a moment is refused."""

from collections.abc import Mapping
from datetime import datetime

from app.store.executors import Executor

_ALL = "SELECT user_id, not_before FROM agent_revocations"
_REVOKE = """
INSERT INTO agent_revocations (user_id, not_before) VALUES ($1, now())
ON CONFLICT (user_id) DO UPDATE SET not_before = excluded.not_before
RETURNING not_before
"""
_LIFT = "DELETE FROM agent_revocations WHERE user_id = $1 RETURNING user_id"


async def revocations(executor: Executor) -> Mapping[str, datetime]:
    """Return from when on a user's tokens are good, for each user who had any taken back."""
    return {row["user_id"]: row["not_before"] for row in await executor.fetch(_ALL)}


async def revoke_user(executor: Executor, user_id: str) -> datetime:
    """Take back every token that this user has until now; return until when."""
    rows = await executor.fetch(_REVOKE, user_id)
    moment: datetime = rows[0]["not_before"]
    return moment


async def lift_revocation(executor: Executor, user_id: str) -> bool:
    """Let the user's old tokens be good again; return whether any were taken back."""
    return bool(await executor.fetch(_LIFT, user_id))
