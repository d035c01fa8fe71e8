"""The shipped orders: each one's own, whoever asks, and in one transaction with a run."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import (
    ChatError,
    Conflict,
    Forbidden,
    InvalidArgument,
    NotFound,
    StoreUnavailable,
    Unauthenticated,
)
from app.domain.identity import ADMIN, ANONYMOUS, Identity
from app.main.load_agents import Declarations, load
from app.main.migrating import bring_up_to_date, tables_not_migrated
from app.main.team_tables import forget_tables
from tests.integration.functions.conftest import Gateway, MakeGateway

AGENTS = Path(__file__).resolve().parents[3] / "agents"
ANN, BOB = Identity("ann"), Identity("bob")
HEMP = "Hemp rope, 20 m"
ORDER_FUNCTIONS = ["payOrder", "cancelOrder", "changeOrder", "refundOrder", "shipOrder"]


@pytest.fixture
def declared() -> Iterator[Declarations]:
    """The shipped folder, loaded; afterwards modules and tables are as they were."""
    before = {name: module for name, module in sys.modules.items() if _is_theirs(name)}
    yield load(AGENTS)
    for name in [each for each in sys.modules if _is_theirs(each)]:
        del sys.modules[name]
    sys.modules.update(before)
    forget_tables()


def _is_theirs(module: str) -> bool:
    return module.partition(".")[0] == "agents"


class Shop:
    """The example's functions, by who calls them."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def call(self, name: str, caller: Identity = ANN, /, **arguments: object) -> Any:  # noqa: ANN401
        """Call a function as server code does: internal ones, too."""
        return await self.gateway.backend.functions.call(
            f"orders:{name}", arguments, caller=caller, internal=True
        )

    async def placed(self, caller: Identity = ANN, key: str = "key-of-one") -> int:
        """Place an order and return its number."""
        order = await self.call("placeOrder", caller, key=key, item=HEMP)
        return int(order["id"])

    async def listed(self, caller: Identity = ANN) -> list[dict[str, Any]]:
        """Return somebody's orders."""
        return list(await self.call("listOrders", caller))

    async def refusal(self, name: str, caller: Identity = ANN, /, **arguments: object) -> ChatError:
        """Return why a call is refused."""
        with pytest.raises(ChatError) as caught:
            await self.call(name, caller, **arguments)
        return caught.value


@pytest.fixture
async def shop(make_gateway: MakeGateway, database_url: str, declared: Declarations) -> Shop:
    bring_up_to_date(database_url, AGENTS)
    assert tables_not_migrated(database_url, AGENTS, declared.tables) == []
    made = await make_gateway()
    backend = replace(made.backend, agents=declared.agents, registry=declared.functions)
    return Shop(replace(made, backend=backend))


@pytest.mark.req("IMP-01")
async def test_an_order_is_its_owners_alone_to_see(shop: Shop) -> None:
    first, second = await shop.placed(), await shop.placed(key="key-of-two")
    await shop.placed(BOB)

    assert [(order["id"], order["status"]) for order in await shop.listed()] == [
        (second, "placed"),
        (first, "placed"),
    ]
    assert set((await shop.listed())[0]) == {
        "id",
        "key",
        "item",
        "quantity",
        "priceCents",
        "status",
        "shipTo",
        "threadKey",
    }
    assert len(await shop.listed(BOB)) == 1
    assert await shop.listed(Identity("carol", frozenset({ADMIN}))) == []


@pytest.mark.req("IMP-01")
async def test_nobody_without_a_name_has_orders(shop: Shop) -> None:
    refused = [
        await shop.refusal("listOrders", ANONYMOUS),
        await shop.refusal("placeOrder", ANONYMOUS, key="key-of-one", item=HEMP),
        await shop.refusal("askAboutOrder", ANONYMOUS, orderId=1, question="Where?"),
        *[
            await shop.refusal(name, ANONYMOUS, orderId=1, **_more(name))
            for name in ORDER_FUNCTIONS
        ],
    ]

    assert {type(each) for each in refused} == {Unauthenticated}
    assert len(await shop.call("listWares", ANONYMOUS)) == 3


@pytest.mark.req("IMP-01")
@pytest.mark.parametrize("name", [*ORDER_FUNCTIONS, "askAboutOrder"])
async def test_a_foreign_order_is_as_missing_as_one_that_is_not(shop: Shop, name: str) -> None:
    hers = await shop.placed()

    foreign = await shop.refusal(name, BOB, orderId=hers, **_more(name))
    missing = await shop.refusal(name, BOB, orderId=hers + 1, **_more(name))

    assert type(foreign) is type(missing) is NotFound
    assert foreign.message.replace(str(hers), "N") == missing.message.replace(str(hers + 1), "N")
    assert foreign.data == missing.data
    assert await shop.gateway.count("agent_runs") == 0
    assert [order["status"] for order in await shop.listed()] == ["placed"]


