"""The embedded Postgres keeps what was committed, whoever is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.main.embedded import EmbeddedPostgres
from app.main.embedded.server import command_line
from app.main.refusal import Refusal
from tests.support.embedded_stores import session_folder
from tests.support.wait_until import wait_until_sync


@pytest.fixture
def folder() -> Iterator[Path]:
    with session_folder() as made:
        yield made / "postgres"


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    made = EmbeddedPostgres(folder, durable=False)
    made.start()
    yield made
    made.stop()


def _write_a_row(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")


def _read_the_row(server: EmbeddedPostgres) -> object:
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SELECT n FROM kept").fetchone()
    return row and row[0]


def test_committed_rows_survive_a_restart_under_the_same_address(server: EmbeddedPostgres) -> None:
    _write_a_row(server)
    before = server.url

    server.stop()
    server.start()

    assert _read_the_row(server) == 7
    assert server.url == before


def test_committed_rows_survive_a_sigkill_while_a_backend_is_busy(server: EmbeddedPostgres) -> None:
    _write_a_row(server)
    busy = psycopg.connect(server.url, autocommit=True)
    busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 30000000)")

    os.kill(server.pid, signal.SIGKILL)
    wait_until_sync(lambda: not server.is_running(), description="the postmaster is gone")
    server.start()

    assert _read_the_row(server) == 7
    busy.close()


def test_a_server_whose_starter_was_killed_is_stopped_before_a_new_one_starts(folder: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from app.main.embedded import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(Path(sys.argv[1]), durable=False)\n"
        "server.start(); print(server.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    starter = subprocess.run(
        [sys.executable, "-c", script, folder], capture_output=True, text=True, check=False
    )
    leftover = int(starter.stdout)
    assert str(folder) in command_line(leftover)

    server = EmbeddedPostgres(folder, durable=False)
    server.start()

    assert not command_line(leftover)
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()


@pytest.mark.parametrize("which", ["url", "fast_url"])
async def test_the_address_works_for_asyncpg_psycopg_and_sqlalchemy(
    server: EmbeddedPostgres, which: str
) -> None:
    url: str = getattr(server, which)

    plain = await asyncpg.connect(url)
    assert await plain.fetchval("SELECT 1") == 1
    await plain.close()

    async with await psycopg.AsyncConnection.connect(url) as other:
        cursor = await other.execute("SELECT 1")
        assert await cursor.fetchone() == (1,)

    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:", 1))
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT 1")) == 1
    await engine.dispose()


def test_nobody_gets_in_without_the_password(server: EmbeddedPostgres) -> None:
    address = server.url.rpartition("@")[2]

    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://ropewalk:wrong@{address}")


def test_half_a_cluster_is_made_anew(folder: Path) -> None:
    (folder / "data.unfinished" / "base").mkdir(parents=True)

    server = EmbeddedPostgres(folder, durable=False)
    server.start()

    assert server.is_running()
    server.stop()


def test_a_cluster_of_another_major_version_is_refused_in_a_sentence(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "PG_VERSION").write_text("16\n")

    with pytest.raises(Refusal, match="made by Postgres 16"):
        EmbeddedPostgres(folder).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it as somebody else")
def test_root_can_keep_its_data_in_a_folder_that_is_closed_to_others(folder: Path) -> None:
    folder.parent.chmod(0o700)

    server = EmbeddedPostgres(folder, durable=False)
    server.start()

    assert Path(f"/proc/{server.pid}").stat().st_uid != 0
    server.stop()
