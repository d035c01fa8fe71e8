"""What ``ropewalk dev`` serves besides: the demo chat at ``/``, and tokens for it and the admin UI.

Law: the token is given on this machine alone, unless whoever started ``dev`` said ``anyone``.  What
counts is the connection's other end: a request that a proxy passed on (it carries one of the
headers that proxies write, whatever they say) comes from wherever the proxy had it.

A page of another site cannot read the token (no CORS header allows that), and cannot pretend to be
us by pointing its own name at our address: a request for another name is refused, always.
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
_FROM_PROXIES: Final = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
)


def dev_routes(services: HttpServices, dev: DevServices) -> list[BaseRoute]:
    """Return the routes; the last one takes every address that is left."""

    async def session(request: Request) -> Response:
        if not _is_local_name(request.url.hostname or ""):
            raise Forbidden("ask for this by localhost or by an IP address")
        if not (dev.signs_in_anyone or _is_from_here(request)):
            raise Forbidden(
                "This server signs in only who opens it on the machine it runs on, as"
                f" http://localhost:{request.url.port or 80}. To let anyone in who can reach it,"
                " start it with `ropewalk dev --sign-in anyone`."
            )
        role = _ROLE.read(request)
        if role is not None and role not in _ROLES:
            raise InvalidArgument(f"{_ROLE.name}: {_ROLE.meaning}")
        user_id, roles = (dev.user_id, ()) if role is None else (dev.admin_id, (role,))
        return reply({"token": dev.mint(user_id, roles), "userId": user_id})

    return [
        Endpoints(services).open_route("GET", "/dev/session", session, Operation(query=(_ROLE,))),
        Mount("/", app=BuiltPage(dev.chat), name="chat"),
    ]


def _is_from_here(request: Request) -> bool:
    """Whether the connection's other end is a program on this machine, and no proxy."""
    if request.client is None or any(name in request.headers for name in _FROM_PROXIES):
        return False
    try:
        peer = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback


def _is_local_name(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