def _more(name: str) -> dict[str, object]:
    """Return what a function takes besides the order."""
    more: Mapping[str, dict[str, object]] = {
        "changeOrder": {"quantity": 3},
        "refundOrder": {"cents": 2400},
        "askAboutOrder": {"question": "Where?"},
    }
    return more.get(name, {})


@pytest.mark.req("IMP-01")
@pytest.mark.parametrize(
    "name", ["changeOrder", "refundOrder", "shipOrder", "giveUpUnpaid", "change_order"]
)
async def test_what_the_desk_does_cannot_be_called_from_outside(shop: Shop, name: str) -> None:
    number = await shop.placed()
    call = shop.gateway.backend.functions.call

    with pytest.raises(NotFound) as there:
        await call(f"orders:{name}", {"orderId": number, "quantity": 9}, caller=ANN)
    with pytest.raises(NotFound) as none:
        await call("orders:nothing", {}, caller=ANN)

    assert str(there.value).replace(name, "X") == str(none.value).replace("nothing", "X")


@pytest.mark.req("IMP-01")
async def test_the_price_is_ours_and_the_same_key_is_the_same_order(shop: Shop) -> None:
    assert await shop.placed() == await shop.placed()
    assert [order["priceCents"] for order in await shop.listed()] == [2400]
    assert await shop.placed(BOB) != await shop.placed()
    for refused in (
        await shop.refusal("placeOrder", key="key-of-two", item="Gold"),
        await shop.refusal("placeOrder", key="key-of-two", item=HEMP, priceCents=1),
        await shop.refusal("placeOrder", key="short", item=HEMP),
    ):
        assert type(refused) is InvalidArgument


async def test_an_order_goes_its_way_and_no_other(shop: Shop) -> None:
    number = await shop.placed()

    assert (await shop.call("changeOrder", orderId=number, quantity=3))["quantity"] == 3
    assert (await shop.call("payOrder", orderId=number))["status"] == "paid"
    assert await shop.gateway.count("agent_scheduled_calls") == 1
    for name in ("payOrder", "cancelOrder", "changeOrder"):
        refused = await shop.refusal(name, orderId=number, **_more(name))
        assert (type(refused), refused.message) == (Conflict, f"order {number} is paid")
    moved = await shop.call("changeOrder", orderId=number, shipTo="Bergen")
    assert (moved["shipTo"], moved["quantity"]) == ("Bergen", 3)
    await shop.call("shipOrder", orderId=number)
    assert type(await shop.refusal("refundOrder", orderId=number, cents=1)) is InvalidArgument
    assert (await shop.call("refundOrder", orderId=number, cents=7200))["status"] == "refunded"
    assert type(await shop.refusal("refundOrder", orderId=number, cents=7200)) is Conflict
    await shop.call("shipOrder", orderId=number)
    assert [order["status"] for order in await shop.listed()] == ["refunded"]


async def test_what_nobody_pays_for_is_given_up_after_a_week(
    shop: Shop, declared: Declarations
) -> None:
    old, paid, fresh = [await shop.placed(key=f"key-of-{name}") for name in ("a", "b", "c")]
    await shop.call("payOrder", orderId=paid)
    await shop.gateway.database.fetch(
        f"UPDATE orders SET created_at = now() - interval '8 days' WHERE id <> {fresh}"  # noqa: S608
    )

    assert [plan.name for plan in declared.crons] == ["give-up-unpaid-orders"]
    assert await shop.call("giveUpUnpaid", ANONYMOUS) == 1
    assert {order["id"]: order["status"] for order in await shop.listed()} == {
        old: "cancelled",
        paid: "paid",
        fresh: "placed",
    }


@pytest.mark.req("IMP-03", "AGT-15")
async def test_a_question_is_a_run_and_a_note_in_one_transaction(shop: Shop) -> None:
    number = await shop.placed()

    asked = await shop.call("askAboutOrder", orderId=number, question="Where is it?")
    again = await shop.call("askAboutOrder", orderId=number, question="And now?")

    (order,) = await shop.listed()
    snapshot = await shop.gateway.backend.reader.snapshot(asked["threadKey"], 0)
    assert snapshot is not None
    assert order["threadKey"] == asked["threadKey"] == again["threadKey"]
    assert (snapshot.thread.agent, snapshot.thread.owner) == ("order-desk", "ann")
    assert snapshot.thread.title == f"Order {number}: {HEMP}"
    assert await shop.gateway.count("agent_runs") == 2


@pytest.mark.req("IMP-03", "AGT-15")
async def test_a_question_whose_note_cannot_be_kept_starts_no_run(shop: Shop) -> None:
    number = await shop.placed()
    await shop.gateway.database.fetch(
        "ALTER TABLE orders ADD CONSTRAINT no_threads CHECK (thread_key IS NULL)"
    )

    refused = await shop.refusal("askAboutOrder", orderId=number, question="Where is it?")

    assert not isinstance(refused, NotFound | Forbidden | StoreUnavailable)
    assert await shop.gateway.count("agent_runs") == 0
    assert await shop.gateway.count("agent_threads") == 0
    assert shop.gateway.around.rung == []
