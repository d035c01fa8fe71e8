"""What an idle socket costs a gateway that runs as in production (field case B63)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.gateway_process import GatewayProcess, a_gateway
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient

SOCKETS = 1_000
BYTES = 24 * 1024
"""Of memory for one: TCP buffers are the kernel's.  A compression context alone would be 40 kB."""


@pytest.fixture
def gateway(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> Iterator[GatewayProcess]:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "__init__.py").touch()
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        agents=agents,
        namespace=redis_namespace,
    ) as process:
        yield process


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
