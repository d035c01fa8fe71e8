"""What ``ctx.db`` notes is never too little: whoever read a row hears of its change."""

import random
from collections.abc import AsyncIterator, Callable
from datetime import date
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import ForeignKey, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession as SQLAlchemySession
from sqlalchemy.orm import aliased, registry, selectinload
from sqlmodel import Field, Relationship, SQLModel, col, delete, func, or_, select, update
from sqlmodel.ext.asyncio.session import AsyncSession

from app.domain.tables import Keys, TableWrite, TableWrites, is_mark, meet, row_key
from app.store.database import Database
from app.store.transactions import PostgresTransactions
from app.tracking.row_keys import mark_of
from tests.support.store_world import IDS, Surroundings

pytestmark = pytest.mark.req("IMP-02", "IMP-03")


class TeamTable(SQLModel, registry=registry()):
    """Base of a team's tables; apart from the product's, which migrations are compared with."""


class Kind(StrEnum):
    """A column whose values are stored by name."""

    PLAIN = "p"
    FANCY = "f"


class Shop(TeamTable, table=True):
    """Named by its key alone."""

    __tablename__ = "shops"

    id: int | None = Field(default=None, primary_key=True)
    name: str = ""
    orders: list["Order"] = Relationship(back_populates="shop")


class Order(TeamTable, table=True):
    """Named by key, owner, shop and token."""

    __tablename__ = "orders"

    id: int | None = Field(default=None, primary_key=True)
    owner: str = Field(index=True)
    shop_id: int | None = Field(default=None, foreign_key="shops.id", ondelete="SET NULL")
    token: UUID = Field(default_factory=uuid4, index=True)
    kind: Kind = Field(default=Kind.PLAIN, index=True)
    due: date | None = Field(default=None, index=True)
    state: str = "new"
    shop: Shop | None = Relationship(back_populates="orders")


class Line(TeamTable, table=True):
    """Goes with its order, and has two keys."""

    __tablename__ = "order_lines"

    order_id: int = Field(
        primary_key=True, sa_column_args=[ForeignKey("orders.id", ondelete="CASCADE")]
    )
    place: int = Field(primary_key=True)
    text: str = ""


class World:
    """Transactions, and what they told."""

    def __init__(self, transactions: PostgresTransactions, around: Surroundings) -> None:
        self.transactions = transactions
        self.around = around

    @property
    def written(self) -> TableWrites:
        """What the last transaction announced."""
        return self.around.written[-1]


@pytest.fixture
async def world(empty_database_url: str) -> AsyncIterator[World]:
    around = Surroundings()
    async with (
        Database(empty_database_url) as database,
        PostgresTransactions(
            empty_database_url,
            announce=around.announce,
            announce_writes=around.announce_writes,
            doorbell=around,
            journal=around.journal,
            aborts=around,
            ids=IDS,
            tables=TeamTable.metadata,
        ) as transactions,
    ):
        await database.fetch("CREATE TABLE shops (id serial PRIMARY KEY, name text)")
        await database.fetch("CREATE TYPE kind AS ENUM ('PLAIN', 'FANCY')")
        await database.fetch(
            "CREATE TABLE orders (id serial PRIMARY KEY, owner text,"
            " shop_id int REFERENCES shops ON DELETE SET NULL, token uuid, kind kind, due date,"
            " state text)"
        )
        await database.fetch(
            "CREATE TABLE order_lines (order_id int REFERENCES orders ON DELETE CASCADE,"
            " place int, text text, PRIMARY KEY (order_id, place))"
        )
        yield World(transactions, around)


async def execute(session: AsyncSession, statement: Any, *values: Any) -> Any:  # noqa: ANN401
    """Execute a statement of any kind, also those that SQLModel has another method for."""
    return await SQLAlchemySession.execute(session, statement, *values)


async def an_order(world: World, owner: str = "ann", token: UUID | None = None) -> int:
    async with world.transactions.begin() as unit:
        order = Order(owner=owner, token=token or uuid4())
        unit.session.add(order)
        await unit.session.flush()
    assert order.id is not None
    return order.id


