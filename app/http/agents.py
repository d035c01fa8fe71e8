"""``/agents``: who there is, and prompting one."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.authoring.agent import Agent
from app.domain.errors import ChatError, NotFound
from app.domain.identity import Identity
from app.domain.storable import Json
from app.http.answers import Accepted, AgentCard, AgentList
from app.http.endpoint import Endpoints
from app.http.operation import Operation
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key
from app.http.services import HttpServices
from app.protocol.wire import Inbound, absent
from app.threads.access import may_see_agent


class Prompt(Inbound):
    """The body of ``POST /agents/{slug}``."""

    message: str
    session_id: str | None = absent()
    title: str | None = absent()
    mode: str | None = absent()
    model: str | None = absent()
    goal: Any = absent()
    output_schema: Any = absent(
        description="a JSON Schema with type object, at most 32 KB: the form of the answer"
    )
    attachments: Any = absent()


class AgentRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes."""
        endpoints = Endpoints(self._services)
        listed = Operation(answer=AgentList, scope="agents:agentList")
        shown = Operation(answer=AgentCard, scope="agents:agentList")
        prompt = Operation(body=Prompt, answer=Accepted, status=202)
        return [
            endpoints.route("GET", "/agents", self.list_agents, listed),
            endpoints.route("GET", "/agents/{slug}", self.agent, shown),
            endpoints.route("POST", "/agents/{slug}", self.prompt, prompt),
        ]

    async def list_agents(self, request: Request, caller: Identity) -> Response:
        """Return the agents that the caller may know of."""
        del request
        seen = [each for each in self._services.agents.values() if sees(each, caller)]
        return reply({"agents": [_card(each) for each in seen]})

    async def agent(self, request: Request, caller: Identity) -> Response:
        """Return one agent."""
        slug = request.path_params["slug"]
        found = self._services.agents.get(slug)
        if found is None or not sees(found, caller):
            raise NotFound(f"no agent {slug!r}")
        return reply(_card(found))

    async def prompt(self, request: Request, caller: Identity) -> Response:
        """Start a run and answer at once."""
        body = await body_of(request, Prompt)
        given: dict[str, object] = {
            "agent": request.path_params["slug"],
            "input": body.message,
            "key": body.session_id,
            "title": body.title,
            "mode": body.mode,
            "model": body.model,
            "goal": body.goal,
            "outputSchema": body.output_schema,
            "attachments": body.attachments,
        }
        started = await self._services.call(
            "agents:agentRun",
            {name: value for name, value in given.items() if value is not None},
            caller=caller,
            dedupe=idempotency_key(request),
        )
        if not isinstance(started, dict):
            raise ChatError("agents:agentRun answered something else than a run")
        accepted = {"sessionId": started["key"], "runId": started["id"]}
        accepted |= {name: started[name] for name in ("steered", "position") if name in started}
        return reply(accepted, status=202)


def sees(agent: Agent, caller: Identity) -> bool:
    """Return whether an agent is in the caller's list."""
    return may_see_agent(agent.access, caller)


def _card(agent: Agent) -> dict[str, Json]:
    return {
        "slug": agent.slug,
        "name": agent.name,
        "description": agent.description,
        "access": agent.access,
    }
