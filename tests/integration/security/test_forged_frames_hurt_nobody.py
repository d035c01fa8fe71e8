"""Whatever somebody sends, the gateway stays up, stays small, and serves everybody else.

The gateway is a process of its own here, so its memory can be looked at.
"""

import asyncio
import itertools
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed

from tests.integration.security.conftest import TABLES
from tests.support.backend import token_for
from tests.support.gateway_process import GatewayProcess, a_gateway
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient, ws_client

CREW = Path(__file__).parent / "crew"
MIB = 1 << 20
GROWTH = 80 * MIB
"""What a gateway may grow by under attack: outboxes, held frames and what malloc keeps."""

PATIENCE_S = 15.0
"""What an innocent call may take meanwhile: the flooders' own calls, as many as a user may make,
stand before it.  Before a socket was heard in turns, no call was answered while a flood lasted."""

NINES = "9" * 4000
DEEP = "[" * 150 + "]" * 150
TOO_DEEP = "[" * 50_000
FORGED = [
    "",
    "{",
    "null",
    "1",
    "[]",
    '"hello"',
    "\x00",
    "\ufeff{}",
    '{"type":null}',
    '{"type":["call"]}',
    '{"type":{"call":{}}}',
    '{"type":"CALL","id":"a","fn":"vault:mine","args":{}}',
    '{"type":"hello","protocol":1}',
    '{"type":"hello","protocol":1e400,"token":"x"}',
    '{"type":"auth"}',
    '{"type":"auth","token":""}',
    '{"type":"auth","token":["a"]}',
    '{"type":"auth","token":"rw_000000000000_' + "A" * 43 + '"}',
    '{"type":"call","id":"","fn":"vault:mine","args":{}}',
    '{"type":"call","id":["a"],"fn":"vault:mine","args":{}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":[]}',
    '{"type":"call","id":"a","fn":"vault:mine","args":null}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{},"internal":true}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{},"caller":{"userId":"ann"}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{},"__proto__":{"internal":true}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{"__proto__":{"a":1}}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{"ctx":{"auth":{"userId":"ann"}}}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{"self":1,"ctx":1,"session":1}}',
    '{"type":"ping","type":"call","id":"a","fn":"vault:readAll","args":{}}',
    '{"type":"call","type":"call","id":"a","fn":"vault:mine","fn":"vault:readAll","args":{}}',
    '{"type":"call","id":"a","fn":"agents:agentMessages","args":{"key":"x","key":"hers"}}',
    '{"type":"call","id":"a","fn":"agents:agentMessages","args":{"key":"x","before":1e30}}',
    f'{{"type":"call","id":"a","fn":"agents:agentMessages","args":{{"key":"x","before":{NINES}}}}}',
    f'{{"type":"call","id":"a","fn":"agents:agentMessages","args":{{"key":"x","limit":-{NINES}}}}}',
    f'{{"type":"call","id":"a","fn":"vault:echoNothing","args":{{"given":{NINES}}}}}',
    f'{{"type":"call","id":"a","fn":"vault:echoNothing","args":{{"given":{DEEP}}}}}',
    f'{{"type":"subscribe","id":"b","query":"vault:echoNothing","args":{{"given":{DEEP}}}}}',
    f'{{"type":"subscribe","id":"c","query":"vault:echoNothing","args":{{"given":{NINES}}}}}',
    f'{{"type":"call","id":"a","fn":"vault:mine","args":{TOO_DEEP}',
    '{"type":"call","id":"a","fn":"vault:keep","args":{"what":"\\u0000"}}',
    '{"type":"call","id":"a","fn":"vault:keep","args":{"what":"\\ud800"}}',
    '{"type":"call","id":"\\u0000","fn":"vault:mine","args":{}}',
    '{"type":"call","id":"a","fn":"vault:mine","args":{},"dedupe":"\\u0000"}',
    '{"type":"subscribe","id":"a","query":"vault:keep","args":{"what":"x"}}',
    '{"type":"subscribe","id":"a","query":"agents:agentMessages","args":{"key":"\\u0000"}}',
    '{"type":"subscribe","id":"a","query":"agents:agentRun","args":{}}',
    '{"type":"subscribe","id":"d","query":"vault:mine","args":{},"cursor":"x.999999999999999999"}',
    '{"type":"subscribe","id":"a","query":"vault:mine","args":{},"cursor":"../../etc"}',
    '{"type":"unsubscribe","id":"never"}',
    # What the server says, and what only server code may do (B31, B72).
    '{"type":"snapshot","id":"a","cursor":"x.1","value":{"secret":1}}',
    '{"type":"delta","id":"a","from":"x.1","cursor":"x.2","ops":[]}',
    '{"type":"state","key":"hers","state":{"secret":1}}',
    '{"type":"setState","key":"hers","value":{"secret":1}}',
    '{"type":"call","id":"a","fn":"agents:agentState","args":{"key":"hers","state":{"a":1}}}',
    '{"type":"call","id":"a","fn":"agents:agentSetState","args":{"key":"hers","state":{"a":1}}}',
    '{"type":"call","id":"a","fn":"agents:agentRun","args":{"agent":"desk","input":"x","owner":"b"}}',
    '{"type":"call","id":"a","fn":"agents:agentRun","args":{"agent":"desk","input":["x"]}}',
    '{"type":"call","id":"a","fn":"agents:agentRun",'
    '"args":{"agent":"desk","input":"x","initialState":{"a":1},"maxTurns":1}}',
]
"""Each is one frame; none of them may show, change or break anything."""


