"""A local server that speaks the wire formats of two providers, faults included.

``/v1/chat/completions`` is OpenAI's Chat Completions, ``/v1/messages`` Anthropic's
Messages, both streaming and not.  It plays one script: the n-th request gets the
n-th answer, whatever it asks.  Every request body is kept.

Source: the providers' public API references (streaming sections), 2026.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from pydantic_ai.models import Model, override_allow_model_requests
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.running_uvicorn import running_uvicorn


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call; ``arguments`` is sent as it is, well-formed or not."""

    name: str
    arguments: str
    id: str


@dataclass(frozen=True, slots=True)
class Answers:
    """A good answer.

    Attributes:
        broken_off: the connection is dropped after the words, before the end.
        stream_error: an error event inside the stream, after the words.
        silent_after: after so many events nothing more comes, until the caller hangs up;
            0: not even the headers.
    """

    text: str = ""
    calls: Sequence[Called] = ()
    broken_off: bool = False
    stream_error: Mapping[str, Any] | None = None
    silent_after: int | None = None


@dataclass(frozen=True, slots=True)
class Refuses:
    """An HTTP error."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ProviderServer:
    """A running server; its ``url`` has no path.

    ``silent`` is set when an answer falls silent, ``hung_up`` when its caller has hung up.
    """

    url: str
    script: list[Answers | Refuses]
    requests: list[dict[str, Any]] = field(default_factory=list)
    silent: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    def next(self, body: dict[str, Any]) -> Answers | Refuses:
        """Note a request and return what answers it; the last answer is repeated."""
        self.requests.append(body)
        return self.script[min(len(self.requests), len(self.script)) - 1]

    async def fall_silent(self, request: Request) -> None:
        """Say nothing until the caller hangs up."""
        self.silent.set()
        try:
            while (await request.receive())["type"] != "http.disconnect":
                pass
        finally:
            self.hung_up.set()


@asynccontextmanager
async def provider_server(*script: Answers | Refuses) -> AsyncIterator[ProviderServer]:
    """Serve the script on a free port of this machine."""
    server = ProviderServer("", list(script))

    async def openai(request: Request) -> Response:
        return await _serve(server, request, _openai_events, _openai_whole)

    async def anthropic(request: Request) -> Response:
        return await _serve(server, request, _anthropic_events, _anthropic_whole)

    app = Starlette(
        routes=[
            Route("/v1/chat/completions", openai, methods=["POST"]),
            Route("/v1/messages", anthropic, methods=["POST"]),
        ]
    )
    async with running_uvicorn(app, ws="none") as (_, where):
        server.url = f"http://{where}"
        yield server


@asynccontextmanager
async def serving(
    provider: str, *script: Answers | Refuses
) -> AsyncIterator[tuple[Model, ProviderServer]]:
    """Serve the script, and give a model that reaches it through the provider's own client."""
    async with provider_server(*script) as server, a_model(provider, server.url) as model:
        yield model, server


@asynccontextmanager
async def a_model(provider: str, url: str) -> AsyncIterator[Model]:
    """Give a model that reaches ``url`` through the provider's own client."""
    async with httpx2.AsyncClient() as client:
        model: Model
        if provider == "openai":
            openai = OpenAIProvider(f"{url}/v1", api_key="k", http_client=client)
            model = OpenAIChatModel("gpt-test", provider=openai)
        else:
            anthropic = AnthropicProvider(api_key="k", base_url=url, http_client=client)
            model = AnthropicModel("claude-test", provider=anthropic)
        with override_allow_model_requests(allow_model_requests=True):
            yield model


async def _serve(server: ProviderServer, request: Request, events: Any, whole: Any) -> Response:  # noqa: ANN401  # a pair of writers
    body = await request.json()
    answer = server.next(body)
    if isinstance(answer, Refuses):
        return JSONResponse(dict(answer.body), answer.status, dict(answer.headers))
    if answer.silent_after == 0:
        await server.fall_silent(request)
    if not body.get("stream"):
        return JSONResponse(whole(answer))
    sent = _sent(server, request, answer, events(answer))
    return StreamingResponse(sent, media_type="text/event-stream")


async def _sent(
    server: ProviderServer, request: Request, answer: Answers, events: Iterator[str]
) -> AsyncIterator[str]:
    for number, event in enumerate(events, start=1):
        yield event
        await asyncio.sleep(0)
        if number == answer.silent_after:
            await server.fall_silent(request)
            return
    if answer.broken_off:
        raise ConnectionResetError("dropped by the script")


def _pieces(text: str) -> list[str]:
    return re.findall(r"\s*\S+", text)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


# ---- OpenAI ----


def _openai_events(answer: Answers) -> Iterator[str]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: object) -> str:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
        return _data(_OPENAI | {"object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.text):
        yield chunk({"content": piece})
    if answer.stream_error is not None:
        yield _data({"error": dict(answer.stream_error)})
        return
    if answer.broken_off:
        return
    for index, call in enumerate(answer.calls):
        first, second = _halves(call.arguments)
        function = {"name": call.name, "arguments": first}
        head = {"index": index, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [head]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    yield chunk({}, "tool_calls" if answer.calls else "stop")
    yield _data(
        _OPENAI | {"object": "chat.completion.chunk", "choices": [], "usage": _OPENAI_USAGE}
    )
    yield "data: [DONE]\n\n"


def _openai_whole(answer: Answers) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": answer.text or None,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in answer.calls
        ]
        or None,
    }
    finish = "tool_calls" if answer.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return _OPENAI | {"object": "chat.completion", "choices": [choice], "usage": _OPENAI_USAGE}


_OPENAI = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": "gpt-test"}
_OPENAI_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _data(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body)}\n\n"


# ---- Anthropic ----


def _anthropic_events(answer: Answers) -> Iterator[str]:
    def event(kind: str, **body: object) -> str:
        return f"event: {kind}\n{_data({'type': kind, **body})}"

    def delta(index: int, **body: object) -> str:
        return event("content_block_delta", index=index, delta=body)

    yield event("message_start", message=_anthropic_message([], None))
    index = 0
    if answer.text:
        empty = {"type": "text", "text": ""}
        yield event("content_block_start", index=index, content_block=empty)
        for piece in _pieces(answer.text):
            yield delta(index, type="text_delta", text=piece)
        if answer.stream_error is None and not answer.broken_off:
            yield event("content_block_stop", index=index)
        index += 1
    if answer.stream_error is not None:
        yield event("error", error=dict(answer.stream_error))
        return
    if answer.broken_off:
        return
    for call in answer.calls:
        block: dict[str, object] = {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": {},
        }
        yield event("content_block_start", index=index, content_block=block)
        for half in _halves(call.arguments):
            yield delta(index, type="input_json_delta", partial_json=half)
        yield event("content_block_stop", index=index)
        index += 1
    ending = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": 7})
    yield event("message_stop")


def _anthropic_whole(answer: Answers) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        given = json.loads(call.arguments)
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    return _anthropic_message(content, "tool_use" if answer.calls else "end_turn")


def _anthropic_message(content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }
