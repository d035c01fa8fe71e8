"""What ``ropewalk dev`` serves besides: the demo chat at ``/``, and tokens for it and the admin UI.

The token is given to whoever asks from this machine's own names.  A page of another
site cannot read it (no CORS header allows that), and cannot pretend to be us by
pointing its own name at our address: a request for another name is refused.
"""

import ipaddress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount

from app.domain.errors import Forbidden, InvalidArgument
from app.http.endpoint import Endpoints
from app.http.operation import Operation, Word
from app.http.pages import BuiltPage
from app.http.reply import reply
from app.http.services import DevServices, HttpServices

_ROLES: Final = frozenset({"admin"})
_ROLE: Final = Word("role", "admin, or left out")


def dev_routes(services: HttpServices, dev: DevServices) -> list[BaseRoute]:
    """Return the routes; the last one takes every address that is left."""

    async def session(request: Request) -> Response:
        if not _is_local_name(request.url.hostname or ""):
            raise Forbidden("ask for this by localhost or by an IP address")
        role = _ROLE.read(request)
        if role is not None and role not in _ROLES:
            raise InvalidArgument(f"{_ROLE.name}: {_ROLE.meaning}")
        user_id, roles = (dev.user_id, ()) if role is None else (dev.admin_id, (role,))
        return reply({"token": dev.mint(user_id, roles), "userId": user_id})

    return [
        Endpoints(services).open_route("GET", "/dev/session", session, Operation(query=(_ROLE,))),
        Mount("/", app=BuiltPage(dev.chat), name="chat"),
    ]


def _is_local_name(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