async def reads_of(world: World, statement: object) -> dict[str, Keys]:
    reads: dict[str, Keys] = {}
    async with world.transactions.read_only(reads) as session:
        (await execute(session, statement)).all()
    return reads


OWNER = row_key("owner", "ann")


def named(keys: Keys) -> set[str] | None:
    """Return the keys of rows alone."""
    return None if keys is None else {key for key in keys if not is_mark(key)}


TOKEN = UUID(int=7)


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        (select(Order), {"orders": None}),
        (select(Order).where(Order.owner == "ann"), {"orders": {OWNER}}),
        (select(Order).where(col(Order.owner) == "ann"), {"orders": {OWNER}}),
        (
            select(Order.state).where(Order.owner == "ann", Order.state == "new").limit(3),
            {"orders": {OWNER}},
        ),
        (select(func.count()).select_from(Order).where(Order.owner == "ann"), {"orders": {OWNER}}),
        (
            select(Order).where(col(Order.id).in_([1, 2])),
            {"orders": {row_key("id", 1), row_key("id", 2)}},
        ),
        (select(Order).where(Order.token == TOKEN), {"orders": {row_key("token", TOKEN)}}),
        (select(Order).where(Order.state == "new"), {"orders": None}),
        (select(Order).where(Order.owner != "ann"), {"orders": None}),
        (select(Order).where(or_(Order.owner == "ann", Order.id == 1)), {"orders": None}),
        (select(Order).where(Order.kind == Kind.PLAIN), {"orders": None}),
        (select(Order).where(Order.due == date(2026, 1, 1)), {"orders": None}),
        (select(Order).where(func.lower(Order.owner) == "ann"), {"orders": None}),
        (select(Line).where(Line.place == 1), {"order_lines": None}),
        (select(Line).where(Line.order_id == 1), {"order_lines": {row_key("order_id", 1)}}),
        (
            select(Order, Shop).where(Order.shop_id == Shop.id, Order.owner == "ann"),
            {"orders": None, "shops": None},
        ),
        (
            select(Shop).where(
                Shop.id == 1,
                select(Order.id).where(Order.shop_id == Shop.id).exists(),
            ),
            {"orders": None, "shops": None},
        ),
        (
            select(Order).where(
                Order.owner == "ann",
                Order.id == select(func.max(Order.id)).scalar_subquery(),
            ),
            {"orders": None},
        ),
        (text("SELECT 1 FROM Orders o JOIN shops ON true"), {"orders": None, "shops": None}),
        (text("SELECT 'ordersheet'"), {}),
    ],
    ids=str,
)
async def test_a_query_depends_on_rows_where_it_names_them_and_else_on_tables(
    world: World, statement: object, reads: dict[str, object]
) -> None:
    assert {
        table: named(keys) for table, keys in (await reads_of(world, statement)).items()
    } == reads


async def test_rows_read_by_identity_and_by_a_relation_are_noted(world: World) -> None:
    reads: dict[str, Keys] = {}
    async with world.transactions.read_only(reads) as session:
        await session.get(Order, 5)
        assert named(reads["orders"]) == {row_key("id", 5)}

        await session.exec(select(Shop).options(selectinload(Shop.orders)))  # type: ignore[arg-type]  # an attribute of the mapping

    assert reads["shops"] is None


async def test_a_table_read_twice_under_two_names_is_read_as_a_whole(world: World) -> None:
    other = aliased(Order)
    statement = select(Order).where(Order.owner == "ann", Order.state == other.state)

    assert await reads_of(world, statement) == {"orders": None}


async def test_a_row_is_told_by_what_names_it_before_and_after(world: World) -> None:
    number = await an_order(world, token=TOKEN)
    names = {row_key("id", number), OWNER, row_key("token", TOKEN)}
    mark = mark_of(Order.__table__)  # type: ignore[attr-defined]  # SQLModel does not say so
    assert world.written == {"orders": TableWrite(1, frozenset({*names, mark}))}

    async with world.transactions.begin() as unit:
        order = await unit.session.get_one(Order, number)
        order.owner = "bob"

    names |= {row_key("owner", "bob")}
    assert world.written == {"orders": TableWrite(1, frozenset({*names, mark}))}


