"""Pages of another origin (CORS): which may call the routes, and read what they answer.

Laws: they are the pages that may open a socket, and no others.  What counts is the route that
takes the request, never what its address looks like, and only a route that asks who is calling is
shared: what is given away without a token (``/dev/session``, built pages) never is.

Nothing is read from cookies, and browsers are never told to send any: a page does here what it
could do from a server of its own, with the token that it was given.
"""

from collections.abc import Collection, Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.operation import DocumentedRoute
from app.protocol.origin import canonical_origin

_SENT: Final = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID")
"""Headers that our client, the AI SDK's and AG-UI's send and a browser asks about first."""

_READ: Final = ("Retry-After",)
"""Headers that they read and a browser would keep from them."""

_REMEMBERED_S: Final = 600
"""For so long a browser does not ask again, and a page taken off the list can act unseeing."""


class SharedRoutes(CORSMiddleware):
    """An application, and which of its routes pages of other origins may call."""

    def __init__(
        self, app: ASGIApp, routes: Sequence[BaseRoute], origins: Collection[str] | None
    ) -> None:
        """Share the routes that ask who is calling.

        Args:
            app: has the routes, and says in the scope which one it chose, as Starlette does.
                All that it answers passes here, its answers to what broke included.
            routes: all of them.
            origins: the pages, as ``https://host``; ``None``: all.
        """
        documented = [each for each in routes if isinstance(each, DocumentedRoute)]
        self._routes = [each for each in documented if each.operation.asks_who]
        self._endpoints = {each.endpoint for each in self._routes}
        self._origins = frozenset(map(canonical_origin, origins or ()))
        super().__init__(
            app,
            allow_origins=("*",) if origins is None else (),
            allow_methods=sorted({each.method for each in self._routes}),
            allow_headers=_SENT,
            # A gateway in a private network is open to the public pages that were named alone.
            allow_private_network=origins is not None,
            expose_headers=_READ,
            max_age=_REMEMBERED_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser that asks what it may send (ASGI); let all else through."""
        is_request = scope["type"] == "http"
        if is_request and (scope["method"] != "OPTIONS" or self._has(scope)):
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def simple_response(
        self, scope: Scope, receive: Receive, send: Send, request_headers: Headers
    ) -> None:
        """Let a request through, and say of a shared route's answer who may read it."""

        async def pass_on(message: Message) -> None:
            begins = message["type"] == "http.response.start"
            if begins and scope.get("endpoint") in self._endpoints:
                await self.send(message, send, request_headers)
            else:
                await send(message)

        await self.app(scope, receive, pass_on)

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether a page of this origin may."""
        return self.allow_all_origins or canonical_origin(origin) in self._origins

    def _has(self, scope: Scope) -> bool:
        return any(each.matches(scope)[0] is not Match.NONE for each in self._routes)
