"""The same promises under a server that does not know ``FramesProtocol``."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app.domain.identity import Identity
from app.domain.storable import Json
from app.gateway.asgi import GatewayOptions
from app.gateway.queued_wire import QueuedWire
from app.gateway.wire import HARD_LIMIT, SOFT_LIMIT, encode_text
from app.protocol.wire import MAX_FRAME
from tests.support.gateway_server import GatewayServer, gateway_server
from tests.support.wait_until import wait_until
from tests.support.ws_client import ws_client

pytestmark = pytest.mark.req("IMP-04")

PLAIN = "websockets-sansio"


@pytest.fixture
async def served() -> AsyncIterator[GatewayServer]:
    async with gateway_server(ws=PLAIN) as made:
        yield made


async def test_a_thread_is_watched_with_tokens_and_calls(served: GatewayServer) -> None:
    async def who(args: Mapping[str, Json], caller: Identity) -> Json:
        return caller.user_id

    served.functions.by_ref["app:who"] = who
    run = served.threads.start("t", "one", owner="ann")
    async with ws_client(served.url, "ann") as client:
        view = await client.watch("t")
        await wait_until(lambda: served.tokens.watched, description="tokens are heard")
        served.tokens.say(served.threads.thread("t").id, run, "tw")
        await wait_until(lambda: view.spoken == "tw", description="a token")
        served.threads.say("t", "two")
        await wait_until(lambda: len(view.rows) == 2, description="a delta")

        assert await client.call("app:who", {}) == "ann"
        assert view.texts == ["one", "two"]


async def test_b64_a_slow_reader_is_cut_and_catches_up_after() -> None:
    options = GatewayOptions(slow_s=5, sweep_s=3600)
    async with gateway_server(options, PLAIN) as served, ws_client(served.url) as quick:
        served.threads.start("t", "one")
        view = await quick.watch("t")
        async with ws_client(served.url) as slow:
            behind = await slow.watch("t")
            slow.socket.transport.pause_reading()
            for turn in range(80):
                served.threads.say("t", "x" * 100_000, turn=turn)
                await wait_until(lambda: view.cursor == f"memory-1.{turn + 2}", description="rows")  # noqa: B023 - awaited here

            served.sweep_after(6)
            slow.socket.transport.resume_reading()

            assert await slow.until_closed() == 1013
            await slow.connect()
            await wait_until(lambda: behind.cursor == view.cursor, description="it catches up")


async def test_an_oversized_frame_is_closed_with_1009() -> None:
    async with gateway_server(ws=PLAIN) as served, ws_client(served.url) as client:
        await client.socket.send("x" * (MAX_FRAME + 1))

        assert await client.until_closed() == 1009


async def test_b62_peers_that_vanish_leave_nothing(served: GatewayServer) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(20):
        async with ws_client(served.url) as client:
            await client.watch("t")
            await client.cut()
    await wait_until(lambda: served.metric("sockets") == 0, description="all are gone")

    await wait_until(lambda: len(asyncio.all_tasks()) <= before, description="no task is left")


async def test_a_server_that_leaves_closes_with_1001(served: GatewayServer) -> None:
    async with ws_client(served.url) as client:
        await served.gateway.drain()

        assert await client.until_closed() == 1001
        assert client.loose[0]["type"] == "goodbye"


def test_starlettes_test_client_can_talk_to_it() -> None:
    served = GatewayServer(GatewayOptions())
    served.threads.start("t", "one")
    served.gateway.on_timeline("memory-1")
    client = TestClient(served.app)

    with client.websocket_connect("/ws", subprotocols=["ropewalk.v1"]) as socket:
        socket.send_json({"type": "hello", "protocol": 1})
        welcome = socket.receive_json()
        socket.send_json(
            {"type": "subscribe", "id": "s", "query": "agents:agentMessages", "args": {"key": "t"}}
        )
        snapshot = socket.receive_json()

    assert welcome["type"] == "welcome"
    assert [row["text"] for row in snapshot["value"]] == ["one"]


def test_another_protocol_is_closed_with_its_code_under_the_test_client_too() -> None:
    served = GatewayServer(GatewayOptions())
    client = TestClient(served.app)

    with client.websocket_connect("/ws") as socket:
        socket.send_json({"type": "hello", "protocol": 9})
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()

    assert closed.value.code == 4400


async def test_tokens_are_refused_before_facts_and_until_all_is_read() -> None:
    wire = QueuedWire()
    frame = encode_text(b"x" * 10_000)

    tokens = sum(wire.write(frame) for _ in range(100))
    facts = sum(wire.push(frame) for _ in range(100))

    assert tokens == SOFT_LIMIT // len(frame) + 1
    assert (tokens + facts) * len(frame) >= HARD_LIMIT
    assert (tokens + facts - 1) * len(frame) < HARD_LIMIT
