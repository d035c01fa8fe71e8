"""The tables come from migrations alone, and those say what the models say."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.command import downgrade
from alembic.config import Config
from pytest_alembic import tests as laws
from pytest_alembic.config import Config as RunnerConfig
from pytest_alembic.runner import MigrationContext, runner
from sqlmodel import SQLModel

import app.store.tables
from app.store.addresses import sync_engine
from app.store.migrate import alembic_config, is_current, upgrade
from tests.support.team_folder import a_team_folder

pytestmark = pytest.mark.req("IMP-25")

_TABLES = {name for name in SQLModel.metadata.tables if name.startswith("agent_")}


@pytest.fixture
def history(empty_database_url: str) -> Iterator[MigrationContext]:
    config: Config = alembic_config(empty_database_url)
    engine = sync_engine(empty_database_url)
    with runner(config=RunnerConfig.from_raw_config(config), engine=engine) as context:
        yield context


def _tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in rows}


def test_the_history_has_one_end(history: MigrationContext) -> None:
    laws.test_single_head_revision(history)


def test_the_migrations_make_what_the_models_declare(history: MigrationContext) -> None:
    laws.test_model_definitions_match_ddl(history)


@pytest.mark.req("AGT-16")
def test_tables_of_the_team_are_no_part_of_our_history(
    history: MigrationContext, tmp_path: Path
) -> None:
    with a_team_folder(tmp_path) as folder:
        folder.write(
            shop="from sqlmodel import Field, SQLModel\n"
            "class Order(SQLModel, table=True):\n    id: int = Field(primary_key=True)\n"
        ).load()

        laws.test_model_definitions_match_ddl(history)


def test_each_migration_goes_up_and_down(history: MigrationContext) -> None:
    laws.test_upgrade(history)
    laws.test_up_down_consistency(history)


def test_an_empty_database_becomes_current_and_stays_so(empty_database_url: str) -> None:
    assert not is_current(empty_database_url)

    upgrade(empty_database_url)
    upgrade(empty_database_url)

    assert is_current(empty_database_url)


def test_a_database_ahead_of_this_code_is_current(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE agent_alembic_version SET version_num = 'of a later release'")

    assert is_current(database_url)


@pytest.mark.req("AGT-16")
def test_every_table_has_the_prefix(database_url: str) -> None:
    assert {name for name in _tables(database_url) if not name.startswith("agent_")} == set()
    assert _tables(database_url) >= _TABLES


@pytest.mark.req("AGT-16")
def test_an_application_with_tables_of_its_own_migrates_cleanly(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE TABLE threads (id int, key text)")
        connection.execute("CREATE TABLE alembic_version (version_num text)")
        connection.execute("INSERT INTO alembic_version VALUES ('theirs')")
        connection.execute("INSERT INTO threads VALUES (1, 'mine')")

    upgrade(empty_database_url)

    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT * FROM threads").fetchall() == [(1, "mine")]
        assert connection.execute("SELECT * FROM alembic_version").fetchall() == [("theirs",)]
    assert is_current(empty_database_url)


def test_parked_runs_wait_for_the_same_after_the_waits_became_facts(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, "0001")
    old = '{"approvals":["call_1","call_2"]}'
    with psycopg.connect(empty_database_url) as connection:
        for run, waits in (("a", old), ("b", '{"approvals":[]}'), ("c", None)):
            connection.execute(
                "INSERT INTO agent_runs (id, thread, agent, status, policy, waits)"
                " VALUES (%s, %s, 'a', 'awaiting_input', '{}', %s)",
                [run, run, waits],
            )

    upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        waits_of = "SELECT waits FROM agent_runs ORDER BY id"
        after = [waits for (waits,) in connection.execute(waits_of)]
    downgrade(alembic_config(empty_database_url), "0001")
    with psycopg.connect(empty_database_url) as connection:
        back = [waits for (waits,) in connection.execute(waits_of)]

    assert after == [[["approval:call_1"], ["approval:call_2"]], [], None]
    assert back == [json.loads(old), {"approvals": []}, None]


async def test_migrators_of_several_processes_do_not_race(empty_database_url: str) -> None:
    script = "import sys; from app.store.migrate import upgrade; upgrade(sys.argv[1])"
    migrators = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", script, empty_database_url)
        for _ in range(3)
    ]

    async with asyncio.timeout(30):
        ends = [await migrator.wait() for migrator in migrators]

    assert ends == [0, 0, 0]
    assert is_current(empty_database_url)


def test_tables_are_declared_by_one_module() -> None:
    assert {
        row.__tablename__
        for row in vars(app.store.tables).values()
        if isinstance(row, type) and issubclass(row, SQLModel) and row is not SQLModel
    } == _TABLES
