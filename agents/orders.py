"""Orders: a table of your own, and the functions by which people and agents reach it.

A person sees and changes only his own orders, whether he clicks or an agent of his acts for him:
the gate is in the functions, and ``order_desk.py`` calls the same ones.  Whoever watches
``orders:list_orders`` sees every change as it is committed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Bounds
from pydantic.alias_generators import to_camel
from sqlmodel import AutoString, Field, SQLModel, UniqueConstraint, col, select, update

from app import (
    Conflict,
    InvalidArgument,
    MutationContext,
    NotFound,
    QueryContext,
    Unauthenticated,
    crons,
    mutation,
    query,
)

SHELF = {"Hemp rope, 20 m": 2400, "Climbing rope, 60 m": 8900, "Bell rope with tassel": 4950}
SHIPS_AFTER = timedelta(seconds=20)
UNPAID_FOR = timedelta(days=7)

Status = Literal["placed", "paid", "shipped", "cancelled", "refunded"]
OrderId = Annotated[int, Bounds(ge=1, le=2**31 - 1)]
Quantity = Annotated[int, Bounds(ge=1, le=100)]


class Order(SQLModel, table=True):
    """A row.  Its key is chosen by the page, which so can show an order before it is stored."""

    __tablename__ = "orders"
    __table_args__ = (UniqueConstraint("owner", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    key: str
    owner: str = Field(index=True)
    item: str
    quantity: int
    price_cents: int
    status: Status = Field(default="placed", sa_type=AutoString)
    ship_to: str | None = None
    thread_key: str | None = None
    created_at: datetime


class _Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Ware(_Shown):
    """Something that can be ordered."""

    item: str
    price_cents: int


class OrderView(_Shown):
    """An order as its owner sees it; ``threadKey`` is where he has asked about it."""

    id: int
    key: str
    item: str
    quantity: int
    price_cents: int
    status: Status
    ship_to: str | None
    thread_key: str | None


class Asked(_Shown):
    """Where the answer will be."""

    run_id: str
    thread_key: str


@query
async def list_wares(ctx: QueryContext) -> list[Ware]:
    """Return what can be ordered; anybody may know."""
    return [Ware(item=item, price_cents=price) for item, price in SHELF.items()]


@query
async def list_orders(ctx: QueryContext) -> list[OrderView]:
    """Return the caller's own orders, the newest first."""
    mine = select(Order).where(Order.owner == _caller(ctx)).order_by(col(Order.id).desc())
    return [_view(order) for order in await ctx.db.exec(mine.limit(100))]


@mutation
async def place_order(
    ctx: MutationContext, key: Annotated[str, Bounds(min_length=8, max_length=64)], item: str
) -> OrderView:
    """Order one of something.  The price is ours to say; the same key is the same order."""
    if item not in SHELF:
        raise InvalidArgument(f"we do not have that; we have {'; '.join(SHELF)}")
    owner, now = _caller(ctx), datetime.now(UTC)
    placed = select(Order).where(Order.owner == owner, Order.key == key)
    order = (await ctx.db.exec(placed)).one_or_none() or Order(
        key=key, owner=owner, item=item, quantity=1, price_cents=SHELF[item], created_at=now
    )
    return await _saved(ctx, order)


@mutation
async def pay_order(ctx: MutationContext, order_id: OrderId) -> OrderView:
    """Pay; it is shipped a little later, if it still stands then."""
    order = await _own(ctx, order_id, but_only=["placed"])
    order.status = "paid"
    await ctx.scheduler.run_after(SHIPS_AFTER, ship_order, {"order_id": order_id})
    return await _saved(ctx, order)


@mutation
async def cancel_order(ctx: MutationContext, order_id: OrderId) -> OrderView:
    """Cancel an order that is not paid yet.

    Args:
        order_id: its number.
    """
    order = await _own(ctx, order_id, but_only=["placed"])
    order.status = "cancelled"
    return await _saved(ctx, order)


@mutation
async def ask_about_order(
    ctx: MutationContext, order_id: OrderId, question: Annotated[str, Bounds(max_length=2000)]
) -> Asked:
    """Ask the order desk; an order has one conversation, which goes on from question to question.

    The run and what is noted on the order are one transaction: both happen, or neither.
    """
    order = await _own(ctx, order_id)
    run = await ctx.agents.order_desk.run(
        input=f"About order {order_id}: {question}",
        owner=order.owner,
        thread_key=order.thread_key,
        title=f"Order {order_id}: {order.item}",
    )
    order.thread_key = run.thread_key
    await _saved(ctx, order)
    return Asked(run_id=run.id, thread_key=run.thread_key)


@mutation(internal=True)
async def change_order(
    ctx: MutationContext,
    order_id: OrderId,
    quantity: Quantity | None = None,
    ship_to: Annotated[str, Bounds(max_length=200)] | None = None,
) -> OrderView:
    """Change how many, or where to: for the desk's tool.  The caller is the thread's owner."""
    order = await _own(ctx, order_id, but_only=["placed"] if quantity else ["placed", "paid"])
    order.quantity = quantity or order.quantity
    order.ship_to = ship_to or order.ship_to
    return await _saved(ctx, order)


@mutation(internal=True)
async def refund_order(ctx: MutationContext, order_id: OrderId, cents: int) -> OrderView:
    """Give the whole price of a paid order back.

    Args:
        order_id: its number.
        cents: what was paid for it: quantity times price.
    """
    order = await _own(ctx, order_id, but_only=["paid", "shipped"])
    if cents != order.quantity * order.price_cents:
        raise InvalidArgument(f"{order.quantity * order.price_cents} cents were paid, not {cents}")
    order.status = "refunded"
    return await _saved(ctx, order)


@mutation(internal=True)
async def ship_order(ctx: MutationContext, order_id: OrderId) -> None:
    """Send a paid order on its way."""
    order = await _own(ctx, order_id)
    if order.status == "paid":
        order.status = "shipped"
        await _saved(ctx, order)


@mutation(internal=True)
async def give_up_unpaid(ctx: MutationContext) -> int:
    """Cancel what nobody has paid for, and return how many those were."""
    long_ago = datetime.now(UTC) - UNPAID_FOR
    old = update(Order).where(col(Order.status) == "placed", col(Order.created_at) < long_ago)
    return (await ctx.db.exec(old.values(status="cancelled"))).rowcount


crons.daily("give-up-unpaid-orders", {"hour_utc": 3, "minute_utc": 0}, give_up_unpaid)


def _caller(ctx: QueryContext | MutationContext) -> str:
    if ctx.auth.user_id is None:
        raise Unauthenticated("sign in to see your orders")
    return ctx.auth.user_id


async def _own(ctx: MutationContext, order_id: int, *, but_only: Sequence[Status] = ()) -> Order:
    """Return an order of the caller's, locked.  A foreign one is as missing as one that is not."""
    mine = select(Order).where(Order.id == order_id, Order.owner == _caller(ctx))
    order = (await ctx.db.exec(mine.with_for_update())).one_or_none()
    if order is None:
        raise NotFound(f"there is no order {order_id}")
    if but_only and order.status not in but_only:
        raise Conflict(f"order {order_id} is {order.status}")
    return order


async def _saved(ctx: MutationContext, order: Order) -> OrderView:
    ctx.db.add(order)
    await ctx.db.flush()
    return _view(order)


def _view(order: Order) -> OrderView:
    return OrderView.model_validate(order)
