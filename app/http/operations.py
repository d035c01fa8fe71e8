"""What operators and balancers ask: is it up, may it get traffic, how is it doing."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.http.endpoint import Endpoints
from app.http.reply import reply
from app.http.services import HttpServices


class OperationRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes."""
        endpoints = Endpoints(self._services)
        return [
            endpoints.open_route("GET", "/healthz", self.health),
            endpoints.open_route("GET", "/readyz", self.ready),
            endpoints.open_route("GET", "/metrics", self.metrics),
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
