"""One turn: ask the model, and say what its record holds.

The record of ``llm:turn:N`` is whole: the answer, one result row per call in call
order, what the gate said, the approvals to ask for, and the new sums of usage.  No
tool starts before it is stored, and nothing has to be decided again after it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
from pydantic_ai.messages import InstructionPart, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from app.authoring.contained import contained
from app.authoring.tools import Offer
from app.domain.message import (
    MessageStatus,
    Role,
    assistant_key,
    feedback_key,
    open_result_part,
    result_key,
    text_part,
)
from app.domain.record import NewApproval, NewMessage, Writes
from app.domain.run import Usage
from app.domain.storable import encode
from app.engine.durable_run import DurableRun
from app.engine.steps import MISSING, StepContext, StepPolicy, StepResult
from app.loop.answering import Answering, Verdict
from app.loop.call_ids import with_unique_ids
from app.loop.drafts import Drafts
from app.loop.gate import STANDING, Gate, passage
from app.loop.history import History
from app.loop.parts import (
    input_of,
    parts_of,
    response_from_text,
    response_to_text,
    usage_of,
)
from app.loop.planned import PlannedCall, RecordedTurn, turn_step
from app.loop.streaming import Request, ask, ask_streaming
from app.loop.toolset import standing_part
from app.loop.unstable import report_unstable
from app.models.failures import EmptyAnswer, ModelFailed, delay_after, understand

log = logging.getLogger(__name__)

_TRIES_PER_EPOCH: Final = 100


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn whose answer is recorded."""

    response: ModelResponse
    calls: list[PlannedCall]
    feedback: str | None = None
    """What the model is told about its answer, if that has to be given again."""
    output: str | None = None
    """JSON of the answer, where a form was asked for and this has it."""

    @property
    def is_last(self) -> bool:
        """Whether the model has said what it had to say."""
        return self.output is not None or not (self.calls or self.feedback)


