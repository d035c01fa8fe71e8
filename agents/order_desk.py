"""The desk that is asked about orders.  What it changes, every open page sees at once.

Its tools are the functions of ``orders.py``, called as the person whose conversation it is.  So
the model cannot reach an order that its person could not, whatever it is talked into.
"""

from typing import Any

from app import Agent, ToolContext, ToolError, function_tool, tool

MODEL_NEEDS = ("id", "item", "quantity", "priceCents", "status", "shipTo")


@tool
async def list_orders(ctx: ToolContext) -> list[dict[str, Any]]:
    """Return the person's orders, the newest first; prices are of one piece."""
    found: list[dict[str, Any]] = await ctx.run("orders:list_orders")
    return [{name: order[name] for name in MODEL_NEEDS} for order in found[:20]]


@tool
async def change_order(
    ctx: ToolContext, order_id: int, quantity: int | None = None, ship_to: str | None = None
) -> dict[str, Any]:
    """Change how many are ordered, as long as it is not paid, or where an order is sent.

    Args:
        order_id: its number.
        quantity: how many it shall be.
        ship_to: the new address.
    """
    if quantity is None and ship_to is None:
        raise ToolError("Say what shall be changed: quantity or ship_to.")
    changes = {"order_id": order_id, "quantity": quantity, "ship_to": ship_to}
    changed: dict[str, Any] = await ctx.run("orders:change_order", changes)
    return {name: changed[name] for name in MODEL_NEEDS}


order_desk = Agent(
    slug="order-desk",
    name="Order desk",
    description="Finds, changes, cancels and refunds a person's own orders.",
    instructions=(
        "You are the order desk of a rope shop. Look orders up before you speak of them. An order "
        "is paid before it is shipped; one that is not paid is cancelled, a paid one is refunded. "
        "Prices are in cents; speak of dollars. Be brief."
    ),
    model="default",
    tools=[
        list_orders,
        change_order,
        function_tool("orders:cancel_order"),
        function_tool(
            "orders:refund_order",
            name="give_refund",
            needs_approval=lambda call: call.cents > 5000,
        ),
    ],
    on_concurrent_run="queue",  # a second question waits for the answer to the first
    access="authenticated",
)
