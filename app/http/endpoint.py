"""How every route runs: timed under its path, and whatever it raises becomes a response."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app.domain.errors import NotFound
from app.domain.identity import Identity
from app.http.faults import fault_response
from app.http.operation import DocumentedRoute, Operation
from app.http.requests import bearer_token
from app.http.services import HttpServices
from app.threads.scopes import check_scope

Handler: TypeAlias = Callable[[Request, Identity], Awaitable[Response]]
OpenHandler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """Makes routes over the same services."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def route(
        self, method: str, path: str, handler: Handler, operation: Operation
    ) -> DocumentedRoute:
        """Return a route whose handler is told who is calling."""

        async def known(request: Request) -> Response:
            services = self._services
            caller = await services.authenticate(bearer_token(request))
            await services.admit(caller, services.peers.address(request.scope))
            if operation.scope is not None:
                check_scope(caller, operation.scope)
            if not all(each.isprintable() for each in request.path_params.values()):
                raise NotFound("nothing has such a name")  # Postgres would not even look
            return await handler(request, caller)

        return self._route(method, path, known, operation, handler)

    def open_route(
        self, method: str, path: str, handler: OpenHandler, operation: Operation
    ) -> DocumentedRoute:
        """Return a route that asks nobody who he is."""
        return self._route(method, path, handler, replace(operation, asks_who=False), handler)

    def _route(
        self,
        method: str,
        path: str,
        answer: OpenHandler,
        operation: Operation,
        documented: Handler | OpenHandler,
    ) -> DocumentedRoute:
        async def endpoint(request: Request) -> Response:
            begun = perf_counter()
            try:
                response = await answer(request)
            except ClientDisconnect:
                response = Response(status_code=400)  # nobody is there to read it
            except Exception as error:  # noqa: BLE001  # the edge: whatever it is becomes an answer
                response = fault_response(error, where=f"{method} {path}")
            labels = (method, path, str(response.status_code))
            self._services.metrics.requests.labels(*labels).observe(perf_counter() - begun)
            return response

        summary = (documented.__doc__ or "").partition("\n")[0]
        return DocumentedRoute(method, path, endpoint, operation, summary)
