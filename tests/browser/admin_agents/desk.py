"""A desk that does as it is told: "Pay 3" asks three times, "Break" fails, "Ask" asks the clerk.

While the file that ``BROKEN_FILE`` names is there, "Break" fails; then it may be retried.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ApprovalPolicy, ToolContext, tool

DELAY_S = 0.02


@tool(
    needs_approval=ApprovalPolicy(
        approvers=["dev-admin", "treasurer@example.test"],
        editable=True,
        expires_in=timedelta(days=2),
    )
)
async def pay(ctx: ToolContext, to: str, cents: int, note: str = "") -> dict[str, object]:
    """Send money from the shop's account.  It cannot be called back.

    Args:
        ctx: what Ropewalk says about this call; the model does not see it.
        to: who gets it.
        cents: how much.
        note: what is written with it.
    """
    await ctx.update_state(lambda paid: [*paid, {"to": to, "cents": cents}])
    return {"to": to, "cents": cents, "note": note, "receipt": ctx.idempotency_key[-6:]}


def _frames(calls: list[tuple[str, dict[str, object]]]) -> dict[int, DeltaToolCall]:
    return {
        number: DeltaToolCall(name=name, json_args=json.dumps(given), tool_call_id=f"c{number}")
        for number, (name, given) in enumerate(calls)
    }


async def _speak(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    asked, answered = _now(messages)
    if answered:
        yield "Done: "
        for each in answered:
            await asyncio.sleep(DELAY_S)
            yield f"{each} "
        return
    if asked.startswith("Break") and _is_broken():
        raise ModelHTTPError(400, "scripted", {"message": "the model is out for lunch"})
    if found := re.match(r"Pay (\d+)", asked):
        yield f"I will pay {found[1]} of our suppliers."
        yield _frames(
            [
                ("pay", {"to": f"Supplier {number + 1}", "cents": 1250 * (number + 1)})
                for number in range(int(found[1]))
            ]
        )
        return
    if asked.startswith("Ask"):
        yield _frames([("clerk", {"message": asked.removeprefix("Ask ")})])
        return
    for word in f"You said: {asked}".split():
        await asyncio.sleep(DELAY_S)
        yield f"{word} "


def _is_broken() -> bool:
    return Path(os.environ["BROKEN_FILE"]).exists()


def _now(messages: list[ModelMessage]) -> tuple[str, list[str]]:
    """Return what was said last, and what tools have answered since."""
    asked, answered = "", list[str]()
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart):
                asked, answered = str(part.content), []
            elif isinstance(part, ToolReturnPart):
                answered.append(str(part.content))
    return asked, answered


clerk = Agent(
    description="Knows where everything is.",
    instructions="Answer in a word.",
    model=FunctionModel(stream_function=_speak),
    access="internal",
)

desk = Agent(
    name="Payments desk",
    description="Pays the shop's suppliers, and asks before it does.",
    instructions="Pay what you are **told** to pay.\n\n- Never guess an amount.\n- Be brief.",
    model=FunctionModel(stream_function=_speak),
    tools=[pay, clerk],
    initial_state=[],
    access="authenticated",
)
