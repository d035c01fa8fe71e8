"""The agents of the storms: a model that plays the plan in the user's message, and its tools.

What their bodies did is written down, outside our stores, by the processes that run them
(``tests.support.chaos.inside``).
"""

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Literal, TypeAlias

from pydantic_ai.exceptions import ModelHTTPError, ModelRequestRejectedError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, tool
from tests.support.chaos.plan import RETRIES, WORDS_MS, Plan, PlannedTurn

OnConcurrentRun: TypeAlias = Literal["reject", "replace", "queue", "steer"]

_faults: Counter[tuple[str, int]] = Counter()
"""How often this process's provider has failed, by plan and turn."""


def _answer(ctx: ToolContext, token: str, fails: int, size: int) -> dict[str, str]:
    if ctx.attempt <= fails:
        raise ConnectionError(f"{token} fails as planned")
    return {"token": token, "filler": "x" * size}


@tool
async def work(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Take a while."""
    await asyncio.sleep(ms / 1000)
    return _answer(ctx, token, fails, size)


@tool
def in_a_thread(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Take a while beside the event loop."""
    time.sleep(ms / 1000)
    return _answer(ctx, token, fails, size)


@tool
async def block(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Hold up the whole worker, as bad tools do."""
    time.sleep(ms / 1000)  # noqa: ASYNC251  # that is the point
    return _answer(ctx, token, fails, size)


@tool(sequential=True)
async def alone(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Run alone among the calls of a turn."""
    await asyncio.sleep(ms / 1000)
    return _answer(ctx, token, fails, size)


@tool(needs_approval=True)
async def sign(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Do what only a person may have done."""
    await asyncio.sleep(ms / 1000)
    return _answer(ctx, token, fails, size)


@tool
async def remember(ctx: ToolContext, token: str, ms: int, fails: int, size: int) -> dict[str, str]:
    """Count the call in the thread's state."""

    def counted(state: Any) -> dict[str, int]:  # noqa: ANN401  # whatever the thread keeps
        known: dict[str, int] = state or {}
        return {**known, token: known.get(token, 0) + 1}

    await ctx.update_state(counted)
    await asyncio.sleep(ms / 1000)
    return _answer(ctx, token, fails, size)


def _asked(messages: list[ModelMessage]) -> tuple[Plan, int]:
    """Return the newest plan, and how many of its turns are taken."""
    taken = 0
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            taken += 1
        elif isinstance(message, ModelRequest):
            for part in reversed(message.parts):
                plan = isinstance(part, UserPromptPart) and Plan.from_text(str(part.content))
                if plan:
                    return plan, taken
    raise AssertionError("nobody asked for anything")


async def _play(
    messages: list[ModelMessage], _: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    plan, number = _asked(messages)
    turn = plan.turns[number] if number < len(plan.turns) else PlannedTurn(1)
    words = plan.words(number, secrets.token_hex(2))
    fault = turn.fault
    breaks = fault is not None and _faults[plan.id, number] < fault.times
    for place, word in enumerate(words):
        if breaks and fault is not None and place >= fault.after_words:
            break
        await asyncio.sleep(WORDS_MS / 1000)
        yield word
    if breaks and fault is not None:
        _faults[plan.id, number] += 1
        raise _error(fault.status)
    for index, call in enumerate(turn.calls):
        # The ids repeat, from turn to turn and from run to run, as some providers' do.
        yield {index + 1: DeltaToolCall(call.name, "", tool_call_id=f"call_{index}")}
        yield {index + 1: DeltaToolCall(json_args=json.dumps(call.arguments))}


def _error(status: int) -> Exception:
    if status == 400:
        return ModelRequestRejectedError("scripted", "refused as planned", in_stream=True)
    return ModelHTTPError(status, "scripted", {"message": "fails as planned"}, in_stream=True)


_model = FunctionModel(stream_function=_play, model_name="scripted")

helper = Agent(
    description="Does what a plan says, for another agent.",
    model=_model,
    tools=[work],
    access="internal",
)


def _storm(on_concurrent_run: OnConcurrentRun) -> Agent:
    return Agent(
        instructions="Do as the plan says.",
        model=_model,
        tools=[work, in_a_thread, block, alone, sign, remember, helper],
        tool_retries=RETRIES,
        on_concurrent_run=on_concurrent_run,
    )


rejecting = _storm("reject")
queueing = _storm("queue")
steering = _storm("steer")
replacing = _storm("replace")
