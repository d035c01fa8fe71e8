"""A user's client over sockets that break: it comes back elsewhere, with cursors and open calls.

A port of the SDK's rules (``connection.ts``, ``subscription.ts``, ``requests.ts``): what was
subscribed to is asked for again with its cursor, what was not answered is sent again under its
dedupe key.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidState
from websockets.typing import Subprotocol

from app.protocol.calls import AGENT_MESSAGES, AGENT_STATE, AGENT_THREAD
from app.protocol.client import SUBPROTOCOL
from tests.support.chaos.text import Frame
from tests.support.chaos.view import MessagesView

CONNECT_S = 10.0
PONG_S = 5.0
BACKOFF_CAP_S = 2.0
RETRY_S = 1.0
_LOST = (ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidState, OSError, EOFError)


class Refused(Exception):
    """The server answered a call with an error."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(f"{frame['code']}: {frame['message']}")
        self.code: str = frame["code"]


@dataclass
class ValueWatch:
    """What a query that is no list answered last."""

    query: str
    args: dict[str, Any]
    cursor: str | None = None
    value: Any = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Mood:
    """How a client treats its sockets.  Times are seconds."""

    name: str = "steady"
    leaves_after: tuple[float, float] | None = None
    """When it gives up a socket that is well."""
    says_goodbye: bool = True
    """Whether it closes that socket, or just walks away."""
    dawdles: tuple[float, float] | None = None
    """How long it waits before it reads the next frame."""
    sleeps: tuple[float, float] | None = None
    """How long it reads nothing at all, once in a while."""

    @property
    def reads_at_once(self) -> bool:
        """Whether what it is sent is seen without delay."""
        return self.dawdles is None and self.sleeps is None


