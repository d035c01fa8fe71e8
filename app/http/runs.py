"""``/runs/{id}`` and ``/functions/{module:name}``."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.errors import NotFound
from app.domain.identity import Identity
from app.domain.run import Run
from app.domain.thread import Thread
from app.http.endpoint import Endpoints
from app.http.reply import reply
from app.http.requests import idempotency_key, json_object
from app.http.services import HttpServices
from app.threads.access import thread_of
from app.threads.views import run_view


class RunRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes."""
        endpoints = Endpoints(self._services)
        return [
            endpoints.route("GET", "/runs/{run_id}", self.run),
            endpoints.route("POST", "/runs/{run_id}/cancel", self.cancel),
            endpoints.route("POST", "/functions/{ref}", self.call),
        ]

    async def run(self, request: Request, caller: Identity) -> Response:
        """Return a run and the session that it belongs to."""
        run, thread = await self._find(request, caller)
        return reply({**run_view(run), "sessionId": thread.key})

    async def cancel(self, request: Request, caller: Identity) -> Response:
        """End a run as cancelled; a finished one stays as it is."""
        run, thread = await self._find(request, caller)
        ended = await self._services.store.cancel(thread.id, run.id)
        return reply({"cancelled": ended is not None})

    async def call(self, request: Request, caller: Identity) -> Response:
        """Call a server function; the body holds its arguments."""
        value = await self._services.call(
            request.path_params["ref"],
            await json_object(request),
            caller=caller,
            dedupe=idempotency_key(request),
        )
        return reply(value)

    async def _find(self, request: Request, caller: Identity) -> tuple[Run, Thread]:
        """Return the run of the address.

        Raises:
            NotFound: there is none for this caller.
        """
        run_id = request.path_params["run_id"]
        run = await self._services.reader.run(run_id) if run_id.isprintable() else None
        if run is not None:
            thread = await thread_of(self._services.reader, run, caller)
            if thread is not None:
                return run, thread
        raise NotFound("no such run")
