"""A client over a real socket: subscribes, calls, and comes back with its cursors.

It keeps one ``ClientView`` per subscription, as the SDK does, across as many sockets as
it takes.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from app.protocol.calls import AGENT_MESSAGES, AGENT_STATE, AGENT_THREAD
from app.protocol.client import SUBPROTOCOL
from tests.support.client_view import ClientView, Frame
from tests.support.query_view import QueryView
from tests.support.wait_until import wait_until


class CallFailed(Exception):
    """The server answered ``error``."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(f"{frame['code']}: {frame['message']}")
        self.code: str = frame["code"]
        self.frame = frame


class WsClient:
    """One user of the gateway at ``url`` (``ws://...``)."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.token = token
        self.views: dict[str, ClientView] = {}
        self.answers: dict[str, QueryView] = {}
        """The queries of functions."""
        self.heard: list[Frame] = []
        """All frames, in the order in which they came."""
        self.welcome: Frame = {}
        self.loose: list[Frame] = []
        """Frames that belong to no subscription and no call."""
        self._asked: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._calls: dict[str, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def socket(self) -> ClientConnection:
        """The open socket."""
        assert self._socket is not None, "not connected"
        return self._socket

    @property
    def close_code(self) -> int | None:
        """Why the server closed the socket."""
        return self.socket.close_code

    async def open(self) -> None:
        """Open a socket, without a word."""
        self._socket = await connect(
            self.url,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            ping_interval=None,
            max_size=None,
        )
        self._reading = asyncio.create_task(self._read(self._socket), name="ws client reads")

    async def connect(self) -> None:
        """Open a socket, say hello, and ask again for everything that was subscribed to."""
        await self.open()
        self.welcome = {}
        await self.send(type="hello", protocol=1, **({"token": self.token} if self.token else {}))
        await wait_until(lambda: self.welcome, description="a welcome")
        for id_ in self._asked:
            await self._subscribe(id_)

    async def close(self) -> None:
        """Close the socket as a browser does."""
        if self._socket is not None:
            await self._socket.close()
        await self._stop_reading()

    async def cut(self) -> None:
        """Lose the socket without a word."""
        self.socket.transport.abort()
        await self._stop_reading()

    async def send(self, **frame: Any) -> None:  # noqa: ANN401 - any JSON
        """Send a frame."""
        await self.socket.send(json.dumps(frame))

    async def watch(
        self,
        key: str,
        *,
        query: str = AGENT_MESSAGES,
        id_: str | None = None,
        **args: Any,  # noqa: ANN401
    ) -> ClientView:
        """Subscribe and return the view, once it is answered."""
        args = {"key": key, **args}
        id_ = id_ or f"{query}{json.dumps(args, sort_keys=True, separators=(',', ':'))}"
        self._asked[id_] = (query, args)
        view = self.views[id_] = ClientView()
        await self._subscribe(id_)
        await wait_until(lambda: view.cursor, description=f"an answer to {id_}")
        return view

    async def ask(self, query: str, id_: str | None = None, **args: Any) -> QueryView:  # noqa: ANN401
        """Subscribe to a function's query and return the view, once something was said."""
        id_ = id_ or f"{query}{json.dumps(args, sort_keys=True, separators=(',', ':'))}"
        self._asked[id_] = (query, args)
        view = self.answers[id_] = QueryView()
        await self._subscribe(id_)
        await wait_until(lambda: view.is_answered, description=f"an answer to {id_}")
        return view

    async def watch_thread(self, key: str) -> ClientView:
        """Subscribe to the thread itself."""
        return await self.watch(key, query=AGENT_THREAD)

    async def watch_state(self, key: str) -> ClientView:
        """Subscribe to the synced state of a thread."""
        return await self.watch(key, query=AGENT_STATE)

    async def unwatch(self, id_: str) -> None:
        """Unsubscribe."""
        del self._asked[id_]
        self.answers.pop(id_, None)
        await self.send(type="unsubscribe", id=id_)

    async def call(self, fn: str, args: Mapping[str, Any], *, dedupe: str | None = None) -> Any:  # noqa: ANN401
        """Call a function and return its value.

        Raises:
            CallFailed: the server answered with an error.
        """
        async with asyncio.timeout(30):
            return await self.begin_call(fn, args, dedupe=dedupe)

    def begin_call(
        self, fn: str, args: Mapping[str, Any], *, dedupe: str | None = None
    ) -> asyncio.Future[Any]:
        """Send a call and return its answer to come."""
        id_ = f"call-{next(self._ids)}"
        answer = self._calls[id_] = asyncio.get_running_loop().create_future()
        frame = {"type": "call", "id": id_, "fn": fn, "args": dict(args)}
        if dedupe is not None:
            frame["dedupe"] = dedupe
        self.socket.protocol.send_text(json.dumps(frame).encode())
        self.socket.transport.write(b"".join(self.socket.protocol.data_to_send()))
        return answer

    async def ping(self) -> None:
        """Ask for a ``pong`` and wait for it."""
        before = len(self.pongs)
        await self.send(type="ping")
        await wait_until(lambda: len(self.pongs) > before, description="a pong")

    @property
    def pongs(self) -> list[Frame]:
        """The pongs so far."""
        return [frame for frame in self.loose if frame["type"] == "pong"]

    async def until_closed(self, within_s: float = 10) -> int | None:
        """Wait until the server has closed the socket; return the code."""
        async with asyncio.timeout(within_s):
            await self.socket.wait_closed()
        return self.close_code

    async def until_error(self) -> Frame:
        """Return the first loose ``error`` frame."""
        found: list[Frame] = []

        def look() -> bool:
            found[:] = [frame for frame in self.loose if frame["type"] == "error"]
            return bool(found)

        await wait_until(look, description="an error frame")
        return found[0]

    async def _subscribe(self, id_: str) -> None:
        query, args = self._asked[id_]
        cursor = self.views[id_].cursor if id_ in self.views else None
        more = {"cursor": cursor} if cursor is not None else {}
        await self.send(type="subscribe", id=id_, query=query, args=args, **more)

    async def _read(self, socket: ClientConnection) -> None:
        with suppress(ConnectionClosed):
            async for message in socket:
                self._take(json.loads(message))

    def _take(self, frame: Frame) -> None:
        self.heard.append(frame)
        id_ = frame.get("id")
        answer = self._calls.pop(id_, None) if id_ is not None else None
        if answer is not None and answer.cancelled():
            return
        if frame["type"] == "welcome":
            self.welcome = frame
        elif frame["type"] == "result" and answer is not None:
            answer.set_result(frame["value"])
        elif frame["type"] == "error" and answer is not None:
            answer.set_exception(CallFailed(frame))
        elif id_ in self.answers and (frame["type"] == "snapshot" or frame.get("live")):
            self.answers[id_].apply(frame)
        elif frame["type"] in {"snapshot", "delta", "token"} and id_ in self.views:
            self.views[id_].apply(frame)
        else:
            self.loose.append(frame)

    async def _stop_reading(self) -> None:
        if self._reading is not None:
            await asyncio.wait((self._reading,), timeout=5)
            self._reading = None


@asynccontextmanager
async def ws_client(url: str, token: str | None = None) -> AsyncIterator[WsClient]:
    """Connect, and close at the end."""
    client = WsClient(url, token)
    await client.connect()
    try:
        yield client
    finally:
        await client.close()
