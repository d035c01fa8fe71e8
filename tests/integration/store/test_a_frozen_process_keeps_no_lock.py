"""A process that stands still inside a transaction loses its locks, wherever it stands.

Between two statements its session is idle, which the server ends.  Between the messages that
prepare a statement it is not: found by freezing workers at every point.
"""

import struct

import asyncpg
import pytest

from app.domain.errors import StoreUnavailable
from app.store import database as database_module
from app.store.database import Connection, Database

ROW = "SELECT FROM locked FOR UPDATE"
PATIENCE_S = 5.0
FLUSH = struct.pack("!cI", b"H", 4)


def parse(statement: str) -> bytes:
    """Return the message that asks to prepare a statement."""
    body = b"\0" + statement.encode() + b"\0" + struct.pack("!H", 0)
    return struct.pack("!cI", b"P", 4 + len(body)) + body


@pytest.fixture
async def rival(database_url: str) -> "asyncpg.Connection[asyncpg.Record]":
    connection = await asyncpg.connect(database_url)
    await connection.execute("CREATE TABLE locked AS SELECT 1")
    return connection


@pytest.mark.req("DUR-07")
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="between-two-statements"),
        pytest.param(parse("SELECT 1") + FLUSH, id="while-it-prepares-one"),
    ],
)
async def test_another_gets_its_lock(
    sent: bytes,
    database_url: str,
    rival: "asyncpg.Connection[asyncpg.Record]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database_module, "TRANSACTION_LIMIT", "400ms")
    monkeypatch.setitem(database_module.SESSION, "idle_in_transaction_session_timeout", "400ms")

    got_it: list[str] = []

    async def stand_still(connection: Connection) -> None:
        await connection.execute(ROW)
        transport = connection._con._transport  # type: ignore[attr-defined]  # asyncpg's own
        transport.pause_reading()
        transport.write(sent)
        got_it.append(await rival.execute(ROW, timeout=PATIENCE_S))
        transport.resume_reading()
        await connection.execute("SELECT 1")

    async with Database(database_url) as database:
        with pytest.raises(StoreUnavailable):
            await database.transact(stand_still)
    await rival.close()

    assert got_it == ["SELECT 1"]
