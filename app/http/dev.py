"""What ``ropewalk dev`` serves besides: the demo chat at ``/`` and a token for it.

The token is given to whoever asks from this machine's own names.  A page of another
site cannot read it (no CORS header allows that), and cannot pretend to be us by
pointing its own name at our address: a request for another name is refused.
"""

import ipaddress

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.domain.errors import Forbidden
from app.http.endpoint import Endpoints
from app.http.operation import Operation
from app.http.reply import reply
from app.http.services import DevServices, HttpServices

_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Ropewalk</title></head>
<body style="font: 16px/1.5 system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>The chat is not built yet</h1>
<p>Run <code>make setup</code> once, then load this page again.</p>
</body></html>
"""


def dev_routes(services: HttpServices, dev: DevServices) -> list[BaseRoute]:
    """Return the routes; the last one takes every address that is left."""

    async def session(request: Request) -> Response:
        if not _is_local_name(request.url.hostname or ""):
            raise Forbidden("ask for this by localhost or by an IP address")
        return reply({"token": dev.mint(dev.user_id), "userId": dev.user_id})

    return [
        Endpoints(services).open_route("GET", "/dev/session", session, Operation()),
        Mount("/", app=ChatFiles(directory=dev.chat, html=True, check_dir=False), name="chat"),
    ]


class ChatFiles(StaticFiles):
    """The built chat.  An address without a file is the page itself: its router knows it."""

    async def check_config(self) -> None:
        """Let a folder be missing: the page then says how to build it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, the page, or how to build it."""
        if not self._has("index.html"):
            return HTMLResponse(_NOT_BUILT, status_code=503)
        if not self._has(path) and "." not in path.rpartition("/")[2]:
            path = "index.html"
        response = await super().get_response(path, scope)
        # Files under assets/ carry a hash in their name; the page that names them must be fresh.
        immutable = path.startswith("assets/") and response.status_code == 200
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if immutable else "no-cache"
        )
        return response

    def _has(self, path: str) -> bool:
        try:
            _, found = self.lookup_path(path)
        except (OSError, ValueError):  # no file can be called that
            raise HTTPException(404) from None
        return found is not None


def _is_local_name(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