class OlderTable(SQLModel, registry=registry()):
    """Base of the same tables as an older release has them."""


class OlderOrder(OlderTable, table=True):
    """Nobody looked orders up by their owner, so no index."""

    __tablename__ = "orders"

    id: int | None = Field(default=None, primary_key=True)
    owner: str
    state: str = "new"


async def test_who_names_rows_by_other_columns_is_heard_by_whoever_read_any(world: World) -> None:
    number = await an_order(world)
    newer = await reads_of(world, select(Order).where(Order.owner == "ann"))
    older = await reads_of(world, select(OlderOrder).where(OlderOrder.id == 1000))

    async with world.transactions.begin() as unit:
        unit.session.add(OlderOrder(owner="ann"))
    written_before = world.written["orders"]
    async with world.transactions.begin() as unit:
        (await unit.session.get_one(Order, number)).state = "paid"
    written_now = world.written["orders"]

    assert meet(newer["orders"], written_before.keys)
    assert meet(older["orders"], written_now.keys)
    assert not meet(older["orders"], written_before.keys), "its own rows it knows apart"


async def test_a_row_that_somebody_else_renamed_meanwhile_is_told_by_its_true_name(
    world: World,
) -> None:
    number = await an_order(world)
    async with world.transactions.begin() as unit:
        order = await unit.session.get_one(Order, number)
        async with world.transactions.begin() as other:
            (await other.session.get_one(Order, number)).owner = "carl"
        order.state = "paid"

    keys = world.written["orders"].keys
    assert keys is not None
    assert row_key("owner", "carl") in keys


async def test_a_rolled_back_transaction_announces_nothing(world: World) -> None:
    async def refused() -> None:
        async with world.transactions.begin() as unit:
            unit.session.add(Shop(name="gone"))
            await unit.session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await refused()

    assert world.around.written == []


async def test_what_the_database_deletes_along_is_touched(world: World) -> None:
    number = await an_order(world)
    async with world.transactions.begin() as unit:
        await unit.session.delete(await unit.session.get_one(Order, number))

    assert world.written["order_lines"].keys is None


async def test_statements_that_write_touch_their_table(world: World) -> None:
    await an_order(world)
    for statement in (
        update(Order).values(state="paid"),
        text("UPDATE orders SET state = 'x'"),
        text("WITH gone AS (DELETE FROM orders RETURNING 1) SELECT count(*) FROM gone"),
        delete(Order),
    ):
        async with world.transactions.begin() as unit:
            await execute(unit.session, statement)

        assert world.written["orders"].keys is None


async def test_reading_for_update_writes_nothing(world: World) -> None:
    await an_order(world)
    world.around.forget()
    async with world.transactions.begin() as unit:
        await unit.session.exec(select(Order).with_for_update(key_share=True))
        await unit.session.exec(select(Order).with_for_update())

    assert world.around.written == []


async def test_an_author_says_what_cannot_be_seen(world: World) -> None:
    async with world.transactions.begin() as unit:
        unit.session.touch(Order, Shop)
    assert world.written == {"orders": TableWrite(0, None), "shops": TableWrite(0, None)}

    reads: dict[str, Keys] = {}
    async with world.transactions.read_only(reads) as session:
        session.reads(Shop)
    assert reads == {"shops": None}


async def test_a_flush_that_failed_hides_nothing_that_follows(world: World) -> None:
    await an_order(world)
    async with world.transactions.begin() as unit:
        nested = await unit.session.begin_nested()
        unit.session.add(Line(order_id=999, place=1))
        with pytest.raises(IntegrityError):
            await unit.session.flush()
        await nested.rollback()
        await execute(unit.session, text("UPDATE orders SET state = 'late'"))

    assert world.written["orders"].keys is None


