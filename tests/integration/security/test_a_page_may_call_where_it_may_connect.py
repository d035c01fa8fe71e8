"""One list says whose pages may open a socket and call the routes, and both read it alike.

A page that is not on it is stopped by its browser, for which the answers count: to what it asks
before it sends a token or JSON, and to what it has sent.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from app.gateway.asgi import GatewayOptions
from app.settings import Settings
from tests.support.deployment import Deployment, deployment
from tests.support.team_folder import TeamFolder
from tests.support.wait_until import wait_until

LISTED = "https://Chat.example/, http://localhost:5173, http://[::1]:8080"
MAY: Mapping[str, bool] = {
    "https://chat.example": True,
    "HTTPS://Chat.Example": True,
    "https://chat.example:443": True,
    "http://localhost:5173": True,
    "http://[::1]:8080": True,
    "http://chat.example": False,
    "https://chat.example:8443": False,
    "https://chat.example:80": False,
    "https://chat.example.evil.example": False,
    "https://evil.example/https://chat.example": False,
    "https://evil.example#https://chat.example": False,
    "https://chat.example@evil.example": False,
    "https://evil-chat.example": False,
    "https://chat.example, https://evil.example": False,
    "https://evil.example https://chat.example": False,
    "https://www.chat.example": False,
    "https://chat.example.": False,
    "http://localhost": False,
    "http://127.0.0.1:5173": False,
    "file://": False,
    "chrome-extension://chat.example": False,
    "null": False,
    "*": False,
}
"""What a browser, or something that claims to be one, may say of a page."""


@pytest.fixture
async def fort(folder: TeamFolder, settings: Settings) -> AsyncIterator[Deployment]:
    """A gateway with a list of pages."""
    listed = settings.model_copy(update={"allowed_origins": LISTED})
    options = GatewayOptions(origins=listed.origins, reconcile_s=3600)
    async with deployment(folder.load(), listed, options=options) as made:
        yield made


async def _may_connect(fort: Deployment, origin: str) -> bool:
    try:
        async with connect(fort.socket_url, origin=Origin(origin)):
            return True
    except InvalidStatus:
        return False


async def _may_send(http: httpx2.AsyncClient, origin: str) -> bool:
    asked = {"access-control-request-method": "POST", "origin": origin}
    answer = await http.options("/functions/vault:mine", headers=asked)
    return answer.headers.get("access-control-allow-origin") == origin


async def _may_read(http: httpx2.AsyncClient, origin: str) -> bool:
    answer = await http.get("/agents", headers={"origin": origin})
    assert answer.status_code == 200
    return answer.headers.get("access-control-allow-origin") == origin


async def test_a_page_may_call_exactly_if_it_may_connect(fort: Deployment) -> None:
    async with fort.http("ann") as http:
        told = {
            each: (
                await _may_connect(fort, each),
                await _may_send(http, each),
                await _may_read(http, each),
            )
            for each in MAY
        }

    assert told == {origin: (may,) * 3 for origin, may in MAY.items()}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/agents/desk/sessions/k/stream", None),
        ("GET", "/agents/desk/ai-sdk/k/stream", None),
        ("POST", "/agents/desk/ag-ui", {"threadId": "k", "runId": "r", "messages": []}),
    ],
)
async def test_a_pages_stream_is_told_at_once_and_ends_with_the_page(
    fort: Deployment, method: str, path: str, body: Mapping[str, object] | None
) -> None:
    await fort.talk("ann", "k", "hello")

    async with (
        asyncio.timeout(30),
        fort.http("ann") as page,
        page.stream(method, path, json=body, headers={"origin": "https://chat.example"}) as answer,
    ):
        pieces = answer.aiter_bytes()
        first = await anext(pieces)
        assert answer.headers["access-control-allow-origin"] == "https://chat.example"
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert first
        assert len(fort.gateway.streams) == 1

    # The run waits for a worker, so nothing else can have ended it.
    await wait_until(lambda: len(fort.gateway.streams) == 0, description="the page is forgotten")
    async with fort.http("ann") as server, server.stream(method, path, json=body) as answer:
        assert "access-control-allow-origin" not in answer.headers
