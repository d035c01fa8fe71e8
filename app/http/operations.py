"""What operators and balancers ask: is it up, may it get traffic, how is it doing."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.errors import Forbidden
from app.domain.identity import Identity
from app.http.answers import Findings, Health, Readiness
from app.http.endpoint import Endpoints
from app.http.operation import Operation
from app.http.reply import reply
from app.http.requests import body_of
from app.http.services import HttpServices
from app.protocol.wire import Inbound


class Examination(Inbound):
    """The body of ``POST /doctor``."""

    mend: bool = False


class OperationRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes."""
        endpoints = Endpoints(self._services)
        metrics = Operation(media_type="text/plain")
        doctor = Operation(body=Examination, answer=Findings, scope="agents:doctor")
        return [
            endpoints.open_route("GET", "/healthz", self.health, Operation(answer=Health)),
            endpoints.open_route("GET", "/readyz", self.ready, Operation(answer=Readiness)),
            endpoints.open_route("GET", "/metrics", self.metrics, metrics),
            endpoints.route("POST", "/doctor", self.doctor, doctor),
        ]

    async def health(self, request: Request) -> Response:
        """Say that the process is up; nothing else is looked at."""
        del request
        return reply({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Say whether it may get traffic, and if not, why."""
        del request
        checks = await self._services.readiness()
        ready = not any(checks.values())
        shown = {name: problem or "ok" for name, problem in checks.items()}
        return reply({"ready": ready, "checks": shown}, status=200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        """Return every metric in Prometheus's text format."""
        del request
        metrics = self._services.metrics
        return Response(metrics.expose(), media_type=metrics.content_type)

    async def doctor(self, request: Request, caller: Identity) -> Response:
        """Look for what the laws do not allow, and mend it if that is asked for; for admins."""
        if not caller.is_admin:
            raise Forbidden("only an admin may do this")
        body = await body_of(request, Examination)
        found = await self._services.examine(body.mend)
        shown = [
            {"kind": each.kind, "sentence": each.sentence, "mended": each.is_mended}
            for each in found
        ]
        return reply({"findings": shown})
