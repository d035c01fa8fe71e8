"""The agent whose runs are killed at every point: three turns, and all that a turn can hold.

    turn 0   three calls at once, which finish in another order than they were made, and one that
             counts in the thread's state
    turn 1   a call, one that a person must allow, one that another agent answers, and one that
             another agent does not answer in time: a timer gives up
    turn 2   reads what was said meanwhile; then words, slowly enough to be flushed to the screen
             several times

Its model is a function of the history alone, so a run that goes on elsewhere is answered as the
one that was cut off would have been.
"""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from app import Agent, ToolContext, agent_as_tool, tool

START = "go"
"""How a prompt begins that starts a run; others are read by one that is under way."""
WORDS = 12
WORD_S = 0.01
LOOKS = {"a": 0.03, "b": 0.0, "c": 0.01}
DAWDLES_S = 0.35
GIVEN_UP_AFTER_MS = 150

Deltas = AsyncIterator[str | dict[int, DeltaToolCall]]


@tool
async def look(ctx: ToolContext, at: str, seconds: float = 0.0) -> str:
    """Look at something.

    Args:
        ctx: of the call.
        at: what to look at.
        seconds: how long to look.
    """
    await asyncio.sleep(seconds)
    return f"saw {at}"


@tool
async def tally(ctx: ToolContext) -> int:
    """Count one more."""
    state = await ctx.update_state(lambda state: {"tallies": state["tallies"] + 1})
    return int(state["tallies"])


@tool(needs_approval=True)
async def sign(ctx: ToolContext) -> str:
    """Sign something that only a person may have signed."""
    await asyncio.sleep(0.002)
    return "signed"


def answers_since(messages: list[ModelMessage], word: str) -> int:
    """Return how often the model has answered since a person said something like ``word``."""
    answers = 0
    for message in messages:
        if isinstance(message, ModelResponse):
            answers += 1
        elif any(
            isinstance(part, UserPromptPart) and str(part.content).startswith(word)
            for part in message.parts
        ):
            answers = 0
    return answers


async def _walk(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    match answers_since(messages, START):
        case 0:
            yield "Looking around. "
            for index, (at, seconds) in enumerate(LOOKS.items(), 1):
                arguments = f'{{"at": "{at}", "seconds": {seconds}}}'
                yield {index: DeltaToolCall("look", arguments, tool_call_id=f"call_{at}")}
            yield {len(LOOKS) + 1: DeltaToolCall("tally", "{}", tool_call_id="call_tally")}
        case 1:
            yield {0: DeltaToolCall("look", '{"at": "d"}', tool_call_id="call_d")}
            yield {1: DeltaToolCall("sign", "{}", tool_call_id="call_sign")}
            ask = '{"message": "go"}'
            yield {2: DeltaToolCall("helper", ask, tool_call_id="call_helper")}
            yield {3: DeltaToolCall("dawdler", ask, tool_call_id="call_dawdler")}
        case _:
            for number in range(WORDS):
                await asyncio.sleep(WORD_S)
                yield f"word{number}" if number == 0 else f" word{number}"


async def _help(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if answers_since(messages, START):
        yield "Helped."
    else:
        yield {0: DeltaToolCall("tally", "{}", tool_call_id="call_1")}


async def _dawdle(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if answers_since(messages, START):
        yield "Here I am."
    else:
        arguments = f'{{"at": "nothing", "seconds": {DAWDLES_S}}}'
        yield {0: DeltaToolCall("look", arguments, tool_call_id="call_1")}


helper = Agent(
    description="Helps.",
    model=FunctionModel(stream_function=_help),
    tools=[tally],
    initial_state={"tallies": 10},
    access="internal",
)

dawdler = Agent(
    description="Takes its time.",
    model=FunctionModel(stream_function=_dawdle),
    tools=[look],
    access="internal",
)

walker = Agent(
    description="Walks on, whoever dies.",
    instructions=lambda: "Walk on.",
    model=FunctionModel(stream_function=_walk),
    tools=[
        look,
        tally,
        sign,
        helper,
        agent_as_tool(dawdler, max_polls=1, poll_interval_ms=GIVEN_UP_AFTER_MS),
    ],
    initial_state={"tallies": 0},
    on_concurrent_run="steer",
    access="public",
)
