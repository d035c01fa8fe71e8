"""The keys of servers: made, found, listed and revoked.  A revoked one stays, to be told apart."""

from collections.abc import Sequence

from app.domain.api_key import ApiKey
from app.store.executors import Executor, Row

_COLUMNS = "id, digest, name, user_id, roles, scopes, created_at, expires_at, revoked_at, used_at"
_CREATE = """
INSERT INTO agent_api_keys (id, digest, name, user_id, roles, scopes, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_FIND = f"SELECT {_COLUMNS} FROM agent_api_keys WHERE id = $1"
_ALL = f"SELECT {_COLUMNS} FROM agent_api_keys ORDER BY created_at, id"
_REVOKE = """
UPDATE agent_api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING id
"""
_USED = """
UPDATE agent_api_keys SET used_at = now()
 WHERE id = $1 AND (used_at IS NULL OR used_at < now() - interval '1 hour')
"""


class PostgresApiKeys:
    """All keys of a deployment (``KeyStore``)."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def create(self, key: ApiKey) -> None:
        """Store a new key."""
        await self._executor.fetch(
            _CREATE,
            key.id,
            key.digest,
            key.name,
            key.user_id,
            sorted(key.roles),
            None if key.scopes is None else sorted(key.scopes),
            key.created_at,
            key.expires_at,
        )

    async def find(self, key_id: str) -> ApiKey | None:
        """Return the key with this id, revoked ones included."""
        rows = await self._executor.fetch(_FIND, key_id)
        return _key(rows[0]) if rows else None

    async def all(self) -> Sequence[ApiKey]:
        """Return every key, the oldest first."""
        return [_key(row) for row in await self._executor.fetch(_ALL)]

    async def revoke(self, key_id: str) -> bool:
        """Revoke a key for good; return whether there is one."""
        return bool(await self._executor.fetch(_REVOKE, key_id))

    async def note_use(self, key_id: str) -> None:
        """Note that a key is in use, to the hour."""
        await self._executor.fetch(_USED, key_id)


def _key(row: Row) -> ApiKey:
    scopes = row["scopes"]
    return ApiKey(
        id=row["id"],
        digest=row["digest"],
        name=row["name"],
        user_id=row["user_id"],
        roles=frozenset(row["roles"]),
        scopes=None if scopes is None else frozenset(scopes),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        used_at=row["used_at"],
    )