class Berth(TeamTable, table=True):
    """Refers to another one of its kind, and is renamed with it."""

    __tablename__ = "berths"

    place: int = Field(primary_key=True)
    harbour: str = Field(
        primary_key=True,
        sa_column_args=[ForeignKey("harbours.name", ondelete="CASCADE", onupdate="CASCADE")],
    )


class Harbour(TeamTable, table=True):
    """Named by its key alone, and lies before another."""

    __tablename__ = "harbours"

    name: str = Field(primary_key=True)
    before: str | None = Field(default=None, foreign_key="harbours.name", ondelete="SET NULL")


async def keys_written(world: World, table: str = "orders") -> set[str]:
    keys = world.written[table].keys
    assert keys is not None
    return set(named(keys) or ())


async def test_a_row_that_another_replaces_in_one_flush_is_told(world: World) -> None:
    number = await an_order(world)
    async with world.transactions.begin() as unit:
        await unit.session.delete(await unit.session.get_one(Order, number))
        unit.session.add(Order(id=number, owner="bob", token=TOKEN))

    assert await keys_written(world) >= {OWNER, row_key("owner", "bob"), row_key("id", number)}


async def test_a_value_that_the_database_computes_may_be_any(world: World) -> None:
    number = await an_order(world, owner="ANN")
    async with world.transactions.begin() as unit:
        order = await unit.session.get_one(Order, number)
        order.owner = func.lower(Order.owner)  # type: ignore[assignment]  # SQLAlchemy takes it

    assert world.written["orders"].keys is None


async def test_a_uuid_is_told_however_it_is_spelled(world: World) -> None:
    token = UUID(int=10 << 120)
    number = await an_order(world, token=token)
    reads = await reads_of(world, select(Order).where(Order.token == str(token).upper()))
    assert reads == {"orders": None}

    async with world.transactions.begin() as unit:
        order = await unit.session.get_one(Order, number)
        order.token = str(UUID(int=11 << 120)).upper()  # type: ignore[assignment]  # asyncpg takes it

    assert world.written["orders"].keys is None


async def test_a_renamed_row_is_told_by_both_names(world: World) -> None:
    async with world.transactions.begin() as unit:
        unit.session.add(Shop(id=1, name="one"))
    async with world.transactions.begin() as unit:
        (await unit.session.get_one(Shop, 1)).id = 9

    assert await keys_written(world, "shops") == {row_key("id", 1), row_key("id", 9)}


@pytest.fixture
async def harbours(world: World) -> None:
    async with world.transactions.begin() as unit:
        for statement in (
            "CREATE TABLE harbours (name text PRIMARY KEY,"
            " before text REFERENCES harbours ON DELETE SET NULL)",
            "CREATE TABLE berths (place int, harbour text REFERENCES harbours"
            " ON DELETE CASCADE ON UPDATE CASCADE, PRIMARY KEY (place, harbour))",
        ):
            await execute(unit.session, text(statement))
    async with world.transactions.begin() as unit:
        unit.session.add(Harbour(name="north"))
        await unit.session.flush()
        unit.session.add(Berth(place=7, harbour="north"))


@pytest.mark.usefixtures("harbours")
async def test_a_row_is_told_by_the_part_of_its_key_that_refers_to_another(world: World) -> None:
    async with world.transactions.begin() as unit:
        await unit.session.delete(await unit.session.get_one(Berth, (7, "north")))

    assert await keys_written(world, "berths") == {row_key("harbour", "north")}


@pytest.mark.usefixtures("harbours")
async def test_what_refers_to_a_row_is_touched_when_its_key_changes_or_it_goes(
    world: World,
) -> None:
    async with world.transactions.begin() as unit:
        (await unit.session.get_one(Harbour, "north")).name = "south"
    assert world.written["berths"].keys is None

    async with world.transactions.begin() as unit:
        await unit.session.delete(await unit.session.get_one(Harbour, "south"))
    assert world.written["harbours"].keys is None, "others may have lain before it"


