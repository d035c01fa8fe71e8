"""The calls of a turn: gate, step, result, in this order, in this one place.

What the gate let through runs right away, concurrently; what it held back waits
until a person has decided every one of them, then the approved ones run together
(R5, R27).  A call that another agent answers has begun before the others run, and is
waited for with them.  A call's record fills the row that was inserted with the call, so
results stand in call order whoever finishes first.

Asking the model again, refusing, and giving up are values that a step returns, so
the engine's retries never see them (B14); they see real failures only (R24).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed

from app.authoring.agent import Agent
from app.authoring.agent_tool import ChildTool
from app.authoring.binding import bound_tool
from app.authoring.contained import BrokeOut, contained
from app.authoring.function_tool import FunctionCatalog
from app.authoring.tool_context import Dispatch, ToolContext, ToolError
from app.authoring.tool_schema import ArgumentsRefused
from app.authoring.tools import Offer, Tool
from app.domain.approval import Decision, approval_step, expiry_fact, input_hash
from app.domain.errors import ClientFault
from app.domain.facts import NewTimer, child_fact
from app.domain.message import MessageStatus, Part, result_key
from app.domain.record import FilledMessage, Writes
from app.domain.retry import RetryPolicy
from app.domain.storable import Json, decode, encode
from app.engine.durable_run import DurableRun
from app.engine.steps import (
    MISSING,
    StepContext,
    StepPolicy,
    StepResult,
    StepTimedOut,
    retry_any,
)
from app.loop.concurrently import concurrently
from app.loop.delegation import Errand, outcome_of_child, waits_for
from app.loop.drafts import Drafts
from app.loop.gate import STANDING, Gate, unknown_tool
from app.loop.parts import input_of
from app.loop.planned import PlannedCall
from app.loop.results import Outcome, failed, outcome_of, what_failed, what_took_too_long
from app.loop.state import StepState

log = logging.getLogger(__name__)


def bind_tools(agent: Agent, catalog: FunctionCatalog) -> dict[str, Offer]:
    """Return an agent's tools by name, now that all functions and agents are known.

    Raises:
        DeclarationError: a tool names a function or an agent that there is not.
    """
    return {name: bound_tool(each, catalog) for name, each in agent.tools.items()}


@dataclass(frozen=True, slots=True)
class Toolset:
    """An agent's tools, at work for one drive."""

    agent: Agent
    tools: Mapping[str, Offer]
    dispatch: Dispatch
    run: DurableRun
    drafts: Drafts

    async def answer(self, turn: int, calls: Sequence[PlannedCall]) -> list[Part]:
        """Return the results of the calls, once every one is recorded.

        Raises:
            RunParked: a person has to decide first, or another agent to answer.
        """
        parts = [standing_part(call) for call in calls if call.gate in STANDING]
        left = [call for call in calls if call.gate not in STANDING]
        errands: dict[str, Errand] = {}
        while left:
            undecided = [approval_step(call.id) for call in left if self._is_held(call)]
            free = [call for call in left if call.gate is Gate.OPEN or not undecided]
            await self._begin(free, errands)
            ready = [call for call in free if _is_ready(errands.get(call.id))]
            if ready:
                parts += await self._all(turn, ready, errands)
                left = [call for call in left if call not in ready]
            else:
                under_way = [errands[call.id] for call in free]
                timers = [timer for errand in under_way for timer in errand.timers]
                timers += [timer for call in left if self._is_held(call) for timer in _expiry(call)]
                await self.run.park(waits_for(undecided, under_way), timers)
        return parts

    def _is_held(self, call: PlannedCall) -> bool:
        return call.gate is Gate.ASK and self.decision(call) is None

    async def _begin(self, calls: Sequence[PlannedCall], errands: dict[str, Errand]) -> None:
        """Start the child of each call that another agent answers, and note it."""
        for call in calls:
            tool = self.tools.get(call.call.tool_name)
            is_wanted = call.id not in errands and self.refusal(call) is None
            if isinstance(tool, ChildTool) and is_wanted:
                edited = _edited(self.decision(call))
                asked = call if edited is None else call.with_arguments(edited)
                errands[call.id] = Errand(self.run, asked, tool)
                await errands[call.id].begin()

    async def _all(
        self, turn: int, calls: Sequence[PlannedCall], errands: Mapping[str, Errand]
    ) -> list[Part]:
        parts: list[Part] = []
        for batch in self._batches(calls):
            bodies = [_Call(self, turn, call, errands.get(call.id)).answered() for call in batch]
            for found in await concurrently(bodies):
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

    def refusal(self, call: PlannedCall) -> Outcome | None:
        """Return what the model is told of a call that may not be made."""
        decision = self.decision(call)
        return _refusal(decision) or _of_other_arguments(decision, call)

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
    errand: Errand | None

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
                exhausted=lambda error: self._result(self._what_failed(error, attempts)),
            ),
        )
        return await self.toolset.drafts.result(recorded, self.planned.id)

    async def _body(self, step: StepContext) -> StepResult:
        outcome = self.toolset.refusal(self.planned)
        if outcome is not None:
            return self._result(outcome)
        edited = _edited(self.toolset.decision(self.planned))
        if self.errand is not None:
            outcome = self.errand.outcome
        outcome = outcome or await self._perform(step, edited)
        return self._result(replace(outcome, edited_input=edited))

    def _what_failed(self, error: Exception, attempts: int) -> Outcome:
        name = self.planned.call.tool_name
        tool = self.toolset.tools.get(name)
        if isinstance(error, StepTimedOut) and tool is not None and tool.options.timeout:
            return what_took_too_long(name, tool.options.timeout, attempts)
        return what_failed(name, error, attempts)

    async def _perform(self, step: StepContext, edited: dict[str, Json] | None) -> Outcome:
        call = self.planned.call
        tool = self.toolset.tools.get(call.tool_name)
        if not isinstance(tool, Tool):  # it was offered, and is gone since a deploy
            end = self.toolset.run.recorded(child_fact(self.planned.id))
            if end is not MISSING:
                return outcome_of_child(end, call.tool_name)
            return failed(unknown_tool(call.tool_name, self.toolset.tools))
        try:
            with contained(tool.name):
                arguments = tool.parameters.validate(call.args if edited is None else edited)
                returned = await tool.call(self._context(step), arguments)
                return outcome_of(returned, tool.name)
        except (ToolError, ClientFault, ModelRetry, ToolFailed) as error:
            return failed(error.message)
        except ArgumentsRefused as error:
            return failed(f"The arguments of {tool.name} do not fit. {error}")
        except (ApprovalRequired, CallDeferred):
            log.exception("%s asks from inside; declare needs_approval on the tool", tool.name)
            return failed(
                f"{tool.name} cannot wait for an approval from inside, so it did not run."
            )
        except BrokeOut as error:
            return failed(f"{error.message}.")

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
            state=StepState(run, step.name, self.turn),
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