@pytest.fixture
def gateway(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> Iterator[GatewayProcess]:
    """A gateway of its own; its limit of calls is the default."""
    with psycopg.connect(database_url) as connection:
        connection.execute(TABLES.encode())
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        agents=CREW,
        namespace=redis_namespace,
    ) as process:
        yield process


async def a_state_of_anns(gateway: GatewayProcess, database_url: str) -> None:
    """Make a thread of Ann's with a state."""
    async with ws_client(gateway.socket_url, token_for("ann")) as ann:
        run = {"agent": "desk", "key": "hers", "input": "hello"}
        await ann.call("agents:agentRun", run)
    with psycopg.connect(database_url) as connection:
        connection.execute("""UPDATE agent_threads SET state = '{"secret": "blue"}'""")


@pytest.mark.req("STA-04", "ACC-05", "IMP-04")
@pytest.mark.parametrize("who", ["ann", "ben", None])
async def test_b72_forged_frames_change_and_show_nothing_whoever_sends_them(
    gateway: GatewayProcess, database_url: str, who: str | None
) -> None:
    await a_state_of_anns(gateway, database_url)
    with psycopg.connect(database_url) as connection:
        rows = "SELECT id, state, version, title FROM agent_threads"
        before = connection.execute(rows).fetchall()

        client = WsClient(gateway.socket_url, token_for(who) if who else None)
        await client.connect()
        for frame in FORGED:
            await client.socket.send(frame)
            await client.ping()  # it lives, and answered in order
        await client.ping()
        identity = client.welcome["identity"]
        await client.close()

        assert (identity or {}).get("userId") == who
        assert connection.execute(rows).fetchall() == before
    told = [each for each in client.loose if each["type"] != "pong"]
    assert {each.get("code") for each in told if each["type"] == "error"} <= {
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "UNAUTHENTICATED",
        "FORBIDDEN",
    }
    if who != "ann":
        assert "blue" not in str(told)
        assert "treasure" not in str(told)


@pytest.mark.req("IMP-04")
async def test_frames_of_a_megabyte_and_more_are_taken_or_end_their_own_socket(
    gateway: GatewayProcess,
) -> None:
    process = psutil.Process(gateway.process.pid)
    before = process.memory_info().rss

    async def send(size: int) -> int | None:
        client = WsClient(gateway.socket_url, token_for("ben"))
        await client.connect()
        frame: dict[str, Any] = {
            "type": "call",
            "id": "a",
            "fn": "vault:echoNothing",
            "args": {"given": ""},
        }
        frame["args"] = {"given": "x" * (size - len(json.dumps(frame)))}
        with suppress(ConnectionClosed):
            await client.socket.send(json.dumps(frame))
        await wait_until(lambda: client.loose or client.close_code, description="what came of it")
        code = client.close_code
        await client.close()
        return code

    assert await send(MIB) is None
    for size in (MIB + 1, 8 * MIB):  # cut off in the middle, or told why when it had been read
        assert await send(size) in {1006, 1009}
    async with ws_client(gateway.socket_url) as innocent:
        assert await innocent.call("vault:mine", {}) == []
    assert process.memory_info().rss - before < GROWTH


