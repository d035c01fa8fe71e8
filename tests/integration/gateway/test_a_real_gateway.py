"""A gateway that runs as in production: on both stores, in a process of its own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.protocol.calls import AGENT_STATE
from tests.support.backend import token_for
from tests.support.event_reader import event_reader
from tests.support.gateway_process import GatewayProcess, a_gateway
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient, ws_client

AGENT = """
from app import Agent

helper = Agent(model="demo:", access="public", initial_state={"count": 0})
"""

SOCKETS = 1_000
BYTES = 24 * 1024
"""Of memory for one: TCP buffers are the kernel's.  A compression context alone would be 40 kB."""


@pytest.fixture
def gateway(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> Iterator[GatewayProcess]:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "helper.py").write_text(AGENT)
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        agents=agents,
        namespace=redis_namespace,
    ) as process:
        yield process


@pytest.mark.req("STA-01", "STA-04", "ACC-01", "SUB-01")
async def test_a_thread_its_state_and_its_stream_answer_to_their_owner(
    gateway: GatewayProcess,
) -> None:
    async with (
        ws_client(gateway.socket_url, token_for("ann")) as ann,
        ws_client(gateway.socket_url, token_for("ben")) as ben,
    ):
        early = await ann.watch_state("t-1")
        started = await ann.call(
            "agents:agentRun", {"agent": "helper", "key": "t-1", "input": "hello"}
        )
        await wait_until(lambda: early.value is not None, description="the first state")
        late = await ann.watch("t-1", query=AGENT_STATE, id_="late")
        foreign = await ben.watch_state("t-1")
        url = f"{gateway.url}/agents/helper/sessions/t-1/stream"
        async with event_reader(url, token_for("ann")) as reader:
            await wait_until(lambda: reader.thread.cursor, description="the thread")

            assert reader.messages.texts == ["hello"]
            assert reader.thread.value["runId"] == started["id"]
            assert reader.last_id == reader.messages.cursor
        async with event_reader(url, token_for("ben")) as reader:
            assert reader.status == 404

        assert early.value == late.value == {"count": 0}
        assert foreign.value is None


@pytest.mark.req("IMP-04")
async def test_b63_a_thousand_idle_sockets_cost_little(gateway: GatewayProcess) -> None:
    process = psutil.Process(gateway.process.pid)
    clients = [WsClient(gateway.socket_url) for _ in range(SOCKETS + 50)]
    await _connect(clients[:50])  # what is loaded once, at the first
    before = process.memory_info().rss

    await _connect(clients[50:])
    await wait_until(
        lambda: all(client.welcome for client in clients), description="all are welcome"
    )
    grown = process.memory_info().rss - before
    for client in clients:
        await client.close()

    assert grown / SOCKETS < BYTES


async def _connect(clients: list[WsClient]) -> None:
    for start in range(0, len(clients), 50):
        await asyncio.gather(*(client.connect() for client in clients[start : start + 50]))
