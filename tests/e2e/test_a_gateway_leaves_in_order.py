"""SIGTERM: readiness goes red, sockets hear goodbye, requests in flight end, gone within 10 s."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.support.gateway_process import GatewayProcess, a_gateway
from tests.support.wait_until import wait_until

AGENTS = """
import asyncio
from pathlib import Path

from app import ActionContext, Agent, action

helper = Agent(model="demo:", access="public")

@action
async def slow(ctx: ActionContext, flag: str) -> str:
    Path(flag).touch()
    await asyncio.sleep(1)
    return "finished"
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "team.py").write_text(AGENTS)
    return folder


@pytest.fixture
def gateway(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str, agents: Path
) -> Iterator[GatewayProcess]:
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        namespace=redis_namespace,
        agents=agents,
    ) as running:
        yield running


async def test_requests_end_and_sockets_hear_goodbye(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    flag = tmp_path / "begun"
    async with connect(gateway.socket_url, subprotocols=["ropewalk.v1"]) as socket:  # type: ignore[list-item]  # a NewType of str
        await socket.send(json.dumps({"type": "hello", "protocol": 1}))
        welcome = json.loads(await socket.recv())
        async with httpx2.AsyncClient(base_url=gateway.url, timeout=10) as http:
            call = asyncio.create_task(http.post("/functions/team:slow", json={"flag": str(flag)}))
            await wait_until(flag.exists, description="the request is in flight")
            told_at = time.monotonic()
            gateway.process.send_signal(signal.SIGTERM)
            goodbye = json.loads(await socket.recv())
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            answer = await call
    await wait_until(lambda: gateway.process.poll() is not None, description="it is gone")

    assert welcome["type"] == "welcome"
    assert goodbye["type"] == "goodbye"
    assert socket.close_code == 1001
    assert answer.json() == "finished"
    assert gateway.process.returncode == 0
    assert time.monotonic() - told_at < 10
    assert "Traceback" not in gateway.log.read_text()


@pytest.mark.req("IMP-33")
async def test_it_is_red_without_its_schema_and_green_with_it(
    tmp_path: Path,
    empty_database_url: str,
    redis_url: str,
    redis_namespace: str,
    agents: Path,
) -> None:
    with a_gateway(
        tmp_path,
        database_url=empty_database_url,
        redis_url=redis_url,
        namespace=redis_namespace,
        agents=agents,
        wait=False,
    ) as gateway:
        await wait_until(
            lambda: gateway.status() is not None, description="it answers", timeout_s=30
        )
        answer = httpx2.get(f"{gateway.url}/readyz").json()

        assert gateway.status("/healthz") == 200
        assert "ropewalk migrate" in answer["checks"]["schema"]
        assert answer["ready"] is False


def test_a_half_configured_identity_is_one_sentence(
    tmp_path: Path, database_url: str, redis_url: str, agents: Path
) -> None:
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        namespace="unused",
        agents=agents,
        env={"JWKS_URL": "https://issuer.example/keys"},
        wait=False,
    ) as gateway:
        code = gateway.process.wait(timeout=30)

    log = gateway.log.read_text()
    assert code == 1
    assert "a token is judged in one way: keep one" in log
    assert "Traceback" not in log


def test_a_taken_port_is_one_sentence(
    tmp_path: Path, gateway: GatewayProcess, database_url: str, redis_url: str, agents: Path
) -> None:
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        namespace="second",
        agents=agents,
        env={"PORT": str(gateway.port)},
        wait=False,
    ) as second:
        code = second.process.wait(timeout=30)

    assert code == 1
    assert f"port {gateway.port}" in second.log.read_text()
    assert "Traceback" not in second.log.read_text()
