"""Real processes, real time: a key or a token that is taken back is over within 30 s, everywhere.

Each person here lives through one story; the stories run side by side, for their time is the
promise itself and passes once for all.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import jwt
import pytest

from tests.support.backend import SECRET
from tests.support.gateway_process import ROOT, GatewayProcess, a_gateway
from tests.support.wait_until import wait_until
from tests.support.ws_client import CallFailed, WsClient

pytestmark = pytest.mark.req("IMP-05")

AGENTS = """
from app import Agent, Identity, QueryContext, query

helper = Agent(slug="helper", model="demo:", access="public")

@query
async def who(ctx: QueryContext) -> str | None:
    return ctx.auth.user_id

@query
async def other(ctx: QueryContext) -> str | None:
    return ctx.auth.user_id
"""
AUTH = """
from pathlib import Path

from app import Identity

HERE = Path(__file__).parent

async def judge(token: str) -> Identity | None:
    if token == "broken":
        raise RuntimeError("the directory is away")
    known = (HERE / "known.txt").read_text().split()
    return Identity(token) if token in known else None
"""
PROMISE_S = 30.0


@dataclass
class Deployment:
    """One gateway, and the command line beside it."""

    gateway: GatewayProcess
    database_url: str

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "app.main.cli", *words],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": self.database_url},
            capture_output=True,
            text=True,
            check=False,
        )

    async def do(self, *words: str) -> str:
        done = await asyncio.to_thread(self.command, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def http(self, token: str) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(base_url=self.gateway.url, headers=headers, timeout=60)

    @asynccontextmanager
    async def socket(self, token: str) -> AsyncIterator[WsClient]:
        client = WsClient(self.gateway.socket_url, token)
        await client.connect()
        try:
            yield client
        finally:
            await client.close()


StartGateway = Callable[..., AbstractContextManager[GatewayProcess]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of agents and functions, with a way to judge tokens."""
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "team.py").write_text(AGENTS)
    (folder / "auth.py").write_text(AUTH)
    (folder / "known.txt").write_text("ann root")
    return folder


@pytest.fixture
def start(
    tmp_path: Path, folder: Path, database_url: str, redis_url: str, redis_namespace: str
) -> StartGateway:
    """Return what starts a gateway with more in its environment."""

    def started(*, wait: bool = True, **env: str) -> AbstractContextManager[GatewayProcess]:
        return a_gateway(
            tmp_path,
            database_url=database_url,
            redis_url=redis_url,
            namespace=redis_namespace,
            agents=folder,
            env=env,
            wait=wait,
        )

    return started


def a_token(user: str, *, life_s: float) -> str:
    now = time.time()
    claims = {"sub": user, "iat": now, "exp": now + life_s}
    return jwt.encode(claims, SECRET, algorithm="HS256")


def errors(client: WsClient) -> list[str]:
    """Return the codes of the errors that were about the socket itself."""
    return [each["code"] for each in client.loose if each["type"] == "error"]


async def closed_after(client: WsClient, begun: float) -> float:
    """Return how long after ``begun`` the server closed the socket for its token."""
    assert await client.until_closed(within_s=PROMISE_S + 10) == 4401
    assert errors(client) == ["UNAUTHENTICATED"], "told once, and before it was closed"
    return time.monotonic() - begun


async def a_key_is_revoked(on: Deployment) -> None:
    key = await on.do("keys", "create", "--name", "nightly", "--user", "robot")
    key_id = key.split("_")[1]
    async with on.http(key) as http, on.socket(key) as socket:
        assert socket.welcome["identity"]["userId"] == "robot"
        assert await socket.call("team:who", {}) == "robot"
        started = await http.post("/agents/helper", json={"message": "hi", "sessionId": "robots"})
        assert started.status_code == 202
        async with http.stream("GET", "/agents/helper/sessions/robots/stream") as stream:
            assert stream.status_code == 200
            listed = await on.do("keys", "list")
            begun = time.monotonic()
            await on.do("keys", "revoke", key_id)
            ended = asyncio.create_task(_ended(stream))
            took_s = await closed_after(socket, begun)
            await ended
            assert time.monotonic() - begun <= PROMISE_S
        refused = await http.post("/functions/team:who", json={})
    assert took_s <= PROMISE_S
    assert (refused.status_code, refused.json()["message"]) == (401, "the API key was revoked")
    assert key_id in listed
    assert key.split("_", 2)[2] not in listed, "the secret is shown once"
    assert "revoked" in await on.do("keys", "list")


async def _ended(stream: httpx2.Response) -> None:
    async for _ in stream.aiter_bytes():
        pass


async def a_users_tokens_are_taken_back(on: Deployment) -> None:
    token = a_token("ann", life_s=3600)
    async with on.http(token) as http, on.socket(token) as socket:
        assert (await http.post("/functions/team:who", json={})).json() == "ann"
        begun = time.monotonic()
        await on.do("revoke", "--user", "ann")
        took_s = await closed_after(socket, begun)
        assert (await http.post("/functions/team:who", json={})).status_code == 401
    assert took_s <= PROMISE_S
    async with on.socket(a_token("ann", life_s=3600)) as again:
        assert await again.call("team:who", {}) == "ann", "who signs in anew comes in"
    await on.do("revoke", "--user", "ann", "--undo")


async def a_token_runs_out(on: Deployment) -> None:
    begun = time.monotonic()
    async with on.socket(a_token("bob", life_s=2)) as socket:
        assert await closed_after(socket, begun) <= 2 + PROMISE_S


