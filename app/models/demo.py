"""The built-in model that needs no provider: it plays ``app.models.demo_script`` word by word.

It goes through everything that a real one does (streaming, tool calls, usage), so
that a newcomer sees the product before he has a key, and tests have a model whose
next word they know.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

from app.models.demo_conversation import Conversation
from app.models.demo_intents import DemoCall
from app.models.demo_output import sample
from app.models.demo_script import Reply, reply

DEMO: Final = "demo"
_WORD = re.compile(r"\s*\S+\s*")
_THINKING, _FIRST_CALL = 0, 2


def demo_model(model_id: str, delay: timedelta) -> FunctionModel:
    """Return the scripted model, which waits ``delay`` before each word."""
    pause_s = delay.total_seconds()

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = _reply(messages, info)
        return ModelResponse(
            parts=[
                *([ThinkingPart(said.thinking)] if said.thinking else []),
                *([TextPart(said.text)] if said.text else []),
                *(
                    ToolCallPart(call.name, json.dumps(call.arguments), call_id)
                    for call_id, call in said.calls.items()
                ),
            ]
        )

    async def stream(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        said = _reply(messages, info)
        for word in _WORD.findall(said.thinking):
            await asyncio.sleep(pause_s)
            yield {_THINKING: DeltaThinkingPart(content=word)}
        for word in _WORD.findall(said.text):
            await asyncio.sleep(pause_s)
            yield word
        for index, (call_id, call) in enumerate(said.calls.items(), start=_FIRST_CALL):
            await asyncio.sleep(pause_s)
            yield {index: DeltaToolCall(call.name, "", tool_call_id=call_id)}
            for piece in _WORD.findall(json.dumps(call.arguments)):
                await asyncio.sleep(pause_s)
                yield {index: DeltaToolCall(json_args=piece)}

    return FunctionModel(answer, stream_function=stream, model_name=model_id)


def _reply(messages: list[ModelMessage], info: AgentInfo) -> Reply:
    talk = Conversation.of(messages)
    said = reply(talk, {tool.name for tool in info.function_tools})
    if said.calls or not info.output_tools:
        return said
    form = info.output_tools[0]
    answer = DemoCall(form.name, sample(form.parameters_json_schema, said.text))
    return Reply(calls={f"demo_{talk.calls_so_far + 1}": answer}, thinking=said.thinking)
