"""The servers that ``benchmarks.fanout`` measures, each in a process of its own.

All of them take sockets at ``/ws`` and, when one of them sends ``publish``, send one text
frame of the same size to every socket.  Ropewalk does its whole work on the way: the
change is hinted, read, encoded and written as a delta; only Postgres is left out.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Collection, Mapping

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.server import ServerConnection, broadcast, serve

from app.domain.errors import NotFound
from app.domain.identity import ANONYMOUS, Identity
from app.domain.storable import Json
from app.domain.tables import Keys
from app.gateway.asgi import Gateway
from app.gateway.frames import UVICORN_OPTIONS, FramesProtocol
from app.telemetry.metrics import Metrics
from app.testing.world import HandClock
from tests.support.fake_tokens import FakeTokens
from tests.support.memory_threads import MemoryThreads

KEY = "fanout"


class _Publish:
    """One function: store a message."""

    def __init__(self, threads: MemoryThreads, size: int) -> None:
        self._threads = threads
        self._text = "x" * size
        self._turn = 0

    async def call(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, dedupe: str | None
    ) -> Json:
        del ref, args, caller, dedupe
        self._turn += 1
        self._threads.say(KEY, self._text, turn=self._turn)
        return None

    def may_write(self, ref: str) -> bool:
        return True

    async def read(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, reads: dict[str, Keys]
    ) -> Json:
        del args, caller, reads
        raise NotFound(f"no function {ref!r}")


async def ropewalk(listening: socket.socket, size: int) -> None:
    """Serve the gateway; ``size`` is of the message's text."""

    async def nobody(token: str | None) -> Identity:
        del token
        return ANONYMOUS

    async def no_writes(tables: Collection[str]) -> Mapping[str, int]:
        del tables
        return {}

    threads = MemoryThreads()
    threads.start(KEY, "go")
    gateway = Gateway(
        reader=threads.reader,
        functions=_Publish(threads, size),
        count_writes=no_writes,
        authenticate=nobody,
        token_source=FakeTokens().connect,
        clock=HandClock(),
        metrics=Metrics(),
    )
    threads.on_hint = gateway.on_hint
    await gateway.start()
    await _uvicorn(WebSocketRoute("/ws", gateway), listening, ws=FramesProtocol, **UVICORN_OPTIONS)


async def starlette_loop(listening: socket.socket, size: int) -> None:
    """Serve with Starlette, one ``send_text`` after the other; ``size`` is of the frame."""
    sockets: set[WebSocket] = set()
    text = "x" * size

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        sockets.add(websocket)
        try:
            while True:
                await websocket.receive_text()
                for each in tuple(sockets):
                    await each.send_text(text)
        except WebSocketDisconnect:
            sockets.discard(websocket)

    route = WebSocketRoute("/ws", endpoint)
    await _uvicorn(route, listening, ws_per_message_deflate=False, ws_ping_interval=None)


async def websockets_broadcast(listening: socket.socket, size: int) -> None:
    """Serve with ``websockets`` and its ``broadcast``; ``size`` is of the frame."""
    sockets: set[ServerConnection] = set()
    text = "x" * size

    async def handler(connection: ServerConnection) -> None:
        sockets.add(connection)
        try:
            async for _ in connection:
                broadcast(sockets, text)
        finally:
            sockets.discard(connection)

    async with serve(handler, sock=listening, compression=None, ping_interval=None) as server:
        await server.serve_forever()


async def _uvicorn(route: WebSocketRoute, listening: socket.socket, **options: object) -> None:
    settings = {"lifespan": "off", "log_config": None, "access_log": False, **options}
    config = uvicorn.Config(Starlette(routes=[route]), **settings)  # type: ignore[arg-type]  # uvicorn's options
    await uvicorn.Server(config).serve([listening])


SERVERS: Mapping[str, Callable[[socket.socket, int], object]] = {
    "ropewalk": ropewalk,
    "starlette send loop": starlette_loop,
    "websockets.broadcast": websockets_broadcast,
}


def run(name: str, listening: socket.socket, size: int) -> None:
    """Serve until killed."""
    serve_it = SERVERS[name]
    if name == "websockets.broadcast":
        asyncio.run(serve_it(listening, size))  # type: ignore[arg-type]  # as its documentation runs it
    else:
        uvloop.run(serve_it(listening, size))  # type: ignore[arg-type]


def hello(name: str) -> list[str]:
    """Return what a socket says first."""
    if name != "ropewalk":
        return []
    subscribe = {
        "type": "subscribe",
        "id": f'agents:agentMessages{{"key":"{KEY}"}}',
        "query": "agents:agentMessages",
        "args": {"key": KEY, "limit": 1},
    }
    return [json.dumps({"type": "hello", "protocol": 1}), json.dumps(subscribe)]


def publish(name: str, number: int) -> str:
    """Return what makes the server send to all."""
    if name != "ropewalk":
        return "publish"
    return json.dumps({"type": "call", "id": f"c{number}", "fn": "bench:publish", "args": {}})
