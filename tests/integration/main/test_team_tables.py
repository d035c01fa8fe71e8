"""The team's tables and ours in one database: two histories that never meet."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.command import downgrade

from app.main.migrating import bring_up_to_date, is_up_to_date
from app.main.refusal import Refusal
from app.store.histories import team_history
from app.store.migrate import alembic_config, is_current
from tests.support.gateway_process import a_gateway
from tests.support.team_folder import TeamFolder, a_team_folder
from tests.support.wait_until import wait_until_sync

pytestmark = pytest.mark.req("AGT-16", "IMP-25")
ROOT = Path(__file__).resolve().parents[3]

THREADS = """
from sqlmodel import Field, SQLModel

class Thread(SQLModel, table=True):
    __tablename__ = "threads"
    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(index=True, max_length=80)
"""
WITH_A_TITLE = THREADS + "    title: str | None = None\n"
EVERY_TYPE = '''
import enum
import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import ARRAY, CHAR, Column, ForeignKey, Text, TypeDecorator, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import AutoString, Field, SQLModel

class Kind(enum.Enum):
    NEW = "new"
    OLD = "old"

class Trimmed(TypeDecorator[str]):
    """A type of the team's own."""

    impl = CHAR(7)
    cache_ok = True

class Parcel(SQLModel, table=True):
    __tablename__ = "parcels"
    __table_args__ = (UniqueConstraint("name", "day", name="parcels_once"),)
    id: uuid.UUID = Field(primary_key=True)
    thread: str | None = Field(default=None, foreign_key="agent_threads.id")
    name: str = Field(max_length=40)
    note: str = Field(default="", sa_column_kwargs={"server_default": "none"})
    at: datetime = Field(sa_column_kwargs={"server_default": text("now()")})
    day: date
    took: timedelta | None = None
    price: Decimal = Field(max_digits=10, decimal_places=2)
    weight: float
    is_sent: bool = False
    body: bytes = b""
    tags: list[str] = Field(sa_type=ARRAY(AutoString))
    extra: dict = Field(sa_type=JSONB)
    code: str = Field(sa_type=Trimmed)
    kind: Kind
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TeamFolder]:
    with a_team_folder(tmp_path) as made:
        yield made


