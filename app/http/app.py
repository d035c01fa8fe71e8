"""All routes, the socket's beside those of HTTP, as one application."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp

from app.http.ag_ui import AgUiRoutes
from app.http.agents import AgentRoutes
from app.http.ai_sdk import AiSdkRoutes
from app.http.approvals import ApprovalRoutes
from app.http.branches import BranchRoutes
from app.http.cors import SharedRoutes
from app.http.dev import dev_routes
from app.http.endpoint import Endpoints
from app.http.faults import fault_response
from app.http.openapi import openapi_document
from app.http.operation import Operation
from app.http.operations import OperationRoutes
from app.http.pages import admin_routes
from app.http.reply import reply
from app.http.runs import RunRoutes
from app.http.services import HttpServices
from app.http.sessions import SessionRoutes


def web_app(
    services: HttpServices,
    *,
    sockets: ASGIApp | None = None,
    origins: Collection[str] | None = None,
) -> ASGIApp:
    """Return the application.

    Args:
        services: what the routes use.
        sockets: takes what is opened at ``/ws``.
        origins: whose pages may call the routes, as ``https://host``; ``None``: all may.
    """
    routes = http_routes(services)
    socket = [] if sockets is None else [WebSocketRoute("/ws", sockets)]
    app = Starlette(routes=[*socket, *routes], exception_handlers=_FAULTS)
    return SharedRoutes(app, routes, origins)


def http_routes(services: HttpServices) -> list[BaseRoute]:
    """Return every route.  In development the last one takes whatever is left."""
    routes: list[BaseRoute] = [
        *OperationRoutes(services).routes(),
        *ApprovalRoutes(services).routes(),
        *BranchRoutes(services).routes(),
        *SessionRoutes(services).routes(),
        *AgentRoutes(services).routes(),
        *RunRoutes(services).routes(),
    ]
    if services.retell is not None:
        routes += AiSdkRoutes(services, services.retell).routes()
        routes += AgUiRoutes(services, services.retell).routes()
    routes.append(_description(services, routes))
    if services.admin is not None:
        routes += admin_routes(services.admin)
    if services.dev is not None:
        routes += dev_routes(services, services.dev)
    return routes


def _description(services: HttpServices, routes: Sequence[BaseRoute]) -> BaseRoute:
    document = openapi_document(routes, services.version)

    async def describe(request: Request) -> Response:
        """Return the description of these routes, as OpenAPI 3.1."""
        del request
        return reply(document)

    return Endpoints(services).open_route("GET", "/openapi.json", describe, Operation())


async def _fault(request: Request, error: Exception) -> Response:
    return fault_response(error, where=f"{request.method} {request.url.path}")


_FAULTS: dict[Any, Callable[[Request, Exception], Any]] = {404: _fault, 405: _fault, 500: _fault}
"""Starlette's exception handlers: an address that no route takes answers like the others."""
