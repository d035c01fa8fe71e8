"""What ``FramesProtocol`` relies on inside uvicorn, tried on both loops.

A bare ASGI application takes the wire, so that nothing of the gateway stands between:
these tests are to fail when an upgrade of uvicorn changes what is relied on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from app.gateway.frames import EXTENSION, FramesProtocol, SocketWire
from app.gateway.queued_wire import Message, Receive, Send
from app.gateway.wire import HARD_LIMIT, SOFT_LIMIT, encode_text
from tests.support.gateway_server import running_frames
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("IMP-04")


class HastyFrames(FramesProtocol):
    """Cuts off a peer that does not answer its close frame at once."""

    cut_off_after_s = 0.3


class Ear:
    """A listener that notes what it hears, and may answer."""

    def __init__(self, wire: SocketWire) -> None:
        self.wire = wire
        self.messages: list[tuple[bytes, bool]] = []
        self.signs_of_life = 0
        self.drains = 0
        self.closings = 0
        self.leavings = 0
        self.on_message: Callable[[bytes], None] = lambda data: None

    def message(self, data: bytes, *, is_text: bool) -> None:
        """See ``Listener.message``."""
        self.messages.append((data, is_text))
        self.on_message(data)

    def heard(self) -> None:
        """See ``Listener.heard``."""
        self.signs_of_life += 1

    def drained(self) -> None:
        """See ``Listener.drained``."""
        self.drains += 1

    def leave(self) -> None:
        """See ``Listener.leave``."""
        self.leavings += 1
        self.wire.close(1001, "bye")

    def closed(self) -> None:
        """See ``Listener.closed``."""
        self.closings += 1


class BareApp:
    """Accepts every socket and hands it to an ``Ear``."""

    def __init__(self) -> None:
        self.ears: list[Ear] = []
        self.returned = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Take one socket."""
        await receive()
        await send({"type": "websocket.accept"})
        ear = Ear(scope["extensions"][EXTENSION]["wire"])
        self.ears.append(ear)
        ear.wire.attach(ear)
        self.returned += 1


@asynccontextmanager
async def served(
    ws: type[asyncio.Protocol] = HastyFrames, **options: object
) -> AsyncIterator[tuple[BareApp, str]]:
    app = BareApp()
    async with running_frames(app, ws, **options) as (_, url):
        yield app, url


@asynccontextmanager
async def talking(**options: object) -> AsyncIterator[tuple[Ear, ClientConnection]]:
    """One socket, both ends of it."""
    async with (
        served(**options) as (app, url),  # type: ignore[arg-type]  # options of uvicorn
        connect(url, compression=None, ping_interval=None, max_size=None, max_queue=None) as client,
    ):
        await wait_until(lambda: app.ears, description="the socket is taken")
        yield app.ears[0], client


async def read_on_and_off(client: ClientConnection) -> list[str]:
    """Return what comes until the socket is closed, read with pauses."""
    received: list[str] = []
    try:
        while True:
            if len(received) % 50 == 0:
                client.transport.pause_reading()
                await asyncio.sleep(0.002)
                client.transport.resume_reading()
            received.append(str(await client.recv()))
    except ConnectionClosed:
        return received


async def fill(wire: SocketWire) -> int:
    """Write until the reader is behind; return how many frames of 10 kB it took."""
    frame, count = encode_text(b"x" * 10_000), 0
    while wire.write(frame):
        count += 1
        await asyncio.sleep(0)
    return count


async def test_frames_of_every_size_arrive_whole_and_in_order() -> None:
    sizes = [0, 3, 125, 126, 500, 65_535, 65_536] * 60
    async with talking() as (ear, client):

        async def write_all() -> None:
            for number, size in enumerate(sizes):
                frame = encode_text(f"{number:05d}".encode() + b"x" * size)
                if not ear.wire.write(frame):
                    await wait_until(lambda: ear.wire.ready, description="it reads on")
                    assert ear.wire.write(frame)
            ear.wire.close(4001, "done")

        _, received = await asyncio.gather(write_all(), read_on_and_off(client))

        assert [int(text[:5]) for text in received] == list(range(len(sizes)))
        assert [len(text) - 5 for text in received] == sizes
        assert client.close_code == 4001
        assert not ear.wire.write(encode_text(b"late"))
        assert not ear.wire.push(encode_text(b"late"))


async def test_an_unpacked_frame_is_understood_where_compression_was_negotiated() -> None:
    async with served(ws_per_message_deflate=True) as (app, url), connect(url) as client:
        assert client.protocol.extensions
        await wait_until(lambda: app.ears, description="the socket is taken")

        app.ears[0].wire.write(encode_text("plain, hé".encode()))
        await client.send("x" * 1000)
        await wait_until(lambda: app.ears[0].messages, description="the compressed message")

        assert await client.recv() == "plain, hé"
        assert app.ears[0].messages == [(b"x" * 1000, True)]


