"""What an operator does with the database alone: keys of servers, and tokens taken back.

It needs no gateway, and reaches all of them within 30 s (``docs/security.md``).
"""

import asyncio
import secrets
import string
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from app.domain.api_key import ApiKey, PresentedKey
from app.domain.errors import InvalidArgument
from app.http.identity import fault_of_user_id
from app.main.refusal import Refusal
from app.store.api_keys import PostgresApiKeys
from app.store.database import Database
from app.store.revocations import lift_revocation, revoke_user
from app.threads.scopes import as_scope

T = TypeVar("T")

_ID_LETTERS = string.ascii_lowercase + string.digits


def create_key(
    database_url: str,
    *,
    name: str,
    user: str,
    roles: Sequence[str],
    scopes: Sequence[str],
    lifetime: timedelta | None,
) -> PresentedKey:
    """Make a key and return it; this is the only moment at which anybody sees it.

    Raises:
        Refusal: something about it makes no sense; says what.
    """
    presented = PresentedKey(
        "".join(secrets.choice(_ID_LETTERS) for _ in range(12)), secrets.token_urlsafe(32)
    )
    now = datetime.now(UTC)
    key = ApiKey(
        id=presented.id,
        digest=presented.digest,
        name=name,
        user_id=_checked_user(user),
        roles=frozenset(roles),
        scopes=_checked_scopes(scopes),
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    _run(database_url, lambda database: PostgresApiKeys(database).create(key))
    return presented


def all_keys(database_url: str) -> Sequence[ApiKey]:
    """Return every key, the oldest first."""
    return _run(database_url, lambda database: PostgresApiKeys(database).all())


def revoke_key(database_url: str, key_id: str) -> None:
    """Revoke a key for good.

    Raises:
        Refusal: there is none with this id.
    """
    if not _run(database_url, lambda database: PostgresApiKeys(database).revoke(key_id)):
        raise Refusal(f"there is no key {key_id}; `ropewalk keys list` shows them")


def take_back(database_url: str, user: str) -> datetime:
    """Take back every token and key that a user has until now; return until when."""
    checked = _checked_user(user)
    return _run(database_url, lambda database: revoke_user(database, checked))


def give_back(database_url: str, user: str) -> None:
    """Let a user's old tokens be good again.

    Raises:
        Refusal: none were taken back.
    """
    if not _run(database_url, lambda database: lift_revocation(database, user)):
        raise Refusal(f"no tokens of {user!r} were taken back")


def _checked_user(user: str) -> str:
    fault = fault_of_user_id(user)
    if fault is not None:
        raise Refusal(f"a user's id {fault}")
    return user


def _checked_scopes(scopes: Sequence[str]) -> frozenset[str] | None:
    try:
        return frozenset(map(as_scope, scopes)) if scopes else None
    except InvalidArgument as error:
        raise Refusal(error.message) from error


def _run(database_url: str, work: Callable[[Database], Awaitable[T]]) -> T:
    async def within() -> T:
        async with Database(database_url, size=1) as database:
            return await work(database)

    return asyncio.run(within())
