"""What operators ask, and what development serves besides."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.functions.registry import FunctionRegistry
from app.http.services import DevServices
from app.telemetry.metrics import Metrics
from tests.support.backend import Backend


@pytest.mark.req("IMP-33")
async def test_the_process_is_up_whatever_else_is_not(backend: Backend) -> None:
    backend.problems["postgres"] = "no answer"

    async with backend.client() as client:
        answer = await client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.req("IMP-33")
async def test_readiness_is_red_as_long_as_one_check_says_why(backend: Backend) -> None:
    backend.problems |= {"postgres": None, "redis": None}
    async with backend.client() as client:
        green = await client.get("/readyz")
        backend.problems["redis"] = "no answer"
        red = await client.get("/readyz")

    assert (green.status_code, green.json()["ready"]) == (200, True)
    assert (red.status_code, red.json()["ready"]) == (503, False)
    assert red.json()["checks"] == {"postgres": "ok", "redis": "no answer"}


@pytest.mark.req("IMP-33")
async def test_metrics_count_requests_by_route_and_calls_by_function(backend: Backend) -> None:
    async with backend.client() as client:
        await client.get("/agents/support/sessions/a")
        await client.get("/agents/support/sessions/b")
        await client.post("/functions/agents:agentThread", json={"key": "a"})
        answer = await client.get("/metrics")

    labels = 'method="GET",route="/agents/{slug}/sessions/{session_id:path}",status="404"'
    assert answer.headers["content-type"].startswith("text/plain")
    assert f"ropewalk_http_seconds_count{{{labels}}} 2.0" in answer.text
    called = 'ropewalk_function_seconds_count{outcome="ok",ref="agents:agentThread"} 1.0'
    assert called in answer.text


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    folder = tmp_path / "chat"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>the chat</h1>")
    (folder / "assets" / "app-1a2b.js").write_text("let chat")
    return folder


def _token(user: str, roles: Sequence[str]) -> str:
    return f"token-for-{user}" + "".join(f"-as-{role}" for role in roles)


def in_dev(backend: Backend, chat: Path) -> Backend:
    dev = DevServices("dev-user", "dev-admin", _token, chat)
    return replace(backend, registry=FunctionRegistry(), metrics=Metrics(), dev=dev)


async def test_development_serves_the_chat_at_every_address_that_is_left(
    backend: Backend, chat: Path
) -> None:
    async with in_dev(backend, chat).client() as client:
        page = await client.get("/")
        thread = await client.get("/t/some-thread")
        script = await client.get("/assets/app-1a2b.js")
        missing = await client.get("/assets/old.js")
        agents = await client.get("/agents")

    assert page.text == thread.text == "<h1>the chat</h1>"
    assert page.headers["cache-control"] == "no-cache"
    assert script.headers["cache-control"].endswith("immutable")
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")
    assert "agents" in agents.json()


async def test_a_file_outside_the_chat_is_not_served(backend: Backend, chat: Path) -> None:
    (chat.parent / "secret.txt").write_text("secret")

    async with in_dev(backend, chat).client() as client:
        answers = [
            await client.get(f"/{path}") for path in ("..%2fsecret.txt", "%2e%2e/secret.txt")
        ]

    assert all("secret" not in answer.text for answer in answers)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/%00", "/%00.js", f"/{'k' * 5000}", "/runs/%00", f"/agents/a/sessions/{'k' * 5000}"]
)
async def test_no_address_breaks_the_chat(
    backend: Backend, chat: Path, method: str, path: str
) -> None:
    async with in_dev(backend, chat).client() as client:
        answer = await client.request(method, path)

    assert answer.status_code in {404, 405}


async def test_a_chat_that_is_not_built_says_how_to_build_it(
    backend: Backend, tmp_path: Path
) -> None:
    async with in_dev(backend, tmp_path / "nothing").client() as client:
        page = await client.get("/")

    assert page.status_code == 503
    assert "make setup" in page.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "chat.localhost"])
async def test_the_chat_gets_a_token_by_a_name_of_this_machine(
    backend: Backend, chat: Path, host: str
) -> None:
    async with in_dev(backend, chat).client() as client:
        answer = await client.get("/dev/session", headers={"host": host})

    assert answer.json() == {"token": "token-for-dev-user", "userId": "dev-user"}


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
async def test_a_name_that_somebody_else_points_at_us_gets_no_token(
    backend: Backend, chat: Path, host: str
) -> None:
    async with in_dev(backend, chat).client() as client:
        answer = await client.get("/dev/session", headers={"host": host})

    assert answer.status_code == 403


async def test_in_development_the_admin_ui_gets_a_token_with_its_role_and_no_other(
    backend: Backend, chat: Path
) -> None:
    async with in_dev(backend, chat).client() as client:
        admin = await client.get("/dev/session?role=admin")
        other = await client.get("/dev/session?role=root")
        far = await client.get("/dev/session?role=admin", headers={"host": "evil.example"})

    assert admin.json() == {"token": "token-for-dev-admin-as-admin", "userId": "dev-admin"}
    assert (other.status_code, far.status_code) == (400, 403)


async def test_nothing_of_development_is_served_in_production(backend: Backend) -> None:
    async with backend.client() as client:
        answers = [await client.get(path) for path in ("/", "/dev/session")]

    assert [answer.status_code for answer in answers] == [404, 404]
