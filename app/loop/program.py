"""The agent loop itself: ask the model, run its tools, ask again, until it is done.

    inject:0 -> llm:turn:0 -> tool:... tool:... -> inject:1 -> llm:turn:1 -> ... -> completed
                                |
                                approval or child run missing: park, and come back here

It starts over at the open turn, in any process: what was recorded answers from the
record.  Finished turns are not replayed; they are history.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import NoReturn

from pydantic_ai.models import Model

from app.authoring.agent import Agent
from app.authoring.contained import contained
from app.authoring.function_tool import FunctionCatalog
from app.authoring.tool_context import Dispatch, no_functions
from app.domain.message import Message, Role
from app.domain.run import Ending, Run
from app.engine.durable_run import DurableRun, Program
from app.engine.steps import MISSING
from app.loop.answering import Answering
from app.loop.drafts import Drafts
from app.loop.hearing import Hearing, recorded_inputs
from app.loop.history import History
from app.loop.instructions import instructions_of
from app.loop.overriding import Effective, Overrides
from app.loop.planned import turn_step
from app.loop.toolset import Toolset, bind_tools
from app.loop.turn import Turns
from app.models.failures import ModelFailed, ModelNotConfigured
from app.models.resolve import Models, ModelSource

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopPorts:
    """What every agent's loop is handed.

    Attributes:
        models: what model ids mean here.
        dispatch: calls a server function.
        streaming: whether words are handed on as they come.
        overrides: what operators say over the agents' code.
    """

    models: Models
    dispatch: Dispatch = no_functions
    streaming: bool = True
    overrides: Overrides = field(default_factory=Overrides)


def agent_program(agent: Agent, ports: LoopPorts, catalog: FunctionCatalog) -> Program:
    """Return the program that drives this agent's runs.

    Raises:
        DeclarationError: a function tool names a function that there is not.
    """
    tools = bind_tools(agent, catalog)

    async def program(run: DurableRun) -> None:
        rows = await run.history()
        first = open_turn(run)
        inputs = recorded_inputs(run, first)
        before: list[Message] = []
        told_again: list[Message] = []
        for row in rows:
            is_again = row.id in inputs or _is_of_turn(row, run.run, first)
            (told_again if is_again else before).append(row)
        history, drafts = History.of(before), Drafts(run, told_again)
        hearing = Hearing(run, history, drafts)
        answering = Answering.of(run.run)
        ways = Effective.of(agent, tools, await ports.overrides.of(run.run), run.run)
        toolset = Toolset(agent, ways.tools, ports.dispatch, run, drafts)
        try:
            model = await _resolved(ports.models, ways.model)
            turns = Turns(
                run=run,
                model=model,
                instructions=await instructions_of(agent, ways.instructions, run),
                tools=ways.tools,
                history=history,
                drafts=drafts,
                run_usage=run.run.usage,
                thread_usage=run.thread.usage,
                streaming=ports.streaming,
                always_ask=ways.always_ask,
                answering=answering,
            )
            await _take_turns(run, turns, toolset, hearing, first, limit=ways.max_turns)
        except ModelFailed as failed:
            await _end(run, Ending.failed(failed.failure.code, failed.failure.message))
        except ModelNotConfigured as missing:
            await _end(run, Ending.failed(missing.code, missing.message))

    return program


async def _resolved(models: Models, source: ModelSource) -> Model:
    """Return the model; one that nobody asked for yet is imported beside the other runs."""
    with contained("a choice of model"):
        if models.is_built(source):
            return models.resolve(source)
        return await asyncio.to_thread(models.resolve, source)


async def _take_turns(
    run: DurableRun, turns: Turns, toolset: Toolset, hearing: Hearing, first: int, *, limit: int
) -> NoReturn:
    turn = first
    while True:
        await hearing.listen(turn)
        taken = await turns.take(turn)
        turns.history.add_answer(taken.response)
        if taken.calls:
            turns.history.add_results(await toolset.answer(turn, taken.calls))
        if taken.feedback is not None:
            turns.history.add_input(taken.feedback)
        ending = Ending.completed("final" if taken.is_last else "maxTurns", taken.output)
        turn += 1
        while not hearing.was_recorded(turn) and (
            turn >= limit or (taken.is_last and not hearing.has_unread)
        ):
            await run.finish(ending)


async def _end(run: DurableRun, ending: Ending) -> NoReturn:
    """Fail the run; what was stored meanwhile does not change how it ends."""
    if ending.error is not None:
        log.warning("run %s fails: %s %s", run.run.id, ending.error.code, ending.error.message)
    while True:
        await run.finish(ending)


def open_turn(run: DurableRun) -> int:
    """Return the turn to resume at.

    The row was read at the claim; a record that a killed worker left in the journal may
    have opened the next turn since.
    """
    turn = run.run.turn
    while run.recorded(turn_step(turn + 1)) is not MISSING:
        turn += 1
    return turn


def _is_of_turn(row: Message, run: Run, turn: int) -> bool:
    """Whether a row was written by this run in the open turn: it is told again from there."""
    return (
        row.run_id == run.id
        and row.role is not Role.USER
        and row.turn is not None
        and row.turn >= turn
    )
