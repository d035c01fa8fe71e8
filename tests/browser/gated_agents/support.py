"""An agent that can call what waits for a person; one tool's calls are given to another agent.

The built-in model plays them: ``call NAME {json}``.
"""

from app import Agent, ApprovalPolicy, tool


@tool(needs_approval=ApprovalPolicy(editable=True, approvers=["$owner"], expires_in=3600))
async def set_flags(*, on: bool, count: int, note: str) -> dict[str, object]:
    """Set what can be false, zero and empty."""
    return {"on": on, "count": count, "note": note}


@tool(needs_approval=ApprovalPolicy(approvers=["$owner", "boss@example.com"]))
async def close_shop(day: str) -> str:
    """Close the shop for a day."""
    return f"closed on {day}"


@tool(needs_approval=ApprovalPolicy(approvers=["boss@example.com"]))
async def sell_shop(price: int) -> str:
    """Sell the shop."""
    return f"sold for {price}"


@tool(needs_approval=True)
async def pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


payer = Agent(
    description="Pays.",
    instructions="Pay what you are told to.",
    model="default",
    tools=[pay],
    access="internal",
)

support = Agent(
    description="Runs the shop.",
    instructions="Do as you are told.",
    model="default",
    tools=[set_flags, close_shop, sell_shop, payer],
    access="public",
)
