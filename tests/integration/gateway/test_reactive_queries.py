"""Whoever watches a query of the team's sees every committed write, over gateways and failures."""

from collections.abc import AsyncIterator
from typing import Any, ClassVar

import psycopg
import pytest
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel, col, select

from app.authoring.contexts import MutationContext, QueryContext
from app.authoring.functions import ServerFunction, mutation, query
from app.domain.errors import Conflict, NotFound
from app.domain.identity import ANONYMOUS
from tests.support.query_view import QueryView
from tests.support.reactive_world import ReactiveWorld, create_tables, reactive_world
from tests.support.wait_until import wait_until
from tests.support.ws_client import CallFailed

pytestmark = pytest.mark.req("IMP-02")


class TeamTable(SQLModel, registry=registry()):
    """Base of a team's tables; apart from the product's, which migrations are compared with."""


class Order(TeamTable, table=True):
    """Of one owner."""

    __tablename__ = "orders"

    id: int | None = Field(default=None, primary_key=True)
    owner: str = Field(index=True)
    cents: int = 0


class Shipment(TeamTable, table=True):
    """In a schema of the team's own."""

    __tablename__ = "shipments"
    __table_args__: ClassVar[dict[str, str]] = {"schema": "depot"}

    id: int = Field(primary_key=True)


@query
async def shipments(ctx: QueryContext) -> list[int]:
    return list((await ctx.db.exec(select(Shipment.id).order_by(col(Shipment.id)))).all())


@query
async def of_owner(ctx: QueryContext, owner: str) -> list[int]:
    statement = select(Order.cents).where(Order.owner == owner).order_by(col(Order.id))
    return list((await ctx.db.exec(statement)).all())


@query
async def one(ctx: QueryContext, id: int) -> int:  # noqa: A002
    order = await ctx.db.get(Order, id)
    if order is None:
        raise NotFound("there is no such order")
    return order.cents


