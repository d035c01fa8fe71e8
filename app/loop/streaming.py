"""One model request, its words handed on as they come.

The first piece of a part is in its start, not in a delta.  Handing on never waits
and never raises, so a slow screen or an absent Redis does not slow the model (B53).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.settings import ModelSettings

from app.domain.ports import TokenStream
from app.loop.parts import usage_of

SETTINGS: Final = ModelSettings(
    max_retries=0,  # the step tries again, so the provider's SDK must not
    request_timeout=1800.0,  # a long answer takes minutes; the SDK's own limit ends a silent one
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked."""

    model: Model
    messages: Sequence[ModelMessage]
    parameters: ModelRequestParameters

    @property
    def prepared(self) -> list[ModelMessage]:
        """The messages in the form that this model's provider takes.

        A scripted model has no provider; preparing for none would cost a pass over the
        whole history on every turn.
        """
        if isinstance(self.model, FunctionModel):
            return list(self.messages)
        return self.model.prepare_messages(list(self.messages), self.parameters)


async def ask(request: Request) -> ModelResponse:
    """Return the answer in one piece."""
    if isinstance(request.model, FunctionModel) and request.model.function is None:
        return await _streamed(request, None)
    return await model_request(
        request.model,
        request.prepared,
        model_settings=SETTINGS,
        model_request_parameters=request.parameters,
    )


async def ask_streaming(request: Request, tokens: TokenStream) -> ModelResponse:
    """Return the answer, its words handed to ``tokens`` as they come."""
    if isinstance(request.model, FunctionModel) and request.model.stream_function is None:
        return await ask(request)
    try:
        return await _streamed(request, tokens)
    finally:
        await tokens.close()


async def _streamed(request: Request, tokens: TokenStream | None) -> ModelResponse:
    async with model_request_stream(
        request.model,
        request.prepared,
        model_settings=SETTINGS,
        model_request_parameters=request.parameters,
    ) as stream:
        if tokens is not None:
            tokens.costs(lambda: usage_of(stream.usage))
        async for event in stream:
            if tokens is not None:
                hand_on(event, tokens)
        return stream.get()


def hand_on(event: ModelResponseStreamEvent, tokens: TokenStream) -> None:
    """Give the text in an event to the stream, if there is any."""
    match event:
        case PartStartEvent(index=part, part=TextPart(content=text)):
            _add(tokens, part, "text", text)
        case PartDeltaEvent(index=part, delta=TextPartDelta(content_delta=text)):
            _add(tokens, part, "text", text)
        case PartStartEvent(index=part, part=ThinkingPart(content=text)):
            _add(tokens, part, "thinking", text)
        case PartDeltaEvent(index=part, delta=ThinkingPartDelta(content_delta=text)):
            _add(tokens, part, "thinking", text)
        case PartStartEvent(index=part, part=ToolCallPart(args=text)):
            _add(tokens, part, "tool_args", text)
        case PartDeltaEvent(index=part, delta=ToolCallPartDelta(args_delta=text)):
            _add(tokens, part, "tool_args", text)
        case _:
            pass


def _add(tokens: TokenStream, part: int, kind: str, text: object) -> None:
    if isinstance(text, str) and text:
        tokens.add(part, kind, text)
