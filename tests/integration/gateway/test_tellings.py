"""A run in another protocol's words is as bounded, as private and as exact as any stream."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import quote

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.dialects.ai_sdk import UIMessageStream
from app.dialects.ui_messages import ui_messages
from app.domain.errors import StoreUnavailable
from app.domain.identity import ANONYMOUS
from app.gateway.asgi import GatewayOptions
from app.gateway.session_state import Limits
from app.threads.views import message_view
from tests.support.gateway_server import GatewayServer, gateway_server
from tests.support.told_runs import ChatClient
from tests.support.wait_until import wait_until


class _Told(Response):
    def __init__(self, answer: ASGIApp) -> None:
        super().__init__()
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)


@asynccontextmanager
async def telling_server(options: GatewayOptions | None = None) -> AsyncIterator[GatewayServer]:
    """Serve a gateway whose threads' runs are told at ``/told/KEY/RUN``."""
    async with gateway_server(options) as served:

        async def tell(request: Request) -> Response:
            thread = served.threads.thread(request.path_params["key"])
            telling = UIMessageStream(request.path_params["run"])
            token = request.headers.get("authorization", "").removeprefix("Bearer ") or None
            caller = await served.people(token) if token else ANONYMOUS
            retold = served.gateway.retellings(telling, telling.begin(), thread, caller, token)
            return _Told(retold)

        served.app.router.routes.append(Route("/told/{key}/{run}", tell))
        yield served


@pytest.fixture
async def served() -> AsyncIterator[GatewayServer]:
    async with telling_server() as made:
        yield made


class Reader:
    """Somebody who reads a run."""

    def __init__(self, served: GatewayServer, run: str, token: str | None = None) -> None:
        base = served.url.replace("ws://", "http://").removesuffix("/ws")
        self.url = f"{base}/told/t/{quote(run)}"
        self.headers = {"authorization": f"Bearer {token}"} if token else {}
        self.body = bytearray()
        self.is_ended = False

    @property
    def client(self) -> ChatClient:
        """Return what ``useChat`` makes of what was read."""
        made = ChatClient()
        made.take(bytes(self.body[: self.body.rfind(b"\n\n") + 2]))
        return made

    @property
    def text(self) -> str:
        return "".join(part["text"] for part in self.client.parts if part["type"] == "text")

    async def read(self) -> None:
        async with (
            httpx2.AsyncClient(timeout=None, trust_env=False) as http,
            http.stream("GET", self.url, headers=self.headers) as answer,
        ):
            async for chunk in answer.aiter_bytes():
                self.body += chunk
        self.is_ended = True


@asynccontextmanager
async def reading(
    served: GatewayServer, run: str, token: str | None = None
) -> AsyncIterator[Reader]:
    """Read until the end of the block."""
    reader = Reader(served, run, token)
    task = asyncio.create_task(reader.read(), name="reader of a run")
    try:
        yield reader
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def speaking(served: GatewayServer, run: str, words: str) -> None:
    """Let the model say something that is heard."""
    await wait_until(lambda: served.tokens.watched, description="tokens are heard")
    served.tokens.say(served.threads.thread("t").id, run, words)


async def test_words_rows_and_the_end_are_told_as_they_come(served: GatewayServer) -> None:
    run = served.threads.start("t", "one")
    async with reading(served, run) as reader:
        await speaking(served, run, "tw")
        await wait_until(lambda: reader.text == "tw", description="live text")
        served.threads.say("t", "two")
        await wait_until(lambda: reader.text == "two", description="the rest of it")
        assert not reader.is_ended
        served.threads.finish("t")
        await wait_until(lambda: reader.is_ended, description="the end")

    assert reader.body.endswith(b"data: [DONE]\n\n")
    assert reader.client.last["type"] == "finish"
    await wait_until(lambda: len(served.gateway.streams) == 0, description="it is forgotten")


async def test_a_run_that_is_over_is_told_and_ends(served: GatewayServer) -> None:
    run = served.threads.start("t", "one")
    served.threads.say("t", "two")
    served.threads.finish("t")
    served.threads.start("t", "three")

    async with reading(served, run) as reader:
        await wait_until(lambda: reader.is_ended, description="the end")

    assert (reader.text, reader.client.last["type"]) == ("two", "finish")


async def test_who_goes_away_is_forgotten_and_the_run_goes_on(served: GatewayServer) -> None:
    run = served.threads.start("t", "one")
    async with reading(served, run) as reader:
        await wait_until(lambda: reader.body, description="the beginning")
        assert (len(served.gateway.streams), served.metric("feeds")) == (1, 1)

    await wait_until(lambda: len(served.gateway.streams) == 0, description="it is forgotten")
    assert served.metric("feeds") == 0
    assert served.threads.thread("t").live_run == run


async def test_a_server_that_leaves_says_that_the_telling_broke_off() -> None:
    async with telling_server() as served:
        run = served.threads.start("t", "one")
        async with reading(served, run) as reader:
            await speaking(served, run, "tw")
            await wait_until(lambda: reader.text == "tw", description="live text")
            await served.gateway.drain()
            await wait_until(lambda: reader.is_ended, description="the end")
        async with reading(served, run) as late:
            await wait_until(lambda: late.is_ended, description="an answer")

        for each in (reader, late):
            assert each.client.last == {"type": "error", "errorText": "the server is going away"}