def _tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in rows}


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def ropewalk(url: str, *argv: str) -> "subprocess.Popen[str]":
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "app.main.cli", *argv],
        cwd=ROOT,
        env={"DATABASE_URL": url, "PATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for a command; return its code and all that it said."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def test_an_app_with_a_threads_table_of_its_own_migrates_cleanly(
    empty_database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS)
    bring_up_to_date(empty_database_url, folder.path)

    written = folder.add_migration(empty_database_url, "add threads")
    bring_up_to_date(empty_database_url, folder.path)

    assert folder.migrations == [written]
    assert _tables(empty_database_url) >= {"threads", "agent_threads"}
    assert folder.not_migrated(empty_database_url) == []


def test_from_empty_to_the_newest_and_from_there_to_the_same(
    empty_database_url: str, database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")
    assert not is_up_to_date(empty_database_url, folder.path)

    bring_up_to_date(empty_database_url, folder.path)
    _execute(empty_database_url, "INSERT INTO threads VALUES (1, 'kept')")
    bring_up_to_date(empty_database_url, folder.path)

    assert is_up_to_date(empty_database_url, folder.path)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT key FROM threads").fetchall() == [("kept",)]


def test_a_folder_without_tables_leaves_nothing_in_the_database(
    empty_database_url: str, folder: TeamFolder
) -> None:
    bring_up_to_date(empty_database_url, folder.path)

    assert all(name.startswith("agent_") for name in _tables(empty_database_url))
    assert is_up_to_date(empty_database_url, folder.path)


def test_a_change_is_a_second_migration_and_no_change_is_none(
    database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")
    bring_up_to_date(database_url, folder.path)
    assert folder.add_migration(database_url, "nothing") is None

    folder.write(threads=WITH_A_TITLE)
    assert folder.not_migrated(database_url) == ["threads"]
    second = folder.add_migration(database_url, "add titles")
    bring_up_to_date(database_url, folder.path)

    assert second is not None
    assert "add_column('threads'" in second.read_text()
    assert folder.not_migrated(database_url) == []
    assert len(folder.migrations) == 2


def test_nothing_but_declared_tables_is_ever_compared(
    database_url: str, folder: TeamFolder
) -> None:
    _execute(database_url, "CREATE TABLE somebody_elses (id int)")
    _execute(database_url, "ALTER TABLE agent_threads ADD COLUMN by_hand int")

    folder.write(plain="X = 1")
    assert folder.add_migration(database_url, "nothing") is None
    written = folder.write(threads=THREADS).add_migration(database_url, "add threads")

    assert written is not None
    assert "somebody_elses" not in written.read_text()
    assert "agent_" not in written.read_text()


def test_each_history_goes_down_alone(database_url: str, folder: TeamFolder) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")
    bring_up_to_date(database_url, folder.path)
    theirs = team_history(folder.path)

    downgrade(alembic_config(database_url), "base")
    after_ours = _tables(database_url)
    bring_up_to_date(database_url, folder.path)
    downgrade(alembic_config(database_url, theirs), "base")
    after_theirs = _tables(database_url)

    assert "threads" in after_ours
    assert "agent_threads" not in after_ours
    assert "threads" not in after_theirs
    assert "agent_threads" in after_theirs
    assert (is_current(database_url), is_current(database_url, theirs)) == (True, False)


def test_columns_of_every_type_come_out_as_they_are_declared(
    database_url: str, folder: TeamFolder
) -> None:
    written = folder.write(parcels=EVERY_TYPE).add_migration(database_url, "add parcels")
    bring_up_to_date(database_url, folder.path)

    assert written is not None
    assert "sqlmodel" not in written.read_text()
    assert "agents" not in written.read_text()
    assert folder.not_migrated(database_url) == []


def test_a_migration_with_types_of_its_own_goes_down_and_up_again(
    database_url: str, folder: TeamFolder
) -> None:
    folder.write(parcels=EVERY_TYPE).add_migration(database_url, "add parcels")
    bring_up_to_date(database_url, folder.path)

    downgrade(alembic_config(database_url, team_history(folder.path)), "base")
    bring_up_to_date(database_url, folder.path)

    assert folder.not_migrated(database_url) == []


def test_a_table_may_be_in_a_schema_of_its_own(database_url: str, folder: TeamFolder) -> None:
    _execute(database_url, "CREATE SCHEMA shop")
    _execute(database_url, "CREATE TABLE shop.somebody_elses (id int)")
    inside = '    __tablename__ = "threads"\n    __table_args__ = {"schema": "shop"}\n'
    folder.write(threads=THREADS, shop=THREADS.replace('    __tablename__ = "threads"\n', inside))

    written = folder.add_migration(database_url, "add both")
    bring_up_to_date(database_url, folder.path)

    assert written is not None
    assert "somebody_elses" not in written.read_text()
    assert folder.not_migrated(database_url) == []


def test_a_member_that_an_enumeration_got_is_noticed(database_url: str, folder: TeamFolder) -> None:
    folder.write(parcels=EVERY_TYPE).add_migration(database_url, "add parcels")
    bring_up_to_date(database_url, folder.path)

    folder.write(
        parcels=EVERY_TYPE.replace("class Trimmed", "    GONE = 'it:s'\n\nclass Trimmed"),
        moved=THREADS.replace("SQLModel\n", "SQLModel\nfrom agents.parcels import Kind\n", 1)
        + "    kind: Kind\n",
    )
    assert folder.not_migrated(database_url) == ["parcels", "threads"]
    folder.add_migration(database_url, "lose parcels")
    bring_up_to_date(database_url, folder.path)

    assert folder.not_migrated(database_url) == []
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT enum_range(NULL::kind)::text").fetchone()
    assert rows == ("{NEW,OLD,GONE}",)


def test_ends_that_two_people_wrote_are_joined_by_the_next_migration(
    database_url: str, folder: TeamFolder
) -> None:
    first = folder.add_migration(database_url, "one", is_empty=True)
    assert first is not None
    aside = first.read_text()
    first.unlink()
    folder.add_migration(database_url, "two", is_empty=True)
    first.write_text(aside)
    bring_up_to_date(database_url, folder.path)
    assert is_up_to_date(database_url, folder.path)

    folder.write(threads=THREADS).add_migration(database_url, "three")
    bring_up_to_date(database_url, folder.path)

    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT * FROM team_alembic_version").fetchall()
    assert len(rows) == 1
    assert folder.not_migrated(database_url) == []


def test_a_database_that_is_behind_is_not_compared(
    empty_database_url: str, database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS)
    with pytest.raises(Refusal, match="run `ropewalk migrate` first"):
        folder.add_migration(empty_database_url, "add threads")

    folder.add_migration(database_url, "add threads")
    with pytest.raises(Refusal, match="does not have all of your migrations"):
        folder.add_migration(database_url, "again")
    assert len(folder.migrations) == 1


def test_a_database_that_is_ahead_stays_as_it_is(database_url: str, folder: TeamFolder) -> None:
    written = folder.write(threads=THREADS).add_migration(database_url, "add threads")
    bring_up_to_date(database_url, folder.path)
    _execute(database_url, "UPDATE team_alembic_version SET version_num = 'of tomorrow'")
    _execute(database_url, "UPDATE agent_alembic_version SET version_num = 'of tomorrow'")

    bring_up_to_date(database_url, folder.path)

    assert is_up_to_date(database_url, folder.path)
    with pytest.raises(Refusal, match=r"has a migration that .* does not have"):
        folder.add_migration(database_url, "again")
    assert folder.migrations == [written]


def test_a_migration_that_fails_is_named_and_leaves_nothing(
    database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")
    wrong = folder.migrations[0]
    wrong.write_text(wrong.read_text().replace("### end", "### end\n    op.execute('nonsense')  #"))

    with pytest.raises(Refusal, match=rf"{wrong}:\d+: ProgrammingError: syntax error"):
        bring_up_to_date(database_url, folder.path)

    assert "threads" not in _tables(database_url)


def test_the_commands_say_what_they_did(empty_database_url: str, folder: TeamFolder) -> None:
    folder.write(threads=THREADS)
    url, here = empty_database_url, ("--agents", str(folder.path))

    steps = [
        said(ropewalk(url, *command, *here))
        for command in (
            ("migration", "add threads"),
            ("migrate",),
            ("migration", "--check"),
            ("migration",),
            ("migration", "add threads"),
            ("migrate",),
            ("migration", "add threads"),
            ("migration", "--check"),
        )
    ]

    (file,) = folder.migrations
    nothing = f"Nothing to migrate: the database has what {folder.path} declares.\n"
    assert steps == [
        (1, "ropewalk: the database is not up to date: run `ropewalk migrate` first\n"),
        (0, "The database is up to date.\n"),
        (
            1,
            "ropewalk: no migration covers what is declared of threads: run"
            ' `ropewalk migration "what changes"`, then `ropewalk migrate`\n',
        ),
        (1, 'ropewalk: say what changes, as in `ropewalk migration "add orders"`\n'),
        (0, f"{file} is written: read it, then run `ropewalk migrate`.\n"),
        (0, "The database is up to date.\n"),
        (0, nothing),
        (0, nothing),
    ]


def test_two_migrators_at_once_do_not_race(
    empty_database_url: str, database_url: str, folder: TeamFolder
) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")

    both = [ropewalk(empty_database_url, "migrate", "--agents", str(folder.path)) for _ in range(2)]

    assert [said(each) for each in both] == [(0, "The database is up to date.\n")] * 2
    assert is_up_to_date(empty_database_url, folder.path)


def test_without_a_database_the_commands_refuse(folder: TeamFolder, tmp_path: Path) -> None:
    nowhere = ("--data-dir", str(tmp_path), "--agents", str(folder.path))

    code, text = said(ropewalk("", "migrate", *nowhere))

    assert code == 1
    assert text == f"ropewalk: DATABASE_URL is not set, and no `ropewalk dev` runs in {tmp_path}\n"


def test_a_database_that_is_away_is_one_sentence(folder: TeamFolder) -> None:
    code, text = said(
        ropewalk("postgresql://nobody@127.0.0.1:1/none", "migrate", "--agents", str(folder.path))
    )

    assert code == 1
    assert text.startswith("ropewalk: the database said: ")
    assert "Traceback" not in text


def test_a_gateway_is_ready_when_both_histories_are_applied(
    database_url: str, redis_url: str, redis_namespace: str, folder: TeamFolder, tmp_path: Path
) -> None:
    folder.write(threads=THREADS).add_migration(database_url, "add threads")
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        agents=folder.path,
        namespace=redis_namespace,
        wait=False,
    ) as gateway:
        wait_until_sync(lambda: gateway.status("/healthz") == 200, description="it serves")
        before = gateway.status()
        bring_up_to_date(database_url, folder.path)
        wait_until_sync(lambda: gateway.status() == 200, description="it is ready")

    assert before == 503


def test_dev_warns_of_tables_that_no_migration_covers(
    database_url: str, redis_url: str, redis_namespace: str, folder: TeamFolder, tmp_path: Path
) -> None:
    folder.write(threads=THREADS)
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        agents=folder.path,
        namespace=redis_namespace,
        env={"ROPEWALK_DEV": "1"},
    ) as gateway:
        log = gateway.log.read_text()

    warned = [line for line in log.splitlines() if "no migration covers" in line]
    assert len(warned) == 1
    assert 'declared of threads: run `ropewalk migration "what changes"`' in warned[0]
    assert folder.migrations == []
