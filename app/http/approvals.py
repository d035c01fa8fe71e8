"""Approvals over HTTP: of a session, and the inbox across sessions.

Who may not decide is refused alike whether or not there is such a session (R10).  A session is
addressed by the agent of its thread, whoever asks in it: what the run of another agent asks is
shown in the session that it was started from.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.errors import ClientFault, Forbidden, InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.storable import Json
from app.http.answers import ApprovalList, ResolvedList
from app.http.endpoint import Endpoints
from app.http.operation import Operation, WholeNumber, Word
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key
from app.http.services import HttpServices
from app.http.sessions import no_session
from app.protocol.calls import AGENT_APPROVALS, AGENT_RESOLVE_APPROVALS, Surface
from app.protocol.rows import ApprovalDecision
from app.protocol.wire import Inbound, absent
from app.threads.access import readable_thread
from app.threads.limits import INBOX_LIMIT, MAX_BATCH, MAX_REASON

_SESSION: Final = "/agents/{slug}/sessions/{session_id:path}"
_STATUS: Final = Word("status", "`pending`, or `all`: also those that were decided")
_LIMIT: Final = WholeNumber("limit", 1, INBOX_LIMIT, "how many at most")


class Decide(Inbound):
    """The body of ``POST .../approvals/{approvalId}``."""

    decision: ApprovalDecision
    reason: Annotated[str, Field(max_length=MAX_REASON)] | None = absent()
    edited_input: dict[str, object] | None = absent()
    input_hash: str | None = absent(description="names the arguments that were seen")
    via: Surface | None = absent()


class DecideOne(Decide):
    """One of several."""

    approval_id: str


class DecideMany(Inbound):
    """The body of ``POST .../approvals``: all of it, or nothing."""

    decisions: Annotated[list[DecideOne], Field(min_length=1, max_length=MAX_BATCH)]


class ApprovalRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes.  A key may hold slashes, so the longest path comes first."""
        endpoints = Endpoints(self._services)
        listing = Operation(answer=ApprovalList, query=(_STATUS, _LIMIT), scope=AGENT_APPROVALS)
        one = Operation(body=Decide, answer=ResolvedList, scope=AGENT_RESOLVE_APPROVALS)
        many = Operation(body=DecideMany, answer=ResolvedList, scope=AGENT_RESOLVE_APPROVALS)
        return [
            endpoints.route("POST", f"{_SESSION}/approvals/{{approval_id}}", self.decide, one),
            endpoints.route("GET", f"{_SESSION}/approvals", self.of_session, listing),
            endpoints.route("POST", f"{_SESSION}/approvals", self.decide_many, many),
            endpoints.route("GET", "/approvals", self.inbox, listing),
        ]

    async def inbox(self, request: Request, caller: Identity) -> Response:
        """Return what waits for the caller, or is his to see, across sessions."""
        return reply({"approvals": await self._find(request, caller, {})})

    async def of_session(self, request: Request, caller: Identity) -> Response:
        """Return what a session waits for, or with ``status=all`` whatever it has asked."""
        key = request.path_params["session_id"]
        found = await self._find(request, caller, {"key": key})
        if not await self._is_of_agent(request, caller):
            found = []
        if not found and await readable_thread(self._services.reader, key, caller) is None:
            raise Forbidden("you may not see this")
        return reply({"approvals": found})

    async def decide(self, request: Request, caller: Identity) -> Response:
        """Decide one call; the run goes on when it was the last."""
        body = await body_of(request, Decide)
        given = body.model_dump(by_alias=True, exclude_unset=True)
        one = DecideOne.model_validate(given | {"approvalId": request.path_params["approval_id"]})
        return await self._decided(request, caller, [one])

    async def decide_many(self, request: Request, caller: Identity) -> Response:
        """Decide several calls: all of them, or none."""
        body = await body_of(request, DecideMany)
        return await self._decided(request, caller, body.decisions)

    async def _find(self, request: Request, caller: Identity, given: dict[str, object]) -> Json:
        status, limit = _STATUS.read(request), _LIMIT.read(request)
        if status is not None:
            given["status"] = status
        if limit is not None:
            given["limit"] = limit
        return await self._services.call(AGENT_APPROVALS, given, caller=caller, dedupe=None)

    async def _decided(
        self, request: Request, caller: Identity, decisions: Sequence[DecideOne]
    ) -> Response:
        asked = await asked_in(self._services, request.path_params["session_id"], caller)
        if not await self._is_of_agent(request, caller):
            asked = {}
        given, keys = [], set()
        for each in decisions:
            if each.approval_id not in asked:
                raise unknown_approval(each.approval_id, caller)
            call = asked[each.approval_id]
            keys.add(call.key)
            body = each.model_dump(
                by_alias=True, exclude_unset=True, exclude={"approval_id", "via"}
            )
            given.append({"toolCallId": call.id, **body})
        places = {each.via for each in decisions} - {None}
        if len(places) > 1:
            raise InvalidArgument("via: decisions are made in one place")
        if len(keys) > 1:
            raise InvalidArgument("decisions: those of one run are made together, and no others")
        key = keys.pop()
        arguments = {"key": key, "decisions": given} | ({"via": places.pop()} if places else {})
        with _naming({asked[each.approval_id].id: each.approval_id for each in decisions}):
            answer = await self._services.call(
                AGENT_RESOLVE_APPROVALS, arguments, caller=caller, dedupe=idempotency_key(request)
            )
        return reply({"decisions": answer})

    async def _is_of_agent(self, request: Request, caller: Identity) -> bool:
        """Return whether the address names the agent of its session, if there is one.

        Raises:
            NotFound: it does not, and the caller may know.
        """
        thread = await self._services.reader.find(request.path_params["session_id"])
        if thread is None or thread.agent == request.path_params["slug"]:
            return True
        if caller.may_read(thread.owner):
            raise no_session()
        return False


def unknown_approval(approval_id: str, caller: Identity) -> ClientFault:
    """Return the error for an approval that there is none of for this caller."""
    data = {"approvalId": approval_id}
    if caller.is_admin:
        return NotFound(f"no approval {approval_id!r} in this session", data)
    return Forbidden("you may not decide this", data)


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A tool call that waited or waits; ``key`` is of the run's own session."""

    id: str
    key: str
    input: Json
    input_hash: str


async def asked_in(services: HttpServices, key: str, caller: Identity) -> dict[str, AskedCall]:
    """Return the call of each approval that a session shows the caller, by the approval's id.

    Its key is another where a run asks that was started from this session.
    """
    found = await services.call(
        AGENT_APPROVALS,
        {"key": key, "status": "all", "limit": INBOX_LIMIT},
        caller=caller,
        dedupe=None,
        internal=True,
    )
    rows = found if isinstance(found, list) else []
    return {
        str(row["id"]): AskedCall(
            str(row["toolCallId"]), str(row["key"]), row["input"], str(row["inputHash"])
        )
        for row in rows
        if isinstance(row, dict)
    }


@contextmanager
def _naming(approvals: Mapping[str, str]) -> Iterator[None]:
    """Say in an error about a tool call which approval, by the call, it is about."""
    try:
        yield
    except ClientFault as error:
        named = approvals.get(str((error.data or {}).get("toolCallId")))
        if named is not None:
            error.data = {**(error.data or {}), "approvalId": named}
        raise