async def test_what_is_told_as_counted_is_never_more_than_was_written(world: World) -> None:
    number = await an_order(world)
    async with world.transactions.begin() as unit:
        order = await unit.session.get_one(Order, number)
        order.state = order.state  # nothing has changed
        unit.session.add(Order(owner="bob"))
    assert world.written["orders"].rows == 1

    async with world.transactions.begin() as unit:
        gone = "WITH gone AS (DELETE FROM shops RETURNING 1) SELECT count(*) FROM gone"
        await execute(unit.session, text(gone))
    assert world.written["shops"].rows == 0

    async with world.transactions.begin() as unit:
        await execute(
            unit.session, text("UPDATE orders SET state = 'x' FROM shops WHERE shop_id = shops.id")
        )
    assert {write.rows for write in world.written.values()} == {0}


READS: list[Callable[["Draw"], Any]] = [
    lambda one: select(Order.id, Order.state, Order.owner).where(Order.id == one.number),
    lambda one: select(Order.id, Order.state).where(Order.owner == one.owner),
    lambda one: select(func.count()).select_from(Order).where(col(Order.owner).in_([one.owner])),
    lambda one: select(Order.id).where(Order.shop_id == one.shop).order_by(col(Order.id)),
    lambda _: select(Order.id, Order.state).order_by(col(Order.id)),
    lambda one: select(Shop.name).where(Shop.id == one.shop),
    lambda one: select(Line.text).where(Line.order_id == one.number).order_by(col(Line.place)),
]


class Draw:
    """Random names of rows, few enough to meet."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    @property
    def number(self) -> int:
        """An order."""
        return self.chance.randint(1, 6)

    @property
    def shop(self) -> int:
        """A shop."""
        return self.chance.randint(1, 3)

    @property
    def owner(self) -> str:
        """Somebody."""
        return self.chance.choice("abc")


async def write_something(world: World, draw: Draw) -> None:
    async with world.transactions.begin() as unit:
        db = unit.session
        for _ in range(draw.chance.randint(1, 2)):
            order = await db.get(Order, draw.number)
            shop = await db.get(Shop, draw.shop)
            match draw.chance.randrange(8):
                case 0:
                    db.add(Order(owner=draw.owner, shop=shop))
                case 1 if order is not None:
                    order.state += "!"
                case 2 if order is not None:
                    order.owner = draw.owner
                case 3 if order is not None:
                    order.shop = shop
                case 4 if order is not None:
                    await db.delete(order)
                case 5:
                    db.add(Shop(name=draw.owner))
                case 6 if order is not None and order.id is not None:
                    await db.merge(Line(order_id=order.id, place=draw.shop, text=draw.owner))
                case 7 if shop is not None:
                    await execute(db, update(Shop).where(col(Shop.id) == shop.id).values(name="x"))
                case _:
                    statement = text("UPDATE orders SET state = 'y' WHERE id = :id")
                    await execute(db, statement, {"id": draw.number})


def hears(reads: dict[str, Keys], written: list[TableWrites]) -> bool:
    return any(
        table in reads and meet(reads[table], write.keys)
        for writes in written
        for table, write in writes.items()
    )


@pytest.mark.parametrize("seed", range(6))
async def test_whoever_does_not_hear_of_a_write_reads_the_same_as_before(
    world: World, seed: int
) -> None:
    draw = Draw(random.Random(seed))  # noqa: S311  # a seed that can be repeated
    for _ in range(4):
        await an_order(world, owner=draw.owner)
    quiet = 0
    for _ in range(40):
        query = draw.chance.choice(READS)(draw)
        reads: dict[str, Keys] = {}
        async with world.transactions.read_only(reads) as session:
            before = (await execute(session, query)).all()
        world.around.forget()

        await write_something(world, draw)

        if not hears(reads, world.around.written):
            quiet += 1
            async with world.transactions.read_only({}) as session:
                assert (await execute(session, query)).all() == before, str(query)
    assert quiet > 5, "hardly anything is told apart"