@dataclass(slots=True)
class Turns:
    """Takes the turns of one drive.

    Attributes:
        run_usage: the run's sum so far; ``thread_usage`` the thread's.
        always_ask: whether every call waits for a person.
        answering: the form that the answer has to have, if any.
    """

    run: DurableRun
    model: Model
    instructions: str
    tools: Mapping[str, Offer]
    history: History
    drafts: Drafts
    run_usage: Usage
    thread_usage: Usage
    streaming: bool
    always_ask: bool
    answering: Answering | None = None
    _misses: int = field(default=0, init=False)

    async def take(self, turn: int) -> Turn:
        """Return the turn's answer, from the record or from the model.

        Raises:
            ModelFailed: the request failed for good.
        """
        is_new = False

        async def body(step: StepContext) -> StepResult:
            nonlocal is_new
            is_new = True
            response = await self._asked(turn, step)
            return await self._record(turn, with_unique_ids(response, self.history.call_ids))

        value = await self.run.step(turn_step(turn), body, turn=turn, policy=_POLICY)
        recorded = RecordedTurn.from_json(value)
        # A retried run resumes behind its row, which counts what was cut off after this turn.
        if recorded.run_usage.requests > self.run_usage.requests:
            self.run_usage, self.thread_usage = recorded.run_usage, recorded.thread_usage
        self._misses = recorded.misses
        response = response_from_text(await self.drafts.answer(recorded.message))
        calls = recorded.calls_of(response)
        if not (is_new or self.always_ask):
            left = [each for each in calls if self.run.recorded(each.step) is MISSING]
            await report_unstable(left, self.tools)
        return Turn(response, calls, recorded.feedback, self._output(response, recorded))

    def _output(self, response: ModelResponse, recorded: RecordedTurn) -> str | None:
        """Return the answer in the form that was asked for, if this is one."""
        gates = {each.gate for each in recorded.passages.values()}
        is_answer = Gate.TAKEN in gates if response.tool_calls else recorded.feedback is None
        if self.answering is None or not is_answer:
            return None
        return self.answering.answer(response, recorded.passages)

    async def _asked(self, turn: int, step: StepContext) -> ModelResponse:
        """Return a sound answer.

        Raises:
            ModelFailed: whatever went wrong, understood.
        """
        try:
            with contained("the model"):
                response = await self._requested(turn, step)
            _require_sound(response, is_first=step.attempt == 1)
            if self.answering is not None:
                self.answering.require_fit(response, self._misses)
        except Exception as error:
            log.warning("turn %d: %s", turn, understand(error).message)
            raise ModelFailed.after(error) from error
        return response

    async def _requested(self, turn: int, step: StepContext) -> ModelResponse:
        request = Request(self.model, self.history.to_send(), self._parameters())
        if not self.streaming:
            return await ask(request)
        attempt = step.fence.epoch * _TRIES_PER_EPOCH + min(step.attempt, _TRIES_PER_EPOCH - 1)
        tokens = self.run.tokens.open(step.fence, turn, attempt, self.run.version)
        return await ask_streaming(request, tokens)

    def _parameters(self) -> ModelRequestParameters:
        prompt = [InstructionPart(content=self.instructions)] if self.instructions else []
        parameters = ModelRequestParameters(
            instruction_parts=prompt,
            function_tools=[
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters.schema),
                    sequential=tool.options.sequential,
                )
                for tool in self.tools.values()
            ],
        )
        return parameters if self.answering is None else self.answering.asked(parameters)

    async def _record(self, turn: int, response: ModelResponse) -> StepResult:
        message_id = self.run.ids.new()
        model = response_to_text(response)
        verdict = Verdict() if self.answering is None else self.answering.judge(response)
        passages = {
            call.tool_call_id: verdict.passages.get(call.tool_call_id)
            or await passage(call, self.tools, always_ask=self.always_ask)
            for call in response.tool_calls
        }
        spent = usage_of(response.usage)
        recorded = RecordedTurn(
            message=message_id,
            passages=passages,
            tools=tuple(self.tools),
            run_usage=self.run_usage + spent,
            thread_usage=self.thread_usage + spent,
            feedback=verdict.feedback,
            misses=self._misses + (verdict.wrong is not None),
        )
        answer = NewMessage(
            id=message_id,
            key=assistant_key(self.run.run.id, turn),
            role=Role.ASSISTANT,
            status=MessageStatus.COMPLETE,
            parts=encode(parts_of(response)),
            turn=turn,
            model=model,
            model_name=response.model_name,
            usage=encode(spent.to_json()),
        )
        calls = recorded.calls_of(response)
        self.drafts.keep_answer(message_id, model)
        return StepResult(
            recorded.to_json(),
            Writes(
                messages=(
                    answer,
                    *(self._result_row(turn, call) for call in calls),
                    *self._feedback_rows(turn, verdict),
                ),
                approvals=tuple(self._approval(call) for call in calls if call.gate is Gate.ASK),
                turn=turn,
                run_usage=recorded.run_usage,
                thread_usage=recorded.thread_usage,
            ),
        )

    def _result_row(self, turn: int, planned: PlannedCall) -> NewMessage:
        stands = planned.gate in STANDING
        part = (
            standing_part(planned)
            if stands
            else open_result_part(planned.id, planned.call.tool_name)
        )
        return NewMessage(
            id=self.run.ids.new(),
            key=result_key(self.run.run.id, turn, planned.index),
            role=Role.TOOL,
            status=MessageStatus.COMPLETE if stands else MessageStatus.OPEN,
            parts=encode([part]),
            turn=turn,
        )

    def _feedback_rows(self, turn: int, verdict: Verdict) -> Sequence[NewMessage]:
        if verdict.feedback is None:
            return ()
        row = NewMessage(
            id=self.run.ids.new(),
            key=feedback_key(self.run.run.id, turn),
            role=Role.SYSTEM,
            status=MessageStatus.COMPLETE,
            parts=encode([text_part(verdict.feedback)]),
            turn=turn,
        )
        return (row,)

    def _approval(self, planned: PlannedCall) -> NewApproval:
        return NewApproval(
            id=self.run.ids.new(),
            tool_call_id=planned.id,
            name=planned.call.tool_name,
            input=encode(input_of(planned.call)),
            rules=encode(planned.passage.rules.to_json()),
        )


def _require_sound(response: ModelResponse, *, is_first: bool) -> None:
    """Refuse an answer that is none.

    An empty one is asked for once more; some models end like that after a tool, so the
    second is taken for what it is.
    """
    if response.state == "suspended":
        raise UnexpectedModelBehavior("the provider answers in the background")
    if not response.parts and response.finish_reason == "content_filter":
        raise ContentFilterError("nothing of the answer was let through")
    if is_first and not parts_of(response):
        raise EmptyAnswer


def _after_a_failed_request(error: Exception, attempt: int, jitter: float) -> timedelta | None:
    """Try again what failed at the provider; a fault of our own would only repeat itself."""
    return delay_after(error, attempt, jitter) if isinstance(error, ModelFailed) else None


_POLICY: Final = StepPolicy(delay_after=_after_a_failed_request, releasable=True)
