"""``/runs/{id}`` and ``/functions/{module:name}``."""

from typing import Any

from pydantic import RootModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.errors import NotFound
from app.domain.identity import Identity
from app.domain.run import Run
from app.domain.thread import Thread
from app.http.answers import Cancelled, Delivered, Retried, RunView
from app.http.endpoint import Endpoints
from app.http.operation import Operation
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key, json_object
from app.http.services import HttpServices
from app.protocol.wire import Inbound
from app.threads.access import readable_run
from app.threads.views import run_view


class Event(Inbound):
    """The body of ``POST /runs/{id}/events``."""

    name: str
    payload: Any = None


class Arguments(RootModel[dict[str, Any]]):
    """The body of ``POST /functions/{module:name}``: what the function takes, by name."""

    root: dict[str, Any] = {}


class RunRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes."""
        endpoints = Endpoints(self._services)
        run = "/runs/{run_id}"
        shown = Operation(answer=RunView, scope="agents:agentThread")
        cancel = Operation(answer=Cancelled, scope="agents:agentCancel")
        retry = Operation(answer=Retried, scope="agents:agentRetry")
        events = Operation(body=Event, answer=Delivered, scope="agents:agentSendEvent")
        call = Operation(body=Arguments)
        return [
            endpoints.route("GET", run, self.run, shown),
            endpoints.route("POST", f"{run}/cancel", self.cancel, cancel),
            endpoints.route("POST", f"{run}/retry", self.retry, retry),
            endpoints.route("POST", f"{run}/events", self.send_event, events),
            endpoints.route("POST", "/functions/{ref}", self.call, call),
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

    async def retry(self, request: Request, caller: Identity) -> Response:
        """Let a run that failed, its session's newest, go on from its last finished step."""
        run, thread = await self._find(request, caller)
        given = {"key": thread.key, "runId": run.id}
        dedupe = idempotency_key(request)
        return reply(
            await self._services.call("agents:agentRetry", given, caller=caller, dedupe=dedupe)
        )

    async def send_event(self, request: Request, caller: Identity) -> Response:
        """Give an event to an unfinished run, and wake it if it waits for one of this name."""
        run, _ = await self._find(request, caller)
        body = await body_of(request, Event)
        delivered = await self._services.call(
            "agents:agentSendEvent",
            {"runId": run.id, "name": body.name, "payload": body.payload},
            caller=caller,
            dedupe=idempotency_key(request),
            internal=True,
        )
        return reply(delivered)

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
        reader = self._services.reader
        found = await readable_run(reader, run_id, caller) if run_id.isprintable() else None
        if found is None:
            raise NotFound("no such run")
        return found