@pytest.mark.req("ACC-01")
async def test_b65_a_token_that_is_revoked_ends_its_telling(served: GatewayServer) -> None:
    run = served.threads.start("t", "one", owner="ann")
    async with reading(served, run, "ann") as reader:
        await speaking(served, run, "tw")
        await wait_until(lambda: reader.text == "tw", description="live text")
        served.people.revoked.add("ann")
        served.sweep_after(served.gateway.limits.recheck_s + 1)
        await wait_until(lambda: reader.is_ended, description="the end")

    assert reader.client.last == {"type": "error", "errorText": "the token ran out"}


@pytest.mark.req("ACC-01")
async def test_a_thread_of_somebody_else_is_told_to_nobody(served: GatewayServer) -> None:
    run = served.threads.start("t", "a secret", owner="ann")
    served.threads.say("t", "another secret")
    async with reading(served, run, "ben") as reader:
        await wait_until(lambda: reader.is_ended, description="the end")

    assert b"secret" not in reader.body
    assert reader.client.last["type"] == "error"


async def test_without_a_store_at_the_end_the_telling_breaks_off(
    served: GatewayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(run_id: str) -> None:
        raise StoreUnavailable(f"no {run_id} just now")

    run = served.threads.start("t", "one")
    async with reading(served, run) as reader:
        await speaking(served, run, "tw")
        await wait_until(lambda: reader.text == "tw", description="live text")
        monkeypatch.setattr(served.reader, "run", away)
        served.threads.finish("t")
        await wait_until(lambda: reader.is_ended, description="the end")

    assert reader.client.last["type"] == "error"


async def test_who_takes_the_end_has_the_whole_response(
    served: GatewayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gateway.queued_wire._LAST_WORDS_S", 0.0)
    run = served.threads.start("t", "one")
    served.threads.finish("t")
    sent: list[Message] = []

    async def send(message: Message) -> None:
        if sent and b"[DONE]" in sent[-1].get("body", b""):
            await asyncio.Event().wait()  # the socket is full: its reader is slow
        sent.append(message)

    telling, thread = UIMessageStream(run), served.threads.thread("t")
    answer = served.gateway.retellings(telling, telling.begin(), thread, ANONYMOUS, None)
    silence: asyncio.Queue[Message] = asyncio.Queue()
    await answer({}, silence.get, send)

    assert sent[-1]["body"].endswith(b"data: [DONE]\n\n")
    assert not sent[-1].get("more_body")


async def test_silence_is_broken_by_comments() -> None:
    async with telling_server(GatewayOptions(limits=Limits(heartbeat_s=0.05))) as served:
        run = served.threads.start("t", "one")
        async with reading(served, run) as reader:
            await wait_until(lambda: reader.body.count(b"\n:\n") >= 3, description="heartbeats")


@pytest.mark.req("IMP-04")
async def test_b64_who_reads_slowly_is_bounded_and_has_all_of_it_at_the_end() -> None:
    async with telling_server(GatewayOptions(slow_s=3600, sweep_s=3600)) as served:
        run = served.threads.start("t", "one")
        host, _, port = served.url.removeprefix("ws://").removesuffix("/ws").partition(":")
        slow = socket.create_connection((host, int(port)))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        asks = f"GET /told/t/{run} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        slow.sendall(asks.encode())
        await wait_until(lambda: len(served.gateway.streams) == 1, description="a telling")
        await speaking(served, run, "w")
        async with reading(served, run) as quick:
            for turn in range(160):  # the first half fills what lies between, the rest is missed
                served.threads.say("t", f"{turn} " + "x" * (120_000 if turn < 90 else 1), turn=turn)
                begun = f'"{turn} x'.encode()
                await wait_until(
                    lambda: begun in quick.body[-(1 << 18) :],  # noqa: B023
                    description="the turn",
                )
            assert served.gateway._behind
            catching_up = asyncio.create_task(asyncio.to_thread(all_of, slow))
            await wait_until(lambda: not served.gateway._behind, description="it catches up")
            served.threads.finish("t")
            await wait_until(lambda: quick.is_ended, description="the end, for the quick one")
            body = await catching_up

    told = ChatClient()
    told.take(unchunked(body))
    thread = served.threads.thread("t")
    rows = [message_view(row) for row in served.threads.database.messages[thread.id]]
    _, loaded = ui_messages(rows, {})
    assert told.last["type"] == "finish"
    assert told.parts == loaded["parts"]
    assert served.metric("slow_readers_total", outcome="snapshot") >= 1


def all_of(connection: socket.socket) -> bytes:
    """Return the body of a response, as it came."""
    with connection, connection.makefile("rb") as file:
        return file.read().partition(b"\r\n\r\n")[2]


def unchunked(body: bytes) -> bytes:
    """Return what was sent in chunks (RFC 9112, 7.1)."""
    pieces, place = [], 0
    while (end := body.index(b"\r\n", place)) and (size := int(body[place:end], 16)):
        pieces.append(body[end + 2 : end + 2 + size])
        place = end + 2 + size + 2
    return b"".join(pieces)
