"""A support agent: it tells the weather, finds orders, and asks before it gives money back.

Everything in this folder is loaded at start; nothing needs to be registered.  Try:
"What is the weather in Oslo and Bergen?", "Where is order 1001?", "Refund order 1002",
"Refund orders 1001, 1002 and 1003, 60 dollars each".  Who approves may change the arguments.
"""

from app import Agent, ApprovalPolicy, ToolContext, ToolError, tool

ORDERS = {
    "1001": {"item": "hemp rope, 20 m", "status": "on its way", "total_cents": 2400},
    "1002": {"item": "climbing rope, 60 m", "status": "delivered", "total_cents": 8900},
    "1003": {"item": "bell rope with tassel", "status": "being made", "total_cents": 4950},
}
SKIES = ("clear skies", "light rain", "drifting clouds", "fresh wind", "snow")


@tool
async def get_weather(city: str) -> dict[str, object]:
    """Tell the weather of today.

    Args:
        city: its name, as "Oslo".
    """
    seed = sum(map(ord, city.lower()))
    return {"city": city, "temperature_c": seed % 28 - 4, "condition": SKIES[seed % len(SKIES)]}


@tool
async def look_up_order(order_id: str) -> dict[str, object]:
    """Find an order: what it is, where it is, what it cost.

    Args:
        order_id: the number on the receipt, as "1001".
    """
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}. The orders are {', '.join(ORDERS)}.")
    return {"order_id": order_id, **ORDERS[order_id]}


@tool(needs_approval=ApprovalPolicy(when=lambda call: call.amount > 5000, editable=True))
async def refund_order(ctx: ToolContext, order_id: str, amount: int) -> dict[str, object]:
    """Give money back for an order.  More than 50 dollars needs a person's approval.

    Args:
        ctx: what Ropewalk says about this call; the model does not see it.
        order_id: the number on the receipt, as "1001".
        amount: how much, in cents.
    """
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}.")
    # A payment service would get ctx.idempotency_key: the same key however often we have to ask.
    reference = f"refund-{ctx.idempotency_key[-6:]}"
    return {"order_id": order_id, "refunded_cents": amount, "reference": reference}


support = Agent(
    description="Answers questions about orders and the weather, and refunds.",
    instructions="You are the friendly support desk of a rope shop. Be brief. Use your tools.",
    model="default",  # ROPEWALK_MODEL, else the provider whose key is set, else a scripted demo
    tools=[get_weather, look_up_order, refund_order],
    access="public",
)
