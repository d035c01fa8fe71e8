"""A network of its own for a storm: one route for each process to each store, and for clients.

It runs as a process of its own, so that it forwards while the test is busy.  A route can be slow
(``delay``), stand still in one or both directions (``hold``; nobody is told, as with a cable that
was pulled), lose what it holds (``cut``), or refuse to connect (``refuse``).  Holding only what
comes back, and then cutting, is the fault that matters most: the server did it, and the answer
is lost.

It speaks JSON lines on stdin and stdout and ends when stdin closes.
"""

import asyncio
import json
import os
import socket
import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Any, cast

import uvloop

HIGH_WATER = 256 * 1024
TIMER_S = 0.002
"""Timers may fire so much too early."""


@dataclass
class Route:
    """Where connections to one port lead, and what becomes of them."""

    name: str
    target: int
    port: int = 0
    delay_s: float = 0.0
    holds_up: bool = False
    holds_down: bool = False
    refuses: bool = False
    links: set["Link"] = field(default_factory=set)

    def holds(self, *, up: bool) -> bool:
        return self.holds_up if up else self.holds_down

    def look_again(self) -> None:
        for link in tuple(self.links):
            for end in link.ends:
                end.look_again()


class End(asyncio.Protocol):
    """One end of a link; what it reads is written to the other end."""

    def __init__(self, link: "Link", *, up: bool) -> None:
        self.link = link
        self.up = up
        self.transport: asyncio.Transport | None = None
        self.late: deque[tuple[float, bytes]] = deque()
        self.early: list[bytes] = []
        """What the other end read before this one was connected."""
        self.is_full = False

    @property
    def other(self) -> "End":
        return self.link.ends[1] if self.up else self.link.ends[0]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(high=HIGH_WATER)
        raw = transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for data in self.early:
            transport.write(data)
        self.early.clear()
        self.look_again()

    def data_received(self, data: bytes) -> None:
        delay_s = self.link.route.delay_s
        if delay_s == 0 and not self.late:
            self.other.write(data)
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time() + delay_s, self.late[-1][0] if self.late else 0)
        self.late.append((due, data))
        loop.call_at(due, self._send_late)

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self.link.end()
            return
        for _, data in self.late:
            self.other.write(data)
        self.late.clear()
        self.link.end(gently=True)

    def pause_writing(self) -> None:
        self.is_full = True
        self.other.look_again()

    def resume_writing(self) -> None:
        self.is_full = False
        self.other.look_again()

    def write(self, data: bytes) -> None:
        if self.transport is None:
            self.early.append(data)
        elif not self.transport.is_closing():
            self.transport.write(data)

    def look_again(self) -> None:
        """Read, or stand still."""
        transport, other = self.transport, self.other.transport
        if transport is None or transport.is_closing():
            return
        may_read = other is not None and not self.other.is_full
        if may_read and not self.link.route.holds(up=self.up):
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _send_late(self) -> None:
        now = asyncio.get_running_loop().time()
        while self.late and self.late[0][0] <= now + TIMER_S:
            self.other.write(self.late.popleft()[1])


class Link:
    """One connection through a route."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.ends = (End(self, up=True), End(self, up=False))

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.ends[1], "127.0.0.1", self.route.target)
        except OSError:
            self.end()
        for end in self.ends:
            end.look_again()

    def end(self, *, gently: bool = False) -> None:
        """Close both ends: ``gently`` after what was read has been written."""
        self.route.links.discard(self)
        for end in self.ends:
            end.late.clear()
            if end.transport is None:
                continue
            if gently:
                end.transport.close()
            else:
                end.transport.abort()


class Network:
    """All routes."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked and answer."""
        if order["do"] == "open":
            return {"port": await self._open(order["route"], order["target"])}
        for name in order["routes"]:
            self._change(self.routes[name], order)
        return {}

    def _change(self, route: Route, order: dict[str, Any]) -> None:
        match order["do"]:
            case "delay":
                route.delay_s = order["seconds"]
            case "hold":
                route.holds_up, route.holds_down = order["up"], order["down"]
                route.look_again()
            case "refuse":
                route.refuses = True
                self._cut(route)
            case "cut":
                self._cut(route)
            case "heal":
                route.delay_s, route.refuses = 0.0, False
                route.holds_up = route.holds_down = False
                route.look_again()
            case other:
                raise ValueError(other)

    def _cut(self, route: Route) -> None:
        for link in tuple(route.links):
            link.end()

    async def _open(self, name: str, target: int) -> int:
        route = self.routes[name] = Route(name, target)
        server = await asyncio.get_running_loop().create_server(
            lambda: self._accept(route), "127.0.0.1", 0, backlog=512
        )
        port: int = server.sockets[0].getsockname()[1]
        return port

    def _accept(self, route: Route) -> asyncio.Protocol:
        if route.refuses:
            return _Refuser()
        link = Link(route)
        route.links.add(link)
        task = asyncio.create_task(link.connect())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return link.ends[0]


class _Refuser(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).abort()


async def _serve() -> None:
    network = Network()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        order = json.loads(line)
        answer = await network.obey(order)
        os.write(1, json.dumps({"id": order["id"], **answer}).encode() + b"\n")


def main() -> None:
    """Serve until stdin closes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve())


if __name__ == "__main__":
    main()
