"""A team's tables are declared in its folder, and are forgotten with it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect, select
from sqlmodel import SQLModel

from app.domain.errors import DeclarationError
from tests.support.team_folder import TeamFolder, a_team_folder

pytestmark = pytest.mark.req("AGT-16")

SHOP = """
from sqlmodel import Field, Relationship, SQLModel

class Customer(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    orders: list["Order"] = Relationship(back_populates="customer")

class Order(SQLModel, table=True):
    __tablename__ = "orders"
    id: int | None = Field(default=None, primary_key=True)
    customer_id: int = Field(foreign_key="customer.id")
    customer: Customer = Relationship(back_populates="orders")
"""
A_TABLE = """
from sqlmodel import Field, SQLModel

class Order(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
"""
LINKS = """
from sqlalchemy import Column, Integer, Table
from sqlmodel import SQLModel

links = Table("links", SQLModel.metadata, Column("a", Integer, primary_key=True))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TeamFolder]:
    with a_team_folder(tmp_path) as made:
        yield made


def _ours() -> set[str]:
    return {name for name in SQLModel.metadata.tables if name.startswith("agent_")}


def test_tables_of_any_module_are_the_teams(folder: TeamFolder) -> None:
    ours = _ours()

    declared = folder.write(shop=SHOP, deep__down=LINKS, plain="X = 1").load()

    assert declared.tables == {"customer", "orders", "links"}
    assert _ours() == ours


def test_a_folder_may_be_loaded_again(folder: TeamFolder) -> None:
    folder.write(shop=SHOP, links=LINKS).load()
    earlier = folder.declared("shop", "Order")

    declared = folder.load()

    later = folder.declared("shop", "Order")
    assert declared.tables == {"customer", "orders", "links"}
    assert SQLModel.metadata.tables["orders"] is later.__table__
    assert inspect(later).relationships["customer"].mapper.class_ is folder.declared(
        "shop", "Customer"
    )
    assert earlier is not later
    assert "FROM orders" in str(select(earlier))  # somebody may still hold it


def test_a_table_that_is_no_longer_declared_is_forgotten(folder: TeamFolder) -> None:
    folder.write(shop=SHOP).load()

    declared = folder.write(shop=A_TABLE).load()

    assert declared.tables == {"order"}
    assert {"orders", "customer"}.isdisjoint(SQLModel.metadata.tables)


def test_a_folder_that_was_wrong_half_way_can_be_mended(folder: TeamFolder) -> None:
    folder.write(shop=SHOP + "\n1 / 0\n")
    with pytest.raises(DeclarationError, match="ZeroDivisionError"):
        folder.load()

    assert folder.write(shop=SHOP).load().tables == {"customer", "orders"}


def test_tables_of_other_modules_are_not_the_teams_and_stay(
    folder: TeamFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_library.py").write_text(A_TABLE.replace("Order", "Parcel"))
    monkeypatch.syspath_prepend(str(tmp_path))
    folder.write(shop=SHOP + "\nfrom their_library import Parcel\n")

    first = folder.load().tables
    again = folder.load().tables
    theirs = sys.modules.pop("their_library").Parcel.__table__
    is_there = SQLModel.metadata.tables.get("parcel") is theirs
    SQLModel.metadata.remove(theirs)

    assert first == again == {"customer", "orders"}
    assert is_there


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            A_TABLE.replace("    id", '    __tablename__ = "agent_orders"\n    id'),
            r"team/bad\.py:4: Order: the table agent_orders cannot be called so, agent_\.\.\. is"
            r" kept for Ropewalk's own; give the class another __tablename__",
            id="a-free-name",
        ),
        pytest.param(
            A_TABLE.replace("    id", '    __tablename__ = "agent_threads"\n    id'),
            r"team/bad\.py:4: the table agent_threads cannot be called so",
            id="a-name-in-use",
        ),
        pytest.param(
            LINKS.replace('"links"', '"agent_links"'),
            r"the table agent_links cannot be called so",
            id="without-a-class",
        ),
        pytest.param(
            SHOP.replace('list["Order"]', 'list["Ordre"]'),
            r"the tables do not fit together: .*Ordre",
            id="a-relationship-to-nowhere",
        ),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(folder: TeamFolder, text: str, says: str) -> None:
    with pytest.raises(DeclarationError, match=says):
        folder.write(bad=text).load()


def test_migrations_are_not_imported_with_the_declarations(folder: TeamFolder) -> None:
    folder.write(
        shop=SHOP,
        migrations____init__="1 / 0",
        migrations__versions__one="1 / 0",
        migrations__helpers="1 / 0",
    )

    assert folder.load().tables == {"customer", "orders"}
    assert not any(name.startswith("agents.migrations") for name in sys.modules)
