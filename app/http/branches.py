"""Forks and branches of a session: another answer, another question, another conversation.

A branch is a session of its own.  ``.../branches`` may be asked of any session of a conversation,
and says the same whichever it is.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.branching import Branch, Branches
from app.domain.errors import ChatError
from app.domain.identity import Identity
from app.http.answers import Accepted, Forked
from app.http.endpoint import Endpoints
from app.http.operation import Operation
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key
from app.http.services import HttpServices
from app.http.sessions import SESSION, readable_session
from app.protocol.rows import BranchList
from app.protocol.wire import Inbound, absent
from app.threads.views import branches_view

_MessageId = Annotated[str, Field(min_length=1, max_length=2048)]
_BRANCH: Final = f"{SESSION}/branches/{{branch_id:path}}/select"
_MESSAGE: Final = f"{SESSION}/messages/{{message_id}}/edit"


class Fork(Inbound):
    """The body of ``POST .../fork``; without a message, everything is copied."""

    message_id: _MessageId | None = absent()
    edge: Literal["after", "before"] | None = absent(
        description="whether that message is copied, too: after, unless said otherwise"
    )
    title: str | None = absent()


class Regenerate(Inbound):
    """The body of ``POST .../regenerate``; without a message, the last run is meant."""

    message_id: _MessageId | None = absent()
    model: str | None = absent()


class EditMessage(Inbound):
    """The body of ``POST .../messages/{messageId}/edit``: what to ask instead."""

    message: str


class BranchRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes; they come before those of a session, whose key may hold slashes."""
        endpoints = Endpoints(self._services)
        fork = Operation(body=Fork, answer=Forked, status=201, scope="agents:agentFork")
        regenerate = Operation(
            body=Regenerate, answer=Accepted, status=202, scope="agents:agentRegenerate"
        )
        edit = Operation(
            body=EditMessage, answer=Accepted, status=202, scope="agents:agentEditMessage"
        )
        branches = Operation(answer=BranchList, scope="agents:agentThread")
        select = Operation(status=204, scope="agents:agentSelectBranch")
        return [
            endpoints.route("POST", f"{SESSION}/fork", self.fork, fork),
            endpoints.route("POST", f"{SESSION}/regenerate", self.regenerate, regenerate),
            endpoints.route("POST", _MESSAGE, self.edit, edit),
            endpoints.route("GET", f"{SESSION}/branches", self.branches, branches),
            endpoints.route("POST", _BRANCH, self.select, select),
        ]

    async def fork(self, request: Request, caller: Identity) -> Response:
        """Begin a session of the caller's own with copies of this one's messages."""
        body = await body_of(request, Fork)
        given = {"messageId": body.message_id, "edge": body.edge, "title": body.title}
        made = await self._call(request, caller, "agents:agentFork", given)
        return reply({"sessionId": made["key"]}, status=201)

    async def regenerate(self, request: Request, caller: Identity) -> Response:
        """Answer again, in a branch; the session stays as it is."""
        body = await body_of(request, Regenerate)
        given = {"messageId": body.message_id, "model": body.model}
        made = await self._call(request, caller, "agents:agentRegenerate", given)
        return reply({"sessionId": made["key"], "runId": made["id"]}, status=202)

    async def edit(self, request: Request, caller: Identity) -> Response:
        """Ask something else instead, in a branch; the session stays as it is."""
        body = await body_of(request, EditMessage)
        given = {"messageId": request.path_params["message_id"], "input": body.message}
        made = await self._call(request, caller, "agents:agentEditMessage", given)
        return reply({"sessionId": made["key"], "runId": made["id"]}, status=202)

    async def branches(self, request: Request, caller: Identity) -> Response:
        """Return the sessions of a conversation, and which one is shown."""
        reader = self._services.reader
        found = await readable_session(reader, request, caller, 0)
        if found.conversation is not None:
            found = await reader.snapshot(found.conversation, 0, [caller]) or found
        alone = Branch(found.thread.id, found.thread.key, None, 0, found.thread.created_at)
        return reply(branches_view(found.branches or Branches(alone.id, [alone])))

    async def select(self, request: Request, caller: Identity) -> Response:
        """Show another session of the conversation, in every tab."""
        given = {"branch": request.path_params["branch_id"]}
        await self._call(request, caller, "agents:agentSelectBranch", given)
        return Response(status_code=204)

    async def _call(
        self, request: Request, caller: Identity, function: str, given: dict[str, Any]
    ) -> dict[str, Any]:
        """Call a function on the session of the address, which has to answer to the caller."""
        session = await readable_session(self._services.reader, request, caller, 0)
        said = {name: value for name, value in given.items() if value is not None}
        answer = await self._services.call(
            function,
            {"key": session.thread.key, **said},
            caller=caller,
            dedupe=idempotency_key(request),
        )
        if answer is None:
            return {}
        if not isinstance(answer, dict):
            raise ChatError(f"{function} answered something else than an object")
        return answer
