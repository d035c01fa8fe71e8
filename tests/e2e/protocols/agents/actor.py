"""An agent whose message is its script: turns, as JSON.

``[{"think": "hm", "say": ["one ", "two"], "gate": "g", "calls": [["sign", {}]]}, {"fail": "no"}]``:
it says the first piece, waits for the file ``g``, says the rest, and calls; in the next turn the
model refuses.  After the last turn it says ``done``.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

from app import Agent, ApprovalPolicy, ToolContext, ToolError, agent_as_tool, tool

Spoken = str | dict[int, DeltaThinkingPart] | dict[int, DeltaToolCall]


@tool
async def look(what: str) -> dict[str, object]:
    """Look something up."""
    return {"what": what, "found": None}


@tool(retries=0)
async def stumble(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@tool
async def keep(ctx: ToolContext, name: str, value: int) -> str:
    """Put something into the state of the thread."""
    await ctx.update_state(lambda state: {**(state or {}), name: value})
    return "kept"


@tool(needs_approval=ApprovalPolicy(editable=True))
async def sign(what: str, price: float = 1.5) -> str:
    """Sign something that only a person may have signed."""
    return f"signed {what}" if price == 1.5 else f"signed {what} for {price}"


def _script(messages: list[ModelMessage]) -> tuple[dict[str, Any], int]:
    """Return what the turn is to be, and its number since a person last spoke."""
    turns, number = [], 0
    for message in messages:
        if isinstance(message, ModelResponse):
            number += 1
        elif isinstance(message, ModelRequest):
            said = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
            if said:
                turns, number = json.loads(str(said[-1])), 0
    return (turns[number] if number < len(turns) else {"say": ["done"]}), number


async def _play(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Spoken]:
    turn, number = _script(messages)
    if "think" in turn:
        yield {0: DeltaThinkingPart(content=turn["think"])}
    for place, piece in enumerate(turn.get("say", [])):
        if place == 1:
            await _open(turn.get("gate"))
        yield piece
    if "fail" in turn:
        raise ModelHTTPError(400, "actor", {"message": turn["fail"]})
    for place, (name, arguments) in enumerate(turn.get("calls", [])):
        call_id = f"call_{number}_{place}"
        yield {place + 2: DeltaToolCall(name, json.dumps(arguments), tool_call_id=call_id)}


async def _open(gate: str | None) -> None:
    while gate and not (Path(os.environ["GATES"]) / gate).exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.02)


_MODEL = FunctionModel(stream_function=_play)

actor = Agent(model=_MODEL, tools=[look, stumble, keep, sign], access="public")
patient = Agent(model=_MODEL, access="public", on_concurrent_run="queue")
director = Agent(model=_MODEL, tools=[agent_as_tool(actor, name="ask")], access="public")