class ChaosClient:
    """One page of one user."""

    def __init__(
        self,
        urls: Sequence[str],
        token: str,
        rng: Random,
        violated: Callable[[str], None],
        mood: Mood | None = None,
    ) -> None:
        self.mood = mood or Mood()
        self.views: dict[str, MessagesView] = {}
        self.values: dict[str, ValueWatch] = {}
        self.is_open = asyncio.Event()
        self.open_since = 0.0
        self.sockets = 0
        self.errors: list[Frame] = []
        self.on_new_row: Callable[[Frame, float], None] = lambda _row, _since: None
        """Told of each new row, and since when (``time.time``) the socket is open."""
        self._urls = list(urls)
        self._token = token
        self._rng = rng
        self._violated = violated
        self._calls: dict[str, tuple[Frame, asyncio.Future[Any]]] = {}
        self._ids = itertools.count(1)
        self._socket: ClientConnection | None = None
        self._heard = 0.0
        self._abandoned: list[ClientConnection] = []

    # ------------------------------------------------------------ what a user does

    def watch(self, key: str, *, id_: str | None = None, **args: Any) -> MessagesView:  # noqa: ANN401
        """Subscribe to a thread's messages, with their text as it grows."""
        args = {"key": key, "limit": 200, **args}
        id_ = id_ or _canonical(AGENT_MESSAGES, args)
        name = f"{self.mood.name} client"
        view = self.views[id_] = MessagesView(name, args, self._violated)
        view.on_new_row = lambda row: self.on_new_row(row, self.open_since)
        self._subscribe(id_)
        return view

    def watch_thread(self, key: str) -> ValueWatch:
        """Subscribe to a thread itself."""
        return self._watch_value(AGENT_THREAD, key)

    def watch_state(self, key: str) -> ValueWatch:
        """Subscribe to a thread's state."""
        return self._watch_value(AGENT_STATE, key)

    def thread_of(self, view: MessagesView) -> Frame | None:
        """Return what this client knows of the thread of a view."""
        watch = self.values.get(_canonical(AGENT_THREAD, {"key": view.args["key"]}))
        return watch.value if watch is not None else None

    def _watch_value(self, query: str, key: str) -> ValueWatch:
        args = {"key": key}
        id_ = _canonical(query, args)
        watch = self.values[id_] = ValueWatch(query, args)
        self._subscribe(id_)
        return watch

    async def call(self, fn: str, args: dict[str, Any], *, dedupe: str | None = None) -> Any:  # noqa: ANN401
        """Return the answer, however many sockets it takes.

        Raises:
            Refused: the server answered with an error.
        """
        id_ = f"c{next(self._ids)}"
        frame: Frame = {"type": "call", "id": id_, "fn": fn, "args": args}
        if dedupe is not None:
            frame["dedupe"] = dedupe
        answer = asyncio.get_running_loop().create_future()
        self._calls[id_] = frame, answer
        self._send(frame)
        try:
            return await answer
        finally:
            self._calls.pop(id_, None)

    def subscribe_twice(self, id_: str) -> None:
        """Ask for a subscription that there is: refused, and the old one lives on."""
        args = self.views[id_].args
        self._send({"type": "subscribe", "id": id_, "query": AGENT_MESSAGES, "args": args})

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Be connected until cancelled."""
        failures = 0
        try:
            for number in itertools.count(self._rng.randrange(2)):
                began = time.monotonic()
                with suppress(*_LOST, TimeoutError):
                    await self._one_socket(self._urls[number % len(self._urls)])
                self._put_down()
                failures = 0 if time.monotonic() - began > 5 else failures + 1
                pause_s = min(BACKOFF_CAP_S, 0.1 * (1 << min(failures, 10)))
                await asyncio.sleep(pause_s * self._rng.random())
        finally:
            for socket in self._abandoned:
                socket.transport.abort()

    async def _one_socket(self, url: str) -> None:
        socket = await connect(
            url,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            ping_interval=None,
            open_timeout=CONNECT_S,
            close_timeout=0.5,
            max_size=None,
        )
        walks_away = False
        try:
            await socket.send(json.dumps({"type": "hello", "protocol": 1, "token": self._token}))
            async with asyncio.timeout(CONNECT_S):
                welcome = json.loads(await socket.recv())
            if welcome["type"] != "welcome":
                self.errors.append(welcome)
                return
            self._begin(socket)
            walks_away = await self._read_all(socket, welcome["heartbeat"])
        finally:
            if walks_away and not self.mood.says_goodbye:
                self._abandoned.append(socket)
                if len(self._abandoned) > 5:
                    self._abandoned.pop(0).transport.abort()
            else:
                socket.transport.abort()

    def _begin(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._heard = time.monotonic()
        self.sockets += 1
        self.open_since = time.time()
        self.is_open.set()
        for id_ in (*self.views, *self.values):
            self._subscribe(id_)
        for frame, _ in tuple(self._calls.values()):
            self._send(frame)

    async def _read_all(self, socket: ClientConnection, heartbeat_s: float) -> bool:
        """Take frames until the socket ends; return whether it was given up though it was well."""
        leaves = self.mood.leaves_after
        leave_at = time.monotonic() + self._rng.uniform(*leaves) if leaves else float("inf")
        pinged_at: float | None = None
        while True:
            now = time.monotonic()
            if now >= leave_at:
                return True
            due = self._heard + heartbeat_s if pinged_at is None else pinged_at + PONG_S
            try:
                async with asyncio.timeout(max(min(due, leave_at) - now, 0)):
                    message = await socket.recv()
            except TimeoutError:
                if time.monotonic() >= leave_at:
                    continue
                if pinged_at is not None:
                    return False
                pinged_at = time.monotonic()
                self._send({"type": "ping"})
                continue
            self._heard, pinged_at = time.monotonic(), None
            frame = json.loads(message)
            if frame["type"] == "goodbye":
                await asyncio.sleep(frame.get("retryAfter", 0) + self._rng.random() * 0.2)
                return False
            self._take(frame)
            await self._take_time()

    async def _take_time(self) -> None:
        if self.mood.dawdles is not None:
            await asyncio.sleep(self._rng.uniform(*self.mood.dawdles))
        if self.mood.sleeps is not None and self._rng.random() < 0.005:
            await asyncio.sleep(self._rng.uniform(*self.mood.sleeps))

    def _put_down(self) -> None:
        self._socket = None
        self.is_open.clear()

    # ------------------------------------------------------------ frames

    def _take(self, frame: Frame) -> None:
        id_ = frame.get("id")
        asked = self._calls.get(id_) if id_ is not None else None
        match frame["type"]:
            case "result" if asked is not None:
                if not asked[1].done():
                    asked[1].set_result(frame["value"])
            case "error" if asked is not None:
                if not asked[1].done():
                    asked[1].set_exception(Refused(frame))
            case "snapshot" | "delta" | "token" if id_ in self.views:
                self._show(id_, frame)
            case "snapshot" if id_ in self.values:
                self._note(self.values[id_], frame)
            case "error":
                self._complain(frame)
            case _:
                pass

    def _show(self, id_: str, frame: Frame) -> None:
        view = self.views[id_]
        view.receive(frame)
        if view.has_gap:
            view.has_gap = False
            self._send({"type": "unsubscribe", "id": id_})
            self._subscribe(id_)

    def _note(self, watch: ValueWatch, frame: Frame) -> None:
        watch.cursor, watch.value = frame["cursor"], frame["value"]
        watch.changed.set()

    def _complain(self, frame: Frame) -> None:
        self.errors.append(frame)
        if frame["code"] == "INTERNAL":
            self._violated(f"the server says {frame}")
        id_ = frame.get("id")
        if frame["code"] == "UNAVAILABLE" and id_ is not None:
            delay_s = RETRY_S * (1 + self._rng.random())
            asyncio.get_running_loop().call_later(delay_s, self._subscribe, id_)

    def _subscribe(self, id_: str) -> None:
        view = self.views.get(id_)
        if view is not None:
            query, args, cursor = AGENT_MESSAGES, view.args, view.cursor
            view.asking = self._socket is not None
        else:
            query, args, cursor = self.values[id_].query, self.values[id_].args, None
        more = {"cursor": cursor} if cursor is not None else {}
        self._send({"type": "subscribe", "id": id_, "query": query, "args": args, **more})

    def _send(self, frame: Frame) -> None:
        """Put a frame into the open socket; without one it is sent on the next."""
        socket = self._socket
        if socket is None or socket.close_code is not None:
            return
        with suppress(*_LOST):
            socket.protocol.send_text(json.dumps(frame).encode())
            socket.transport.write(b"".join(socket.protocol.data_to_send()))


def _canonical(query: str, args: dict[str, Any]) -> str:
    return query + json.dumps(args, sort_keys=True, separators=(",", ":"))