async def test_a_reader_who_does_not_read_is_refused_tokens_first_and_then_facts() -> None:
    async with talking() as (ear, client):
        client.transport.pause_reading()
        await fill(ear.wire)
        at_soft = ear.wire.unsent
        facts = 0
        while ear.wire.push(encode_text(b"x" * 10_000)):
            facts += 1

        assert SOFT_LIMIT < at_soft <= SOFT_LIMIT + 2 * 10_100
        assert facts > 10
        assert HARD_LIMIT <= ear.wire.unsent <= HARD_LIMIT + 10_100

        client.transport.resume_reading()
        await wait_until(lambda: ear.wire.unsent == 0, description="everything is read")
        assert ear.drains == 1
        assert ear.wire.write(encode_text(b"x"))


async def test_b64_a_close_reaches_even_a_reader_who_never_reads_by_cutting_it_off() -> None:
    async with talking() as (ear, client):
        client.transport.pause_reading()
        await fill(ear.wire)

        ear.wire.close(1013, "too slow")

        assert not ear.wire.is_open
        await wait_until(lambda: ear.closings == 1, description="the socket is freed")
        client.transport.resume_reading()


async def test_a_peer_that_breaks_the_protocol_and_never_reads_is_cut_off_too() -> None:
    async with talking(ws_max_size=1000) as (ear, client):
        client.transport.pause_reading()
        await fill(ear.wire)

        client.transport.write(b"\x81\xfe\xff\xff" + b"\x00" * 4 + b"x" * 65_535)

        await wait_until(lambda: ear.closings == 1, description="the socket is freed")
        client.transport.resume_reading()


async def test_a_peer_that_says_goodbye_is_let_go() -> None:
    async with talking() as (ear, client):
        await client.close()
        await wait_until(lambda: ear.closings, description="the socket is freed")

        assert ear.closings == 1
        assert not ear.wire.write(encode_text(b"late"))


async def test_b62_a_peer_that_vanishes_is_let_go() -> None:
    async with talking() as (ear, client):
        client.transport.abort()
        await wait_until(lambda: ear.closings, description="the socket is freed")

        assert ear.closings == 1
        assert not ear.wire.push(encode_text(b"late"))


async def test_messages_come_whole_and_pings_are_answered() -> None:
    async with talking() as (ear, client):
        await client.send("text")
        await client.send(b"bytes")
        await client.send(["frag", "men", "ted"])
        pong = await client.ping()
        async with asyncio.timeout(5):
            await pong

        assert ear.messages == [(b"text", True), (b"bytes", False), (b"fragmented", True)]
        assert ear.signs_of_life


async def test_a_probe_is_answered_by_the_peer_itself() -> None:
    async with talking() as (ear, client):
        before = ear.signs_of_life
        ear.wire.ping()
        await wait_until(lambda: ear.signs_of_life > before, description="a sign of life")

        assert client.close_code is None


async def test_who_pings_without_reading_fills_no_buffer() -> None:
    async with talking() as (ear, client):
        client.transport.pause_reading()
        await fill(ear.wire)
        full = ear.wire.unsent
        ping = b"\x89\xfd" + b"\x00" * 4 + b"p" * 125
        for _ in range(2000):
            client.transport.write(ping)
        before = ear.signs_of_life
        await wait_until(lambda: ear.signs_of_life > before, description="the pings are read")

        assert ear.wire.unsent <= full + 1000
        client.transport.resume_reading()


async def test_b63_no_task_is_kept_for_a_socket() -> None:
    async with served() as (app, url):
        before = len(asyncio.all_tasks())
        clients = [await connect(url, ping_interval=None) for _ in range(10)]
        await wait_until(lambda: app.returned == 10, description="every call has returned")
        keepers = {task.get_name() for task in asyncio.all_tasks()}

        assert len(asyncio.all_tasks()) - before <= 0, keepers
        for client in clients:
            await client.close()


async def test_a_server_that_shuts_down_lets_the_listener_speak_last() -> None:
    app = BareApp()
    async with running_frames(app, HastyFrames) as (server, url):
        client = await connect(url, ping_interval=None)
        await wait_until(lambda: app.ears, description="the socket is taken")

        server.should_exit = True
        async with asyncio.timeout(5):
            await client.wait_closed()

    assert client.close_code == 1001
    assert (app.ears[0].leavings, app.ears[0].closings) == (1, 1)


async def test_an_application_that_fails_before_the_handshake_answers_500(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def failing(scope: Message, receive: Receive, send: Send) -> None:
        raise RuntimeError("no")

    async with running_frames(failing) as (_, url):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)

    assert refused.value.response.status_code == 500
    assert "Exception in ASGI application" in caplog.text


async def test_an_application_that_wants_no_wire_is_served_as_by_uvicorn() -> None:
    async def echo(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (event := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": event["text"]})

    async with running_frames(echo) as (_, url), connect(url) as client:
        await client.send("hello")
        assert await client.recv() == "hello"


@pytest.mark.parametrize("size", [10, 100_000], ids=["heard-at-once", "heard-in-turns"])
async def test_a_listener_that_breaks_loses_its_socket_and_is_never_deaf(size: int) -> None:
    def break_down(data: bytes) -> None:
        raise RuntimeError(f"cannot take {len(data)} bytes")

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with talking() as (ear, client):
        ear.on_message = break_down

        await client.send("x" * size)

        await wait_until(lambda: ear.closings, description="the socket is gone")
