"""A real uvicorn with a real gateway in the test's own loop, over threads written by hand."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute

from app.domain.errors import NotFound, Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.domain.storable import Json
from app.domain.tables import Keys
from app.gateway.asgi import Gateway, GatewayOptions
from app.gateway.frames import UVICORN_OPTIONS, FramesProtocol
from app.gateway.sse import STREAM_PATH
from app.telemetry.metrics import Metrics
from tests.support.fake_tokens import FakeTokens
from tests.support.memory_threads import CountingReader, MemoryThreads
from tests.support.running_uvicorn import running_uvicorn
from tests.support.ws_client import WsClient


class LoopClock:
    """The loop's own clock; ``skew_s`` lets a test move it on."""

    def __init__(self) -> None:
        self.skew_s = 0.0

    def boot_s(self) -> float:
        """Return seconds."""
        return asyncio.get_running_loop().time() + self.skew_s

    def unix_ms(self) -> int:
        """Return milliseconds."""
        return int(self.boot_s() * 1000)


class FakeFunctions:
    """Functions that a test puts in by name; each gets its arguments and the caller."""

    def __init__(self) -> None:
        self.by_ref: dict[str, Any] = {}
        self.dedupes: list[str | None] = []
        self.asked: list[str] = []
        self.queries: set[str] = set()
        """References of those that only read."""

    async def call(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, dedupe: str | None
    ) -> Json:
        """See ``Functions.call``."""
        self.dedupes.append(dedupe)
        self.asked.append(ref)
        if ref not in self.by_ref:
            raise NotFound(f"no function {ref!r}")
        value: Json = await self.by_ref[ref](args, caller)
        return value

    def may_write(self, ref: str) -> bool:
        """See ``Functions.may_write``."""
        return ref not in self.queries

    async def read(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, reads: dict[str, Keys]
    ) -> Json:
        """See ``Functions.read``; a query that is put in reads the table of its name."""
        reads[ref.partition(":")[0]] = None
        return await self.call(ref, args, caller=caller, dedupe=None)


class FakeTokensOfPeople:
    """Bearer tokens: a person's name is the token; revoked ones are refused."""

    def __init__(self) -> None:
        self.revoked: set[str] = set()
        self.failure: Exception | None = None
        self.judged = 0

    async def __call__(self, token: str | None) -> Identity:
        """See ``Authenticate``."""
        self.judged += 1
        if self.failure is not None:
            raise self.failure
        if token is None:
            return ANONYMOUS
        if token in self.revoked:
            raise Unauthenticated("the token was revoked")
        return Identity(token, frozenset({"admin"} if token == "root" else ()))  # noqa: S105


class GatewayServer:
    """Everything that a test touches."""

    def __init__(self, options: GatewayOptions) -> None:
        self.threads = MemoryThreads()
        self.counters: dict[str, int] = {}
        self.reader = CountingReader(self.threads)
        self.tokens = FakeTokens()
        self.functions = FakeFunctions()
        self.people = FakeTokensOfPeople()
        self.clock = LoopClock()
        self.metrics = Metrics()
        self.gateway = Gateway(
            reader=self.reader,
            functions=self.functions,
            count_writes=self.count_writes,
            authenticate=self.people,
            token_source=self.tokens.connect,
            clock=self.clock,
            metrics=self.metrics,
            options=options,
        )
        self.threads.on_hint = self.gateway.on_hint
        self.app = Starlette(
            routes=[
                WebSocketRoute("/ws", self.gateway),
                Route(STREAM_PATH, self.gateway.streams, methods=["GET"]),
            ]
        )
        self.url = ""
        """Of the socket, ``ws://...``."""
        self.server: uvicorn.Server | None = None

    async def count_writes(self, tables: Collection[str]) -> Mapping[str, int]:
        """See ``CountWrites``."""
        return {table: self.counters[table] for table in tables if table in self.counters}

    def stream_url(self, key: str, agent: str = "support") -> str:
        """Return where a thread's events are read."""
        base = self.url.replace("ws://", "http://").removesuffix("/ws")
        return f"{base}/agents/{agent}/sessions/{key}/stream"

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a metric."""
        return self.metrics.registry.get_sample_value(f"ropewalk_{name}", labels) or 0.0

    def sweep_after(self, seconds: float) -> None:
        """Let time have passed in silence, and sweep."""
        self.clock.skew_s += seconds
        self.gateway.sweep()

    async def pass_time(self, seconds: float, *lively: WsClient) -> None:
        """Let time pass, during which these clients show that they live."""
        while seconds > 0:
            step_s = min(seconds, 10.0)
            seconds -= step_s
            self.clock.skew_s += step_s
            for client in lively:
                await client.ping()
            self.gateway.sweep()


@asynccontextmanager
async def running_frames(
    app: object,
    ws: type[asyncio.Protocol] | str = FramesProtocol,
    **options: Any,  # noqa: ANN401  # uvicorn's own
) -> AsyncIterator[tuple[uvicorn.Server, str]]:
    """Serve sockets of ``app`` as a gateway does; return the server and its ``ws://`` address."""
    async with running_uvicorn(app, ws=ws, **{**UVICORN_OPTIONS, **options}) as (server, where):
        yield server, f"ws://{where}/ws"


@asynccontextmanager
async def gateway_server(
    options: GatewayOptions | None = None, ws: type[asyncio.Protocol] | str = FramesProtocol
) -> AsyncIterator[GatewayServer]:
    """Serve a gateway, and drain it at the end."""
    made = GatewayServer(options or GatewayOptions())
    await made.gateway.start()
    try:
        async with running_frames(made.app, ws) as (made.server, made.url):
            yield made
    finally:
        await made.gateway.drain()
