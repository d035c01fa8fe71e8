"""A model whose every answer a test writes down beforehand.

The answer is chosen by how many answers the history holds, so a resumed run gets
the one that the run which was cut off would have got.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)


@dataclass(frozen=True, slots=True)
class Asks:
    """A call.  ``arguments`` as text is sent as it is, well-formed or not."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    id: str = "call_1"

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Says:
    """One answer.

    Attributes:
        error: raised after the words, instead of an end.
        failures: how many requests end with ``error``; the next one gets the whole answer.
        gate: an event to wait for before the last word.
    """

    text: str = ""
    calls: Sequence[Asks] = ()
    thinking: str = ""
    error: BaseException | None = None
    failures: int = 1_000
    gate: asyncio.Event | None = None


class ScriptedModel(FunctionModel):
    """Plays answers in order; ``requests`` keeps what each request held.

    ``asked`` is set from the first request on.
    """

    def __init__(self, *answers: Says | str) -> None:
        self._answers = [Says(answer) if isinstance(answer, str) else answer for answer in answers]
        self._failed: dict[int, int] = {}
        self.requests: list[list[ModelMessage]] = []
        self.offers: list[AgentInfo] = []
        self.asked = asyncio.Event()
        super().__init__(self._whole, stream_function=self._stream, model_name="scripted")

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> tuple[Says, bool]:
        self.asked.set()
        self.requests.append(list(messages))
        self.offers.append(info)
        place = sum(isinstance(message, ModelResponse) for message in messages)
        answer = self._answers[min(place, len(self._answers) - 1)]
        fails = answer.error is not None and self._failed.get(place, 0) < answer.failures
        self._failed[place] = self._failed.get(place, 0) + fails
        return answer, fails

    async def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer, fails = self._next(messages, info)
        if answer.gate is not None:
            await answer.gate.wait()
        if fails and answer.error is not None:
            raise answer.error
        return ModelResponse(
            parts=[
                *([ThinkingPart(answer.thinking)] if answer.thinking else []),
                *([TextPart(answer.text)] if answer.text else []),
                *(ToolCallPart(call.name, call.json, call.id) for call in answer.calls),
            ]
        )

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        answer, fails = self._next(messages, info)
        if answer.thinking:
            yield {0: DeltaThinkingPart(content=answer.thinking)}
        words = re.findall(r"\s*\S+", answer.text) or [""]
        for word in words[:-1]:
            yield word
        if answer.gate is not None:
            await answer.gate.wait()
        yield words[-1]
        if fails and answer.error is not None:
            raise answer.error
        for index, call in enumerate(answer.calls, start=2):
            yield {index: DeltaToolCall(call.name, "", tool_call_id=call.id)}
            yield {index: DeltaToolCall(json_args=call.json)}
