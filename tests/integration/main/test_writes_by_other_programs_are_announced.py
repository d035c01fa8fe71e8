"""The trigger that ``announce_writes`` puts up: one word a statement, and only once it is true."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import psycopg
import pytest
from alembic.command import downgrade

from app.main.migrating import bring_up_to_date
from app.store.histories import team_history
from app.store.migrate import alembic_config
from tests.support.team_folder import TeamFolder, a_team_folder

pytestmark = pytest.mark.req("IMP-02")

ORDERS = """
from sqlmodel import Field, SQLModel

class Order(SQLModel, table=True):
    __tablename__ = "orders"
    id: int = Field(primary_key=True)
    note: str = ""
"""
Ear: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

FIVE = "INSERT INTO orders SELECT n, 'new' FROM generate_series(1, 5) n"


def _announcing(*tables: str, schema: str = "") -> str:
    """Return the body of a migration that puts triggers up, twice, and takes them down."""
    more = f", schema={schema!r}" if schema else ""
    up = "".join(f"    announce_writes(op, {table!r}{more})\n" * 2 for table in tables)
    down = "".join(f"    stop_announcing(op, {table!r}{more})\n" * 2 for table in tables)
    return f"def upgrade():\n{up}\n\ndef downgrade():\n{down}"


def _fill(file: Path | None, body: str) -> None:
    assert file is not None
    head, _, _ = file.read_text().partition("def upgrade()")
    file.write_text(f"{head}from app import announce_writes, stop_announcing\n\n{body}")


@pytest.fixture
def folder(tmp_path: Path, database_url: str) -> Iterator[TeamFolder]:
    """A folder whose table ``orders`` has the trigger."""
    with a_team_folder(tmp_path) as made:
        made.write(orders=ORDERS).add_migration(database_url, "add orders")
        bring_up_to_date(database_url, made.path)
        _fill(made.add_migration(database_url, "announce", is_empty=True), _announcing("orders"))
        bring_up_to_date(database_url, made.path)
        yield made


@pytest.fixture
def ear(database_url: str) -> Iterator[Ear]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("LISTEN ropewalk")
        yield connection


def heard(ear: Ear) -> list[str]:
    """Return what was said until now, by a word of our own at its end."""
    ear.execute("NOTIFY ropewalk, 'so far'")
    words: list[str] = []
    for each in ear.notifies(timeout=10):
        if each.payload == "so far":
            return words
        words.append(each.payload)
    raise AssertionError("our own word did not come")


def write(url: str, *statements: str) -> None:
    """Do what a ``psql`` would: each statement by itself."""
    with psycopg.connect(url, autocommit=True) as connection:
        for each in statements:
            connection.execute(each.encode())


@pytest.mark.usefixtures("folder")
def test_each_statement_is_announced_with_the_number_of_its_rows(
    database_url: str, ear: Ear
) -> None:
    write(
        database_url,
        FIVE,
        "UPDATE orders SET note = 'seen' WHERE id < 4",
        "DELETE FROM orders WHERE id = 1",
        "TRUNCATE orders",
    )

    assert heard(ear) == [f'{{"w":{{"db":{{"orders":[{rows},null]}}}}}}' for rows in (5, 3, 1, 1)]


@pytest.mark.usefixtures("folder")
def test_a_copy_and_an_upsert_are_heard_and_what_touched_nothing_is_not(
    database_url: str, ear: Ear
) -> None:
    upsert = " ON CONFLICT (id) DO UPDATE SET note = 'again'"
    with psycopg.connect(database_url, autocommit=True) as connection:
        with connection.cursor().copy("COPY orders (id, note) FROM STDIN") as copy:
            copy.write("1\ta\n2\tb\n")
        connection.execute((FIVE + upsert).encode())
    write(
        database_url,
        "UPDATE orders SET note = 'x' WHERE id = 99",
        "DELETE FROM orders WHERE false",
        FIVE + " ON CONFLICT DO NOTHING",
        "SELECT 1 FROM orders",
    )

    counts = [json.loads(word)["w"]["db"]["orders"][0] for word in heard(ear)]
    assert counts[0] == 2
    assert sorted(counts[1:]) == [2, 3]


@pytest.mark.req("IMP-03")
@pytest.mark.usefixtures("folder")
def test_what_is_rolled_back_is_never_heard_and_the_rest_only_after_its_commit(
    database_url: str, ear: Ear
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(FIVE.encode())
        connection.rollback()
        after_the_rollback = heard(ear)
        connection.execute(b"INSERT INTO orders VALUES (7, '')")
        before_the_commit = heard(ear)

    assert after_the_rollback == before_the_commit == []
    assert len(heard(ear)) == 1


def test_taken_down_it_is_silent_and_leaves_nothing(
    database_url: str, ear: Ear, folder: TeamFolder
) -> None:
    downgrade(alembic_config(database_url, team_history(folder.path)), "-1")
    write(database_url, FIVE)

    assert heard(ear) == []
    with psycopg.connect(database_url) as connection:
        left = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal UNION ALL"
        left += " SELECT proname FROM pg_proc WHERE proname LIKE 'agent%'"
        assert connection.execute(left.encode()).fetchall() == []


def test_tables_of_other_schemas_and_odd_names_are_announced_and_go_one_by_one(
    database_url: str, ear: Ear, folder: TeamFolder
) -> None:
    odd = 'it\'s a "line"'
    write(database_url, "CREATE SCHEMA shop", "CREATE TABLE shop.parcels (id int)")
    write(database_url, 'CREATE TABLE "it\'s a ""line""" (id int)')
    for table, schema in ((odd, ""), ("parcels", "shop")):
        file = folder.add_migration(database_url, f"announce {schema}", is_empty=True)
        _fill(file, _announcing(table, schema=schema))
        bring_up_to_date(database_url, folder.path)

    write(database_url, 'INSERT INTO "it\'s a ""line""" VALUES (1)')
    write(database_url, "INSERT INTO shop.parcels VALUES (1)")
    all_up = [json.loads(word) for word in heard(ear)]
    downgrade(alembic_config(database_url, team_history(folder.path)), "-1")
    write(database_url, "INSERT INTO shop.parcels VALUES (2)", FIVE)

    assert all_up == [{"w": {"db": {name: [1, None]}}} for name in (odd, "parcels")]
    assert len(heard(ear)) == 1
