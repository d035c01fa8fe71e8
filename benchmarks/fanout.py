"""One change to thousands of sockets: the gateway beside what one would write by hand.

    python -m benchmarks.fanout [--sockets 1000 5000] [--rounds 20]

Server and client are a process each, on a core each where there are two; loopback only.
Time is from the publish sent to the last socket's frame read; throughput has 8 publishes
in flight, which Ropewalk may put into fewer frames.  Trust the ratios, which are of one
run on one machine.
"""

import argparse
import asyncio
import logging
import os
import socket
import statistics
import struct
import time
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Protocol

import psutil
import uvloop

from benchmarks.fanout_servers import SERVERS, hello, publish, run
from tests.support.wait_until import wait_until

TEXT = 500
IN_FLIGHT = 8
CONNECT_AT_ONCE = 100


class Reader(Protocol):
    """Whom a subscriber hands its frames to."""

    def hello(self) -> list[str]:
        """Return what a socket says first."""
        ...

    def count(self, data: bytes, begin: int, size: int) -> None:
        """Take the frame that is this part of the data."""
        ...


class Subscriber(asyncio.Protocol):
    """A socket that counts whole frames, as cheaply as Python can."""

    __slots__ = ("_rest", "crowd", "is_open", "transport")

    def __init__(self, crowd: Reader) -> None:
        self.crowd = crowd
        self.is_open = False
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        self.transport = transport
        transport.write(  # type: ignore[attr-defined]  # a socket's transport
            b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )

    def say(self, text: str) -> None:
        """Send a text frame, masked with zeros."""
        payload = text.encode()
        size = len(payload)
        head = struct.pack("!BBH", 0x81, 0xFE, size) if size > 125 else bytes((0x81, 0x80 | size))
        self.transport.write(head + b"\x00" * 4 + payload)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Take frames apart."""
        data = self._rest + data if self._rest else data
        place = 0
        if not self.is_open:
            place = data.index(b"\r\n\r\n") + 4
            assert data.startswith(b"HTTP/1.1 101"), data[:80]
            self.is_open = True
            for text in self.crowd.hello():
                self.say(text)
        end = len(data)
        while end - place >= 2:
            size, head = data[place + 1], 2
            if size == 126:
                if end - place < 4:
                    break
                size, head = (data[place + 2] << 8) | data[place + 3], 4
            if end - place < head + size:
                break
            self.crowd.count(data, place + head, size)
            place += head + size
        self._rest = data[place:]


class Crowd:
    """All sockets of one run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.all: list[Subscriber] = []
        self.left = 0
        self.size = 0
        self.answered = 0
        self.done = asyncio.Event()

    def hello(self) -> list[str]:
        """See ``Reader.hello``."""
        return hello(self.name)

    def count(self, data: bytes, begin: int, size: int) -> None:
        """Count the messages of a frame; a welcome, snapshot or result has none.

        Changes that come while Ropewalk reads share a frame: messages are counted, not frames.
        """
        if self.name == "ropewalk" and data[begin + 9 : begin + 14] != b"delta":
            self.answered += data[begin + 9 : begin + 13] == b"snap"
            return
        rows = data.count(b'"op":"upsert"', begin, begin + size) or 1
        self.size = size if rows == 1 else self.size
        self.left -= rows
        if self.left <= 0:
            self.done.set()

    async def connect(self, port: int, count: int) -> None:
        """Open the sockets, and wait until each is subscribed."""
        loop = asyncio.get_running_loop()
        while len(self.all) < count:
            batch = min(CONNECT_AT_ONCE, count - len(self.all))
            made = await asyncio.gather(
                *(
                    loop.create_connection(lambda: Subscriber(self), "127.0.0.1", port)
                    for _ in range(batch)
                )
            )
            self.all += [protocol for _, protocol in made]
            newest = self.all[-batch:]
            await wait_until(
                lambda newest=newest: all(each.is_open for each in newest),  # type: ignore[misc]
                description="handshakes",
            )
        await wait_until(
            lambda: self.name != "ropewalk" or self.answered >= count, description="subscriptions"
        )

    async def publish(self, times: int) -> float:
        """Publish and return the seconds until everybody has read everything."""
        self.left = times * len(self.all)
        self.done.clear()
        begun = time.perf_counter()
        for number in range(times):
            self.all[0].say(publish(self.name, number))
        async with asyncio.timeout(60):
            await self.done.wait()
        return time.perf_counter() - begun


@dataclass
class Figures:
    """What one server did."""

    name: str
    size: int
    ms_to_last: float
    messages_per_s: float
    kb_per_socket: float


async def measure(name: str, port: int, pid: int, sockets: int, rounds: int) -> Figures:
    server = psutil.Process(pid)
    crowd = Crowd(name)
    before = server.memory_info().rss
    await crowd.connect(port, sockets)
    kb = (server.memory_info().rss - before) / 1024 / sockets
    for _ in range(3):
        await crowd.publish(1)
    alone = [await crowd.publish(1) for _ in range(rounds)]
    busy = [await crowd.publish(IN_FLIGHT) for _ in range(max(3, rounds // IN_FLIGHT))]
    for each in crowd.all:
        each.transport.abort()  # type: ignore[attr-defined]
    return Figures(
        name,
        crowd.size,
        statistics.median(alone) * 1000,
        IN_FLIGHT * sockets / statistics.median(busy),
        kb,
    )


def pin(core: int, pid: int = 0) -> None:
    """Keep a process on one core, where that is possible."""
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > core:
        os.sched_setaffinity(pid, {core})


def measure_one(name: str, sockets: int, rounds: int, size: int) -> Figures:
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    port = listening.getsockname()[1]
    process = get_context("fork").Process(target=_serve, args=(name, listening, size), daemon=True)
    process.start()
    listening.close()
    try:
        assert process.pid is not None
        return uvloop.run(measure(name, port, process.pid, sockets, rounds))
    finally:
        process.kill()
        process.join()


def _serve(name: str, listening: socket.socket, size: int) -> None:
    pin(0)
    logging.disable(logging.CRITICAL)  # thousands of peers are cut off at the end
    run(name, listening, size)


def show(sockets: int, found: list[Figures]) -> None:
    ours, *others = found
    print(f"\n{sockets} sockets, frames of {ours.size} bytes")
    print(f"{'':24}{'ms to the last':>16}{'k messages/s':>16}{'kB a socket':>14}")
    for each in found:
        print(
            f"{each.name:24}{each.ms_to_last:16.2f}{each.messages_per_s / 1000:16.0f}"
            f"{each.kb_per_socket:14.1f}"
        )
    for each in others:
        print(
            f"ropewalk / {each.name}: {ours.ms_to_last / each.ms_to_last:.2f} of its time, "
            f"{ours.messages_per_s / each.messages_per_s:.2f} of its throughput"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sockets", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    for sockets in asked.sockets:
        ours = measure_one("ropewalk", sockets, asked.rounds, TEXT)
        found = [ours]
        found += [
            measure_one(name, sockets, asked.rounds, ours.size)
            for name in SERVERS
            if name != "ropewalk"
        ]
        show(sockets, found)


if __name__ == "__main__":
    pin(1)
    main()
