"""Which pages of another origin may call the routes, and what they can read of the answers.

A browser asks first whether it may send a token or JSON, and keeps every answer from a page that
the answer does not name.  Who may is held beside the socket's rule, on the wire, in
``tests/integration/security/test_a_page_may_call_where_it_may_connect.py``.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import ChatError, RateLimited, TransientFault
from app.domain.identity import Identity
from app.functions.registry import FunctionRegistry
from app.http.operation import DocumentedRoute
from app.http.services import DevServices
from app.telemetry.metrics import Metrics
from tests.support.backend import Backend

LISTED = "https://chat.example"
STRANGER = "https://evil.example"
ASKED = {
    "origin": LISTED,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}
READ = {"origin": LISTED}
PAGE = "<h1>a built page</h1>"


class Broken:
    """A stream that breaks before its answer begins."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("broken on purpose")


def serving(backend: Backend, origins: Collection[str] | None = (LISTED,), **more: Any) -> Backend:  # noqa: ANN401  # any field
    return replace(backend, registry=FunctionRegistry(), metrics=Metrics(), origins=origins, **more)


def cross_origin(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what an answer says to browsers of other pages."""
    prefix = "access-control-"
    return {name.removeprefix(prefix): headers[name] for name in headers if name.startswith(prefix)}


# ---------------------------------------------------------------- asking first


async def test_a_listed_page_may_send_what_the_clients_send_and_need_not_ask_again(
    backend: Backend,
) -> None:
    sent = "authorization,content-type,idempotency-key,last-event-id"
    async with serving(backend).client() as client:
        asked = {**ASKED, "access-control-request-headers": sent}
        answer = await client.options("/agents/support", headers=asked)

    told = cross_origin(answer.headers)
    allowed = set(re.split(r",\s*", told.pop("allow-headers").lower()))
    assert answer.status_code == 200
    assert told == {"allow-origin": LISTED, "allow-methods": "GET, POST", "max-age": "600"}
    assert allowed >= set(sent.split(","))
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"origin": STRANGER}, id="a-stranger"),
        pytest.param({"access-control-request-method": "DELETE"}, id="another-method"),
        pytest.param({"access-control-request-headers": "x-forwarded-for"}, id="a-proxys-header"),
    ],
)
async def test_a_browser_is_told_to_send_nothing_else(
    backend: Backend, asked: Mapping[str, str]
) -> None:
    async with serving(backend).client() as client:
        answer = await client.options("/agents/support", headers={**ASKED, **asked})

    assert answer.status_code == 400
    assert cross_origin(answer.headers).get("allow-origin") != STRANGER


@pytest.mark.parametrize(
    ("origins", "status"),
    [pytest.param((LISTED,), 200, id="a-list"), pytest.param(None, 400, id="no-list")],
)
async def test_only_a_page_that_was_named_may_reach_into_a_private_network(
    backend: Backend, origins: Collection[str] | None, status: int
) -> None:
    """Some browsers ask for public pages, lest these find what is in their visitors' networks."""
    asked = {**ASKED, "access-control-request-private-network": "true"}
    async with serving(backend, origins).client() as client:
        answer = await client.options("/agents/support", headers=asked)

    allowed = answer.headers.get("access-control-allow-private-network")
    assert (answer.status_code, allowed) == (status, "true" if origins else None)


async def test_to_ask_is_nobodys_call(backend: Backend) -> None:
    judged: list[object] = []

    async def refuse(*given: object) -> Identity:
        judged.append(given)
        raise RateLimited("too many calls")

    async with serving(backend, authenticate=refuse, admit=refuse).client() as client:
        answer = await client.options("/agents/support", headers=ASKED)

    assert (answer.status_code, judged) == (200, [])


# ---------------------------------------------------------------- reading the answer


@pytest.mark.parametrize("user", [None, "ann"])
async def test_a_listed_page_reads_an_answer_and_a_stranger_does_not(
    backend: Backend, user: str | None
) -> None:
    async with serving(backend).client(user) as client:
        listed = await client.get("/agents", headers=READ)
        stranger = await client.get("/agents", headers={"origin": STRANGER})
        server = await client.get("/agents")

    assert listed.status_code == stranger.status_code == 200
    assert listed.headers["access-control-allow-origin"] == LISTED
    assert "access-control-allow-origin" not in stranger.headers
    assert cross_origin(server.headers) == {}
    # A cache must not hand the answer to one page on to another.
    assert {each.headers["vary"] for each in (listed, stranger, server)} == {"Origin"}


async def test_without_a_list_every_page_may_and_none_brings_cookies(backend: Backend) -> None:
    async with serving(backend, None).client() as client:
        asked = {**ASKED, "origin": STRANGER, "cookie": "session=1"}
        before = await client.options("/agents", headers=asked)
        answers = [
            await client.get("/agents", headers={"origin": each, "cookie": "session=1"})
            for each in (STRANGER, "null")
        ]

    for each in (before, *answers):
        assert each.status_code == 200
        assert each.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in each.headers


async def _broken(*given: object) -> Identity:
    raise ChatError(f"ours: {len(given)}")


async def _away(*given: object) -> Identity:
    raise TransientFault(f"away: {len(given)}")


async def _too_many(*given: object) -> None:
    raise RateLimited(f"too many calls: {len(given)}", {"retryAfter": 2.5})


SESSION = "/agents/support/sessions/none"


@pytest.mark.parametrize(
    ("status", "asked", "given", "more"),
    [
        (400, ("POST", "/agents/support"), {"content": b"{"}, {}),
        (401, ("GET", "/agents"), {"headers": {"authorization": "Bearer forged"}}, {}),
        (403, ("POST", f"{SESSION}/signals"), {"json": {"message": "hi"}}, {}),
        (404, ("GET", SESSION), {}, {}),
        (404, ("GET", "/agents/no-such-agent"), {}, {}),
        (405, ("GET", "/functions/orders:place"), {}, {}),
        (413, ("POST", "/agents/support"), {"content": b" " * ((1 << 20) + 1)}, {}),
        (429, ("GET", "/agents"), {}, {"admit": _too_many}),
        (500, ("GET", "/agents"), {}, {"authenticate": _broken}),
        (500, ("GET", f"{SESSION}/stream"), {}, {"streams": Broken()}),
        (503, ("GET", "/agents"), {}, {"authenticate": _away}),
    ],
)
async def test_a_listed_page_reads_what_went_wrong(
    backend: Backend,
    status: int,
    asked: tuple[str, str],
    given: Mapping[str, Any],
    more: Mapping[str, Any],
) -> None:
    async with serving(backend, **more).client() as client:
        client.headers |= {"origin": LISTED, "content-type": "application/json"}
        answer = await client.request(*asked, **given)

    assert answer.status_code == status
    assert answer.headers["access-control-allow-origin"] == LISTED
    assert answer.json()["code"]


async def test_a_page_reads_when_to_come_again(backend: Backend) -> None:
    async with serving(backend, admit=_too_many).client() as client:
        answer = await client.get("/agents", headers=READ)

    assert answer.headers["retry-after"] == "3"
    assert cross_origin(answer.headers)["expose-headers"] == "Retry-After"


# ---------------------------------------------------------------- which routes


def in_dev(backend: Backend, folder: Path, origins: Collection[str] | None) -> Backend:
    for name in ("admin", "chat"):
        (folder / name / "assets").mkdir(parents=True)
        (folder / name / "index.html").write_text(PAGE)
        (folder / name / "assets" / "a.js").write_text("let a")
    dev = DevServices("dev-user", "dev-admin", lambda user, _: user, folder / "chat")
    return serving(backend, origins, dev=dev, admin=folder / "admin")


@pytest.mark.parametrize("origins", [(LISTED,), None], ids=["a-list", "no-list"])
async def test_every_route_that_asks_who_is_calling_is_shared_and_no_other(
    backend: Backend, tmp_path: Path, origins: Collection[str] | None
) -> None:
    served = in_dev(backend, tmp_path, origins)
    documented = [each for each in served.routes if isinstance(each, DocumentedRoute)]

    shared: dict[tuple[str, str], bool] = {}
    async with served.client() as client:
        for route in documented:
            path = re.sub(r"{[^}]+}", "x", route.path)
            answer = await client.request(route.method, path, headers=READ)
            shared[route.method, route.path] = bool(cross_origin(answer.headers))

    assert shared == {(each.method, each.path): each.operation.asks_who for each in documented}
    assert {path for (_, path), is_shared in shared.items() if not is_shared} == {
        *("/healthz", "/readyz", "/metrics", "/openapi.json", "/dev/session")
    }


SPELLINGS = [
    "/dev/session",
    "/dev/session/",
    "//dev/session",
    "/DEV/session",
    "/agents/../dev/session",
    "/agents/%2e%2e/dev/session",
    "/agents%2F..%2Fdev/session",
    "/dev/session;/agents",
    "/dev/session%3F/agents",
    "/dev/session%00/agents",
    "/dev%2Fsession",
]
BUILT = ["/", "/index.html", "/assets/a.js", "/admin", "/admin/", "/admin/runs/r1", "/chat/t1"]


@pytest.mark.parametrize("origins", [(LISTED,), None], ids=["a-list", "no-list"])
async def test_no_page_reads_what_is_given_away_without_a_token(
    backend: Backend, tmp_path: Path, origins: Collection[str] | None
) -> None:
    app = in_dev(backend, tmp_path, origins).app

    told = {}
    for address in (*SPELLINGS, *BUILT):
        for method, headers in (("GET", READ), ("HEAD", READ), ("OPTIONS", ASKED)):
            told[method, address] = cross_origin(await ask(app, method, address, headers))

    assert not any(told.values()), told


async def test_what_answers_counts_and_not_what_was_asked_for(
    backend: Backend, tmp_path: Path
) -> None:
    """In development the chat is at every address whose route takes another method."""
    app = in_dev(backend, tmp_path, None).app

    shown = await ask(app, "GET", "/runs/r-1/cancel", READ)
    taken = await ask(app, "POST", "/runs/r-1/cancel", READ)

    assert (shown["content-type"], cross_origin(shown)) == ("text/html; charset=utf-8", {})
    assert cross_origin(taken)["allow-origin"] == "*"


async def ask(app: ASGIApp, method: str, address: str, given: Mapping[str, str]) -> Headers:
    """Return the headers of an answer; the address arrives as it is written, dots and all."""
    heard: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]
    told: list[Message] = []

    async def receive() -> Message:
        return heard.pop() if heard else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        told.append(message)

    headers = {"host": "localhost", **given}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(address),
        "raw_path": address.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1234),
        "server": ("localhost", 80),
    }
    await app(scope, receive, send)
    return Headers(raw=told[0]["headers"])
