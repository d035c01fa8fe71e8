"""Every way in which somebody may ask a gateway for a function, and what came of it."""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx2

from tests.support.deployment import Deployment
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient

Answer: TypeAlias = Mapping[str, Any]
"""A frame without its id, or a response without its date and length."""

Arguments: TypeAlias = Mapping[str, Any]

WAYS: Mapping[str, str] = {
    "socket": "call",
    "socket, deduplicated": "call_once",
    "socket, before the welcome": "call_early",
    "subscription": "subscribe",
    "subscription that resumes": "resubscribe",
    "HTTP": "post",
    "HTTP, escaped": "post_escaped",
    "HTTP, idempotent": "post_once",
}
"""Every way to ask for a function, and the method of ``Visitor`` that takes it."""

_ids = itertools.count(1)


@dataclass(frozen=True)
class Visitor:
    """Somebody with a socket and an HTTP client."""

    fort: Deployment
    token: str | None
    socket: WsClient
    http: httpx2.AsyncClient

    async def call(self, ref: str, args: Arguments) -> Answer:
        """Call on the socket."""
        return await self._frame(type="call", fn=ref, args=args)

    async def call_once(self, ref: str, args: Arguments) -> Answer:
        """Call on the socket under a dedupe key."""
        return await self._frame(type="call", fn=ref, args=args, dedupe=f"d-{next(_ids)}")

    async def call_early(self, ref: str, args: Arguments) -> Answer:
        """Call on a socket of its own before the welcome: frames that come early are held."""
        client = WsClient(self.fort.socket_url)
        await client.open()
        try:
            hello = {"type": "hello", "protocol": 1}
            hello |= {"token": self.token} if self.token else {}
            frame = {"type": "call", "id": "early", "fn": ref, "args": args}
            for each in (hello, frame):
                await client.socket.send(json.dumps(each))
            await wait_until(lambda: client.loose, description="an answer")
            return _without(client.loose[0], "id")
        finally:
            await client.close()

    async def subscribe(self, ref: str, args: Arguments) -> Answer:
        """Subscribe."""
        return await self._frame(type="subscribe", query=ref, args=args)

    async def resubscribe(self, ref: str, args: Arguments) -> Answer:
        """Subscribe as if it had been subscribed to before."""
        cursor = f"{self.fort.gateway.feeds.timeline}.1"
        return await self._frame(type="subscribe", query=ref, args=args, cursor=cursor)

    async def post(self, ref: str, args: Arguments) -> Answer:
        """Call over HTTP."""
        return await self.request("POST", f"/functions/{quote(ref)}", args)

    async def post_escaped(self, ref: str, args: Arguments) -> Answer:
        """Call over HTTP, with every letter of the address escaped."""
        escaped = "".join(f"%{byte:02X}" for byte in ref.encode())
        return await self.request("POST", f"/functions/{escaped}", args)

    async def post_once(self, ref: str, args: Arguments) -> Answer:
        """Call over HTTP under an idempotency key."""
        key = f"k-{next(_ids)}"
        return await self.request("POST", f"/functions/{quote(ref)}", args, key)

    @property
    def ways(self) -> "Mapping[str, WayIn]":
        """Return every way to ask for a function, by what it is called."""
        return {name: getattr(self, method) for name, method in WAYS.items()}

    async def request(
        self, method: str, path: str, body: Arguments | None = None, key: str | None = None
    ) -> Answer:
        """Ask over HTTP: status, headers and body."""
        headers = {} if key is None else {"idempotency-key": key}
        given = None if body is None else dict(body)
        answer = await self.http.request(method, path, json=given, headers=headers)
        shown = _without(dict(answer.headers), "date", "content-length")
        return {"status": answer.status_code, "headers": shown, "body": answer.text}

    async def _frame(self, **frame: object) -> Answer:
        """Send a frame and return the first one that answers it."""
        id_ = f"way-{next(_ids)}"
        seen = len(self.socket.loose)
        await self.socket.send(id=id_, **frame)

        def found() -> list[dict[str, Any]]:
            return [each for each in self.socket.loose[seen:] if each.get("id", id_) == id_]

        await wait_until(found, description=f"an answer to {frame}")
        answer = _without(found()[0], "id")
        if (frame["type"] == "subscribe" and answer["type"] != "error") or answer.get("live"):
            await self.socket.send(type="unsubscribe", id=id_)
        return answer


WayIn: TypeAlias = Callable[[str, Arguments], Awaitable[Answer]]
"""Takes a reference and arguments."""


@asynccontextmanager
async def a_visitor(
    fort: Deployment, user: str | None = None, *roles: str, token: str | None = None
) -> AsyncIterator[Visitor]:
    """Yield somebody who speaks for a user, or by a token."""
    async with (
        fort.socket(user, *roles, token=token) as socket,
        fort.http(user, *roles, token=token) as http,
    ):
        yield Visitor(fort, socket.token, socket, http)


def _without(answer: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in names}
