"""All routes of HTTP, for the composition root to put beside the socket's."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from app.http.agents import AgentRoutes
from app.http.dev import dev_routes
from app.http.faults import fault_response
from app.http.operations import OperationRoutes
from app.http.runs import RunRoutes
from app.http.services import HttpServices


def http_routes(services: HttpServices) -> list[BaseRoute]:
    """Return every route.  In development the last one takes whatever is left."""
    routes: list[BaseRoute] = [
        *OperationRoutes(services).routes(),
        *AgentRoutes(services).routes(),
        *RunRoutes(services).routes(),
    ]
    if services.dev is not None:
        routes += dev_routes(services, services.dev)
    return routes


async def _fault(request: Request, error: Exception) -> Response:
    return fault_response(error, where=f"{request.method} {request.url.path}")


FAULTS: dict[Any, Callable[[Request, Exception], Any]] = {404: _fault, 405: _fault, 500: _fault}
"""Starlette's exception handlers: an address that no route takes answers like the others."""