@query
async def share(ctx: QueryContext, owner: str) -> int:
    statement = select(Order.cents).where(Order.owner == owner)
    return sum(100 // cents for cents in (await ctx.db.exec(statement)).all())


@mutation
async def place(ctx: MutationContext, owner: str, cents: int) -> int | None:
    order = Order(owner=owner, cents=cents)
    ctx.db.add(order)
    await ctx.db.flush()
    return order.id


@mutation
async def change(ctx: MutationContext, id: int, cents: int) -> None:  # noqa: A002
    (await ctx.db.get_one(Order, id)).cents = cents


@mutation
async def place_and_fail(ctx: MutationContext, owner: str) -> None:
    ctx.db.add(Order(owner=owner))
    await ctx.db.flush()
    raise Conflict("not today")


DECLARED: list[ServerFunction[..., Any]] = [
    of_owner,
    one,
    share,
    shipments,
    place,
    change,
    place_and_fail,
]


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[ReactiveWorld]:
    create_tables(database_url, TeamTable.metadata)
    async with reactive_world(database_url, TeamTable.metadata, DECLARED) as made:
        yield made


async def shows(view: QueryView, value: object) -> None:
    await wait_until(
        lambda: view.error is None and view.value == value, description=f"{value} is shown"
    )


async def test_a_write_through_one_gateway_reaches_who_watches_at_another(
    world: ReactiveWorld,
) -> None:
    here, there = await world.node(), await world.node()
    async with here.client("ann") as writer, there.client("bob") as watcher:
        view = await watcher.ask("team:ofOwner", owner="ann")
        number = await writer.call("team:place", {"owner": "ann", "cents": 5})
        await shows(view, [5])
        await writer.call("team:change", {"id": number, "cents": 6})
        await shows(view, [6])

    assert view.values == [[], [5], [6]]


async def test_who_reads_other_rows_is_not_asked(world: ReactiveWorld) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as writer, there.client() as watcher:
        await watcher.ask("team:ofOwner", owner="ann")
        bobs = await watcher.ask("team:ofOwner", owner="bob")
        before = there.queries_run()
        for n in range(5):
            await writer.call("team:place", {"owner": "carl", "cents": n})
        await writer.call("team:place", {"owner": "bob", "cents": 1})
        await shows(bobs, [1])

    assert there.queries_run() - before == 1


@pytest.mark.req("IMP-03")
async def test_what_was_rolled_back_is_not_pushed(world: ReactiveWorld) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as writer, there.client() as watcher:
        views = [await each.ask("team:ofOwner", owner="ann") for each in (watcher, writer)]
        before = [each.queries_run() for each in (here, there)]
        with pytest.raises(CallFailed, match="not today"):
            await writer.call("team:placeAndFail", {"owner": "ann"})
        other = await watcher.ask("team:ofOwner", owner="bob")
        await writer.call("team:place", {"owner": "bob", "cents": 1})
        await shows(other, [1])

    assert [view.values for view in views] == [[[]], [[]]]
    # One to answer bob's subscription, one for his order.
    assert [here.queries_run(), there.queries_run()] == [before[0], before[1] + 2]


@pytest.mark.req("SUB-05")
async def test_one_socket_carries_a_query_and_a_thread(world: ReactiveWorld) -> None:
    node = await world.node()
    async with node.client("ann") as client:
        orders = await client.ask("team:ofOwner", owner="ann")
        run = await client.call("agents:agentRun", {"agent": "support", "input": "Where is it?"})
        messages = await client.watch(run["key"])
        thread = await client.watch_thread(run["key"])
        await client.call("team:place", {"owner": "ann", "cents": 5})
        await client.call("agents:agentCancel", {"key": run["key"]})
        await wait_until(lambda: thread.value["status"] != "queued", description="the cancel")

    assert messages.texts == ["Where is it?"]
    assert orders.values == [[], [5]]


async def test_the_answer_to_a_mutation_comes_after_the_snapshots_that_show_it(
    world: ReactiveWorld,
) -> None:
    node = await world.node()
    async with node.client("ann") as client:
        views = [
            await client.ask("team:ofOwner", owner="ann"),
            await client.ask("team:share", owner="ann"),
        ]
        for n in range(1, 20):
            await client.call("team:place", {"owner": "ann", "cents": n})
            shown = [frame for frame in client.heard if frame["type"] in {"snapshot", "result"}]
            assert shown[-1]["type"] == "result"
            assert len(views[0].value) == n
            assert views[1].value == sum(100 // cents for cents in range(1, n + 1))


async def test_a_repeated_call_announces_what_a_gateway_died_over(world: ReactiveWorld) -> None:
    dying, other = await world.node(), await world.node()
    async with dying.client("ann") as writer, other.client("ann") as watcher:
        view = await watcher.ask("team:ofOwner", owner="ann")
        dying.is_mute = True  # it is gone between its commit and its word
        args = {"owner": "ann", "cents": 5}
        number = await writer.call("team:place", args, dedupe="once")
        await world.stop(dying, crash=True)
        assert view.values == [[]]

        assert await watcher.call("team:place", args, dedupe="once") == number
        await shows(view, [5])


async def test_a_write_by_another_program_is_found_by_the_counters(world: ReactiveWorld) -> None:
    node = await world.node(reconcile_s=0.05)
    async with node.client() as client:
        view = await client.ask("team:ofOwner", owner="ann")
        for n in range(1, 4):
            await world.outside(f"INSERT INTO orders (owner, cents) VALUES ('ann', {n})")  # noqa: S608
            await shows(view, list(range(1, n + 1)))

        before = node.queries_run()
        ticks = node.metric("missed_writes_total")
        await world.outside("INSERT INTO orders (owner, cents) VALUES ('bob', 1)")
        await wait_until(lambda: node.metric("missed_writes_total") > ticks, description="a look")
        await wait_until(lambda: node.queries_run() > before, description="it is asked")

    assert view.values == [[], [1], [1, 2], [1, 2, 3]]


async def test_a_write_in_another_schema_is_found_by_the_counters(world: ReactiveWorld) -> None:
    node = await world.node(reconcile_s=0.05)
    async with node.client() as client:
        view = await client.ask("team:shipments")
        for n in (1, 2, 3):
            await world.outside(f"INSERT INTO depot.shipments (id) VALUES ({n})")  # noqa: S608
            await shows(view, list(range(1, n + 1)))


@pytest.mark.long
async def test_a_write_by_another_program_is_found_within_twelve_seconds(
    world: ReactiveWorld,
) -> None:
    node = await world.node(reconcile_s=2.0)
    async with (
        node.client() as client,
        await psycopg.AsyncConnection.connect(world.url, autocommit=True) as program,
    ):
        view = await client.ask("team:ofOwner", owner="ann")
        # The second one within a second is counted when Postgres finds the time for it.
        await program.execute("INSERT INTO orders (owner, cents) VALUES ('ann', 1)")
        await program.execute("INSERT INTO orders (owner, cents) VALUES ('ann', 2)")
        await wait_until(lambda: view.value == [1, 2], description="both are shown", timeout_s=12.5)


async def test_a_listener_that_was_cut_off_loses_nothing(world: ReactiveWorld) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as writer, there.client() as watcher:
        view = await watcher.ask("team:ofOwner", owner="ann")
        for n in range(1, 4):
            await world.outside(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE '%listener' AND datname = current_database()"
            )
            await writer.call("team:place", {"owner": "ann", "cents": n})
            await shows(view, list(range(1, n + 1)))


async def test_a_failing_query_says_so_and_recovers_by_a_write(world: ReactiveWorld) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as writer, there.client() as watcher:
        view = await watcher.ask("team:share", owner="ann")
        number = await writer.call("team:place", {"owner": "ann", "cents": 0})
        await wait_until(lambda: view.error, description="it fails")
        assert view.error is not None
        assert (view.error["code"], view.error["live"]) == ("INTERNAL", True)
        assert "division" not in str(view.error)

        await writer.call("team:change", {"id": number, "cents": 50})
        await shows(view, 2)


async def test_a_query_on_a_missing_row_recovers_when_the_row_comes(world: ReactiveWorld) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as writer, there.client() as watcher:
        view = await watcher.ask("team:one", id=1)
        assert view.error is not None
        assert view.error["code"] == "NOT_FOUND"

        assert await writer.call("team:place", {"owner": "ann", "cents": 7}) == 1
        await shows(view, 7)


async def test_who_comes_back_to_another_gateway_is_told_how_it_is_now(
    world: ReactiveWorld,
) -> None:
    here, there = await world.node(), await world.node()
    async with here.client() as client:
        view = await client.ask("team:ofOwner", owner="ann")
        client.url = there.url
        await world.stop(here, crash=True)
        await there.functions.call("team:place", {"owner": "ann", "cents": 3}, caller=ANONYMOUS)
        await client.connect()
        await shows(view, [3])