async def a_token_is_renewed_in_time(on: Deployment, until: asyncio.Event) -> None:
    async with on.socket(a_token("carol", life_s=2)) as socket:
        await socket.send(type="auth", token=a_token("carol", life_s=3600))
        await until.wait()
        assert await socket.call("team:who", {}) == "carol"
        assert errors(socket) == []


async def a_token_is_renewed_in_the_grace(on: Deployment, until: asyncio.Event) -> None:
    async with on.socket(a_token("dan", life_s=2)) as socket:
        await wait_until(lambda: errors(socket), timeout_s=PROMISE_S, description="a warning")
        await socket.send(type="auth", token=a_token("dan", life_s=3600))
        await until.wait()
        assert await socket.call("team:who", {}) == "dan"
        assert errors(socket) == ["UNAUTHENTICATED"]


async def a_key_with_scopes_does_what_they_name(on: Deployment) -> None:
    key = await on.do(
        *("keys", "create", "--name", "reader", "--user", "eve", "--role", "admin"),
        *("--scope", "team:who", "--expires-in", "90d"),
    )
    async with on.http(key) as http, on.socket(key) as socket:
        assert await socket.call("team:who", {}) == "eve"
        with pytest.raises(CallFailed, match=r"FORBIDDEN.*no scope team:other"):
            await socket.call("team:other", {})
        await socket.send(
            type="subscribe", id="s", query="agents:agentMessages", args={"key": "robots"}
        )
        refusal = await socket.until_error()
        statuses = [
            (await http.get("/agents/helper/sessions/robots")).status_code,
            (await http.get("/agents/helper/sessions/robots/stream")).status_code,
            (await http.post("/functions/team:who", json={})).status_code,
        ]
    assert (refusal["id"], refusal["code"]) == ("s", "FORBIDDEN")
    assert statuses == [403, 403, 200]


@pytest.mark.long
@pytest.mark.req("ACC-01")
async def test_who_is_taken_back_is_out_within_thirty_seconds_and_nobody_else(
    start: StartGateway, database_url: str
) -> None:
    with start(JWT_LEEWAY="0") as gateway:
        on, over = Deployment(gateway, database_url), asyncio.Event()
        async with asyncio.TaskGroup() as stories:
            stayers = [
                stories.create_task(a_token_is_renewed_in_time(on, over)),
                stories.create_task(a_token_is_renewed_in_the_grace(on, over)),
            ]
            async with asyncio.TaskGroup() as leavers:
                leavers.create_task(a_key_is_revoked(on))
                leavers.create_task(a_users_tokens_are_taken_back(on))
                leavers.create_task(a_token_runs_out(on))
                leavers.create_task(a_key_with_scopes_does_what_they_name(on))
            over.set()
    assert all(task.done() for task in stayers)


async def test_the_teams_own_callable_judges_every_way_in(
    start: StartGateway, database_url: str, folder: Path
) -> None:
    with start(JWT_SECRET="", AUTHENTICATE="agents.auth:judge") as gateway:
        on = Deployment(gateway, database_url)
        key = await on.do("keys", "create", "--name", "n", "--user", "robot")
        answers = {}
        for token in ("ann", "root", "stranger", "broken", key):
            async with on.http(token) as http:
                answer = await http.post("/functions/team:who", json={})
                answers[token] = (answer.status_code, answer.json())
        async with on.socket("ann") as socket:
            (folder / "known.txt").write_text("root")
            took_s = await closed_after(socket, time.monotonic())

    assert answers["ann"] == (200, "ann")
    assert answers["root"] == (200, "root")
    assert answers["stranger"][0] == 401
    assert answers["broken"][0] == 503
    assert "directory" not in answers["broken"][1]["message"]
    assert answers[key] == (200, "robot")
    assert took_s <= PROMISE_S


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"AUTHENTICATE": "agents.auth:judge"}, "JWT_SECRET and AUTHENTICATE are set"),
        ({"JWT_SECRET": "", "AUTHENTICATE": "agents.auth:missing"}, "has no missing"),
        ({"JWT_SECRET": "", "JWT_ISSUER": "https://issuer"}, "no key to check"),
        ({"JWT_SECRET": "short"}, "at least 32"),
        ({"CALLS_BURST": "0"}, "CALLS_BURST"),
    ],
)
def test_a_half_configured_identity_ends_the_start_in_one_sentence(
    start: StartGateway, env: dict[str, str], says: str
) -> None:
    with start(wait=False, **env) as gateway:
        assert gateway.process.wait(timeout=20) == 1
        said = gateway.log.read_text().strip()

    assert says in said
    assert said.splitlines()[-1].startswith("ropewalk: ")
    assert "Traceback" not in said


@pytest.mark.req("IMP-04")
async def test_calls_beyond_the_limit_are_told_when_to_come_again(
    start: StartGateway, database_url: str
) -> None:
    with start(CALLS_PER_SECOND="0.1", CALLS_BURST="3") as gateway:
        on = Deployment(gateway, database_url)
        token = a_token("ann", life_s=60)
        async with on.http(token) as http, on.socket(token) as socket:
            passed = [await socket.call("team:who", {}) for _ in range(2)]
            passed.append((await http.post("/functions/team:who", json={})).json())
            with pytest.raises(CallFailed, match="RATE_LIMITED") as refused:
                await socket.call("team:who", {})
            over_http = await http.post("/functions/team:who", json={})
            await socket.ping()
        async with on.http(a_token("bob", life_s=60)) as http:
            other = await http.post("/functions/team:who", json={})

    assert passed == ["ann"] * 3
    assert 0 < refused.value.frame["data"]["retryAfter"] <= 10
    assert over_http.status_code == 429
    assert 1 <= int(over_http.headers["retry-after"]) <= 10
    assert other.json() == "bob"
