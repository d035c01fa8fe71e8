"""Of a key its digest is kept, of a revocation its moment; both are there for every process."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.domain.api_key import ApiKey, PresentedKey
from app.store.api_keys import PostgresApiKeys
from app.store.database import Database
from app.store.revocations import lift_revocation, revocations, revoke_user

pytestmark = pytest.mark.req("IMP-05")

SHOWN = PresentedKey("abc123abc123", "Secret-Secret_" + "s" * 29)
KEY = ApiKey(
    id=SHOWN.id,
    digest=SHOWN.digest,
    name="nightly",
    user_id="robot",
    roles=frozenset({"admin", "ops"}),
    scopes=frozenset({"chat:startRun"}),
    created_at=datetime.now(UTC),
    expires_at=datetime.now(UTC) + timedelta(days=1),
)


async def test_a_key_is_found_as_it_was_made(database_url: str) -> None:
    free = replace(KEY, id="zzz123abc123", scopes=None, expires_at=None, roles=frozenset())
    async with Database(database_url) as database:
        keys = PostgresApiKeys(database)
        await keys.create(KEY)
        await keys.create(free)

        assert await keys.find(KEY.id) == KEY
        assert await keys.find("nobody") is None
        assert {each.id: each for each in await keys.all()} == {KEY.id: KEY, free.id: free}


async def test_no_column_holds_the_secret(database_url: str) -> None:
    async with Database(database_url) as database:
        await PostgresApiKeys(database).create(KEY)

    with psycopg.connect(database_url) as connection:
        (row,) = connection.execute("SELECT row_to_json(k)::text FROM agent_api_keys k").fetchone()  # type: ignore[misc]  # there is one

    assert KEY.name in row
    assert SHOWN.secret not in row
    assert SHOWN.secret.encode().hex() not in row


async def test_a_revoked_key_stays_revoked_since_the_first_time(database_url: str) -> None:
    async with Database(database_url) as database:
        keys = PostgresApiKeys(database)
        await keys.create(KEY)

        assert await keys.revoke(KEY.id)
        first = await keys.find(KEY.id)
        assert await keys.revoke(KEY.id)
        assert await keys.find(KEY.id) == first
        assert not await keys.revoke("nobody")

    assert first is not None
    assert first.fault(datetime.now(UTC)) == "the API key was revoked"


async def test_use_is_noted_to_the_hour(database_url: str) -> None:
    async with Database(database_url) as database:
        keys = PostgresApiKeys(database)
        await keys.create(KEY)

        await keys.note_use(KEY.id)
        first = await keys.find(KEY.id)
        await keys.note_use(KEY.id)

        assert first is not None
        assert first.used_at is not None
        assert await keys.find(KEY.id) == first


async def test_a_users_tokens_are_taken_back_until_now_and_given_back(database_url: str) -> None:
    async with Database(database_url) as database:
        first = await revoke_user(database, "ann")
        again = await revoke_user(database, "ann")

        assert first < again
        assert await revocations(database) == {"ann": again}
        assert await lift_revocation(database, "ann")
        assert not await lift_revocation(database, "ann")
        assert await revocations(database) == {}