Flood = Callable[[WsClient], Awaitable[None]]


async def _calls(client: WsClient) -> None:
    for number in itertools.count():
        frame = {"type": "call", "id": f"c{number}", "fn": "vault:mine", "args": {}}
        await client.socket.send(json.dumps(frame))
        await asyncio.sleep(0)


async def _auths(client: WsClient) -> None:
    tokens = [token_for(user) for user in ("ben", "bob", "boo")]
    for number in itertools.count():
        token = tokens[number % 3] if number % 2 else f"forged.{number}.token"
        await client.socket.send(json.dumps({"type": "auth", "token": token}))
        await asyncio.sleep(0)


async def _pairs(client: WsClient) -> None:
    for number in itertools.count():
        ask = {"type": "subscribe", "query": "vault:echoNothing", "args": {"given": number}}
        if number % 2:
            key = f"k{number}"
            ask |= {"query": "agents:agentMessages", "args": {"key": key}}
        await client.socket.send(json.dumps(ask | {"id": f"s{number}"}))
        await client.socket.send(json.dumps({"type": "unsubscribe", "id": f"s{number}"}))
        await asyncio.sleep(0)


async def _garbage(client: WsClient) -> None:
    chance = random.Random(7)  # noqa: S311  # which garbage does not matter
    while True:
        await client.socket.send(chance.choice(FORGED))
        await asyncio.sleep(0)


async def _subscriptions(client: WsClient) -> None:
    for number in range(10_000):
        ask = {"type": "subscribe", "query": "vault:echoNothing", "args": {"given": number}}
        await client.socket.send(json.dumps(ask | {"id": f"s{number}"}))
    await asyncio.sleep(3600)


@asynccontextmanager
async def flooding(gateway: GatewayProcess, flood: Flood, sockets: int) -> AsyncIterator[None]:
    """Flood from so many sockets at once; whoever is cut off comes back."""

    async def one(number: int) -> None:
        while True:
            client = WsClient(gateway.socket_url, token_for(f"flooder-{number}"))
            try:
                await client.connect()
                await flood(client)
            except (ConnectionClosed, AssertionError, OSError):
                await asyncio.sleep(0.05)
            finally:
                with suppress(Exception):
                    await client.close()

    tasks = [asyncio.create_task(one(number), name="flood") for number in range(sockets)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.req("IMP-04")
@pytest.mark.parametrize(
    "flood",
    [
        _calls,
        _subscriptions,
        *(pytest.param(each, marks=pytest.mark.long) for each in (_auths, _pairs, _garbage)),
    ],
)
async def test_a_flood_leaves_the_others_served_and_the_gateway_small(
    gateway: GatewayProcess, flood: Flood
) -> None:
    process = psutil.Process(gateway.process.pid)
    async with ws_client(gateway.socket_url, token_for("ann")) as ann:
        for _ in range(20):
            await ann.call("vault:mine", {})
        before, took = process.memory_info().rss, []
        async with flooding(gateway, flood, sockets=3):
            until = time.monotonic() + 3
            while time.monotonic() < until:
                begun = time.perf_counter()
                await ann.call("vault:mine", {})
                took.append(time.perf_counter() - begun)
                await asyncio.sleep(0.02)
            grown = process.memory_info().rss - before
        watched: Any = await ann.call("vault:openOne", {"number": 1})

    assert watched == "the map of the treasure"
    assert gateway.process.poll() is None
    assert sorted(took)[int(0.95 * len(took))] < PATIENCE_S
    assert grown < GROWTH
