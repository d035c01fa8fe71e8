"""The calls of a turn: gate, step, result, in this order, in this one place.

What the gate let through runs right away, concurrently; what it held back waits
until a person has decided every one of them, then the approved ones run together
(R5, R27).  A call's record fills the row that was inserted with the call, so
results stand in call order whoever finishes first.

Asking the model again, refusing, and giving up are values that a step returns, so
the engine's retries never see them (B14); they see real failures only (R24).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed

from app.authoring.agent import Agent
from app.authoring.function_tool import FunctionCatalog, FunctionTool
from app.authoring.tool_context import Dispatch, ToolContext, ToolError
from app.authoring.tool_schema import ArgumentsRefused
from app.authoring.tools import Tool
from app.domain.approval import Decision, approval_step
from app.domain.errors import ClientFault
from app.domain.message import MessageStatus, Part, result_key
from app.domain.record import FilledMessage, Writes
from app.domain.retry import RetryPolicy
from app.domain.run import Waits
from app.domain.storable import Json, encode
from app.engine.durable_run import DurableRun
from app.engine.steps import MISSING, StepContext, StepPolicy, StepResult, retry_any
from app.loop.concurrently import concurrently, is_being_cancelled
from app.loop.drafts import Drafts
from app.loop.gate import Gate, unknown_tool
from app.loop.planned import PlannedCall
from app.loop.results import Outcome, failed, outcome_of, what_failed

log = logging.getLogger(__name__)


def bind_tools(agent: Agent, catalog: FunctionCatalog) -> dict[str, Tool]:
    """Return an agent's tools by name, now that all server functions are known.

    Raises:
        DeclarationError: a function tool names a function that there is not.
    """
    return {
        name: each.bound(catalog) if isinstance(each, FunctionTool) else each
        for name, each in agent.tools.items()
    }


@dataclass(frozen=True, slots=True)
class Toolset:
    """An agent's tools, at work for one drive."""

    agent: Agent
    tools: Mapping[str, Tool]
    dispatch: Dispatch
    run: DurableRun
    drafts: Drafts

    async def answer(self, turn: int, calls: Sequence[PlannedCall]) -> list[Part]:
        """Return the results of the calls, once every one is recorded.

        Raises:
            RunParked: a person has to decide first.
        """
        parts = [shut_part(call) for call in calls if call.gate is Gate.SHUT]
        parts += await self._all(turn, [call for call in calls if call.gate is Gate.OPEN])
        held = [call for call in calls if call.gate is Gate.ASK]
        if held:
            await self._decided(held)
            parts += await self._all(turn, held)
        return parts

    async def _all(self, turn: int, calls: Sequence[PlannedCall]) -> list[Part]:
        parts: list[Part] = []
        for batch in self._batches(calls):
            for found in await concurrently([_Call(self, turn, it).answered() for it in batch]):
                parts += found
        return parts

    def _batches(self, calls: Sequence[PlannedCall]) -> list[list[PlannedCall]]:
        """Return calls that may run at once; a sequential tool runs alone, in its place."""
        batches: list[list[PlannedCall]] = []
        may_join = False
        for call in calls:
            tool = self.tools.get(call.call.tool_name)
            is_alone = tool is not None and tool.options.sequential
            if may_join and not is_alone:
                batches[-1].append(call)
            else:
                batches.append([call])
            may_join = not is_alone
        return batches

    async def _decided(self, calls: Sequence[PlannedCall]) -> None:
        """Return when each of these calls was decided; park as long as one was not."""
        while undecided := [call.id for call in calls if self.decision(call) is None]:
            await self.run.park(Waits.for_all(map(approval_step, undecided)))

    def decision(self, call: PlannedCall) -> Json:
        """Return the recorded decision on a call, or ``None``."""
        found = self.run.recorded(approval_step(call.id))
        return None if found is MISSING else found


@dataclass(frozen=True, slots=True)
class _Call:
    """One call on its way to a result."""

    toolset: Toolset
    turn: int
    planned: PlannedCall

    async def answered(self) -> Sequence[Part]:
        run, name = self.toolset.run, self.planned.call.tool_name
        tool = self.toolset.tools.get(name)
        retries = tool.options.retries if tool is not None else None
        attempts = 1 + (self.toolset.agent.tool_retries if retries is None else retries)
        recorded = await run.step(
            self.planned.step,
            self._body,
            turn=self.turn,
            policy=StepPolicy(
                delay_after=retry_any(RetryPolicy(attempts=attempts)),
                timeout=tool.options.timeout if tool is not None else None,
                exhausted=lambda error: self._result(what_failed(name, error, attempts)),
            ),
        )
        return await self.toolset.drafts.result(recorded, self.planned.id)

    async def _body(self, step: StepContext) -> StepResult:
        refusal = _refusal(self.toolset.decision(self.planned))
        return self._result(refusal or await self._perform(step))

    async def _perform(self, step: StepContext) -> Outcome:
        call = self.planned.call
        tool = self.toolset.tools.get(call.tool_name)
        if tool is None:  # it was offered, and is gone since a deploy
            return failed(unknown_tool(call.tool_name, self.toolset.tools))
        try:
            arguments = tool.parameters.validate(call.args)
            return outcome_of(await tool.call(self._context(step), arguments), tool.name)
        except (ToolError, ClientFault, ModelRetry, ToolFailed) as error:
            return failed(error.message)
        except ArgumentsRefused as error:
            return failed(f"The arguments of {tool.name} do not fit. {error}")
        except (ApprovalRequired, CallDeferred):
            log.exception("%s asks from inside; declare needs_approval on the tool", tool.name)
            return failed(
                f"{tool.name} cannot wait for an approval from inside, so it did not run."
            )
        except SystemExit as error:
            return failed(f"{tool.name} tried to end the process ({error}).")
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            raise RuntimeError("something that it waited for was cancelled") from error

    def _context(self, step: StepContext) -> ToolContext:
        run = self.toolset.run
        return ToolContext(
            run_id=run.run.id,
            thread_key=run.thread.key,
            agent=run.run.agent,
            owner=run.thread.owner,
            tool_call_id=self.planned.id,
            idempotency_key=step.idempotency_key,
            attempt=step.attempt,
            dispatch=self.toolset.dispatch,
        )

    def _result(self, outcome: Outcome) -> StepResult:
        """Return the record that fills the call's row; the step's value only names it."""
        run, call = self.toolset.run, self.planned.call
        parts = encode([outcome.part(self.planned.id, call.tool_name)])
        draft = run.ids.new()
        self.toolset.drafts.keep_result(draft, parts)
        key = result_key(run.run.id, self.turn, self.planned.index)
        return StepResult(
            draft,
            Writes(filled=FilledMessage(key, MessageStatus.COMPLETE, parts)),
        )


def shut_part(planned: PlannedCall) -> Part:
    """Return the result of a call that the gate did not let through."""
    return failed(planned.passage.reason).part(planned.id, planned.call.tool_name)


def _refusal(decision: Json) -> Outcome | None:
    """Return what the model is told of a call that was refused."""
    if not isinstance(decision, dict) or decision.get("decision") != Decision.DENIED.value:
        return None
    reason = decision.get("reason")
    said = f" Reason: {reason}" if reason else ""
    return failed(f"The call was not approved, so it did not run.{said}")
