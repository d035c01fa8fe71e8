"""``/agents``: who there is, prompting one, and the sessions with it.

A session and a thread are one row, and ``sessionId`` is the thread's key.  A session
of somebody else, or of another agent, is answered like a missing one.
"""

from typing import Annotated, Any, TypeVar

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.authoring.agent import Agent
from app.domain.errors import ChatError, InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.ports import ThreadSnapshot
from app.domain.storable import Json
from app.http.endpoint import Endpoints
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key, whole_number
from app.http.services import HttpServices
from app.protocol.wire import Inbound, absent
from app.threads.access import may_see_agent
from app.threads.limits import PAGE_LIMIT_MAX
from app.threads.starting import checked_key
from app.threads.views import approval_view, message_view, thread_summary

T = TypeVar("T")

SESSIONS = 50


class Prompt(Inbound):
    """The body of ``POST /agents/{slug}``."""

    message: str
    session_id: str | None = absent()
    title: str | None = absent()
    mode: str | None = absent()
    model: str | None = absent()
    goal: Any = absent()
    output_schema: Any = absent()
    attachments: Any = absent()


class Cancel(Inbound):
    """The body of ``POST .../cancel``; without a run, whatever runs there now."""

    run_id: Annotated[str, Field(min_length=1, max_length=100)] | None = absent()


class AgentRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes.  A key may hold slashes, so the longest path comes first."""
        endpoints = Endpoints(self._services)
        session = "/agents/{slug}/sessions/{session_id:path}"
        return [
            endpoints.route("GET", "/agents", self.list_agents),
            endpoints.route("POST", f"{session}/cancel", self.cancel),
            endpoints.route("GET", "/agents/{slug}/sessions", self.list_sessions),
            endpoints.route("GET", session, self.session),
            endpoints.route("GET", "/agents/{slug}", self.agent),
            endpoints.route("POST", "/agents/{slug}", self.prompt),
        ]

    async def list_agents(self, request: Request, caller: Identity) -> Response:
        """Return the agents that the caller may know of."""
        del request
        seen = [each for each in self._services.agents.values() if _sees(each, caller)]
        return reply({"agents": [_card(each) for each in seen]})

    async def agent(self, request: Request, caller: Identity) -> Response:
        """Return one agent."""
        slug = request.path_params["slug"]
        found = self._services.agents.get(slug)
        if found is None or not _sees(found, caller):
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
        return reply({"sessionId": started["key"], "runId": started["id"]}, status=202)

    async def list_sessions(self, request: Request, caller: Identity) -> Response:
        """Return the caller's sessions with an agent, newest activity first."""
        slug = request.path_params["slug"]
        limit = whole_number(request, "limit", least=1, most=PAGE_LIMIT_MAX) or SESSIONS
        before = request.query_params.get("before")
        if before is not None and not before.isprintable():
            raise InvalidArgument("before: take the `next` of the page before")
        agent = self._services.agents.get(slug)
        if agent is None:
            raise NotFound(f"no agent {slug!r}")
        threads = await self._services.reader.sessions(
            slug, caller.user_id, everybody=caller.is_admin, before=before, limit=limit
        )
        if not (threads or _sees(agent, caller)):
            raise NotFound(f"no agent {slug!r}")
        sessions = [{"sessionId": each.key, **thread_summary(each)} for each in threads]
        following = threads[-1].id if len(threads) == limit else None
        return reply({"sessions": sessions, "next": following})

    async def session(self, request: Request, caller: Identity) -> Response:
        """Return a session with its newest messages, or those below ``before``."""
        limit = whole_number(request, "limit", least=1, most=PAGE_LIMIT_MAX) or PAGE_LIMIT_MAX
        before = whole_number(request, "before", least=1, most=1 << 60)
        snapshot = await self._snapshot(request, caller, limit if before is None else 0)
        messages = snapshot.messages
        if before is not None:
            messages = await self._services.reader.page(snapshot.thread.id, before, limit)
        return reply(_session(snapshot, [message_view(each) for each in messages]))

    async def cancel(self, request: Request, caller: Identity) -> Response:
        """End the run that is meant as cancelled; a finished one stays as it is."""
        body = await body_of(request, Cancel)
        snapshot = await self._snapshot(request, caller, 0)
        ended = await self._services.store.cancel(snapshot.thread.id, body.run_id)
        return reply({"cancelled": ended is not None})

    async def _snapshot(self, request: Request, caller: Identity, messages: int) -> ThreadSnapshot:
        """Return the session of the address.

        Raises:
            NotFound: there is none for this caller; one sentence for all that may mean.
        """
        try:
            key = checked_key(request.path_params["session_id"])
        except InvalidArgument:
            raise _no_session() from None
        found = await self._services.reader.snapshot(key, messages)
        if (
            found is None
            or not caller.may_read(found.thread.owner)
            or found.thread.agent != request.path_params["slug"]
        ):
            raise _no_session()
        return found


def _no_session() -> NotFound:
    return NotFound("no such session")


def _sees(agent: Agent, caller: Identity) -> bool:
    return may_see_agent(agent.access, caller)


def _card(agent: Agent) -> dict[str, Json]:
    return {
        "slug": agent.slug,
        "name": agent.name,
        "description": agent.description,
        "access": agent.access,
    }


def _session(snapshot: ThreadSnapshot, messages: list[dict[str, Json]]) -> dict[str, Json]:
    """Return a session as HTTP shows it.

    A session that waits for a person is at work (R4): it says ``running`` and lists what
    it waits for.
    """
    thread = snapshot.thread
    summary = thread_summary(thread)
    waits = summary["status"] == "awaiting_input"
    return {
        "sessionId": thread.key,
        **summary,
        "status": "running" if waits else summary["status"],
        "runId": thread.live_run,
        "stopped": None if thread.live_run else snapshot.stopped,
        "goal": None,
        "output": None,
        "messages": list(messages),
        "pendingApprovals": [approval_view(each) for each in snapshot.approvals],
    }