def _is_ready(errand: Errand | None) -> bool:
    """Whether a call's result can be made now."""
    return errand is None or errand.outcome is not None


def standing_part(planned: PlannedCall) -> Part:
    """Return the result of a call that the gate did not let through, or that was the answer."""
    is_taken = planned.gate is Gate.TAKEN
    outcome = Outcome("Taken.") if is_taken else failed(planned.passage.reason)
    return outcome.part(planned.id, planned.call.tool_name)


def _expiry(planned: PlannedCall) -> Sequence[NewTimer]:
    """Return the timer that decides when nobody has, if there is one."""
    after = planned.passage.rules.expires_after
    return () if after is None else (NewTimer(expiry_fact(planned.id), after),)


def _edited(decision: Json) -> dict[str, Json] | None:
    """Return the arguments that a person put in place of the model's."""
    edited = decision.get("input") if isinstance(decision, dict) else None
    return edited if isinstance(edited, dict) else None


def _refusal(decision: Json) -> Outcome | None:
    """Return what the model is told of a call that was refused."""
    if not isinstance(decision, dict) or decision.get("decision") != Decision.DENIED.value:
        return None
    reason = decision.get("reason")
    said = f" Reason: {reason}" if reason else ""
    return failed(f"The call was not approved, so it did not run.{said}")


def _of_other_arguments(decision: Json, planned: PlannedCall) -> Outcome | None:
    """Return what the model is told if a person approved other arguments than the call has."""
    shown = decision.get("shown") if isinstance(decision, dict) else None
    if shown is None or shown == input_hash(decode(encode(input_of(planned.call)))):
        return None
    name = planned.call.tool_name
    log.error("%s does not run: other arguments were approved than call %s has", name, planned.id)
    return failed(f"{name} did not run: other arguments were approved than the call has.")
