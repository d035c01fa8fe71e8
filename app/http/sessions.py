"""``/agents/{slug}/sessions``: the conversations with an agent, and what can be done to one.

A session and a thread are one row, and ``sessionId`` is the thread's key.  A session
of somebody else, or of another agent, is answered like a missing one; but for signals, which
are forbidden to whoever has no right to it, whether or not there is one (R10).
"""

from typing import Annotated, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.errors import InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.ports import ThreadReader, ThreadSnapshot
from app.domain.storable import Json
from app.http.agents import sees
from app.http.answers import Cancelled, Retried, Session, SessionList, Signalled
from app.http.endpoint import Endpoints
from app.http.operation import DocumentedRoute, Operation, WholeNumber, Word
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key
from app.http.services import HttpServices
from app.protocol.wire import Inbound, absent
from app.threads.access import meant_thread
from app.threads.limits import PAGE_LIMIT_MAX
from app.threads.starting import checked_key
from app.threads.views import approval_view, message_view, thread_summary, waiting_views

SESSIONS: Final = 50
"""In a list when nobody says how many."""

_LIMIT: Final = WholeNumber("limit", 1, PAGE_LIMIT_MAX, "how many at most")
_BEFORE: Final = WholeNumber("before", 1, 1 << 60, "messages with a lower seq than this")
_PAGE: Final = Word("before", "take the `next` of the page before")
SESSION: Final = "/agents/{slug}/sessions/{session_id:path}"


class OfRun(Inbound):
    """The body of ``POST .../cancel`` and ``.../retry``; without a run, whichever it is now."""

    run_id: Annotated[str, Field(min_length=1, max_length=100)] | None = absent()


class SendSignal(Inbound):
    """The body of ``POST .../signals``.

    ``queue`` is read when the running prompt has ended, ``inject`` before its next model request.
    """

    message: str
    mode: Literal["queue", "inject"] = "queue"


class SessionRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes.  A key may hold slashes, so the longest path comes first."""
        endpoints = Endpoints(self._services)
        cancel = Operation(body=OfRun, answer=Cancelled, scope="agents:agentCancel")
        retry = Operation(body=OfRun, answer=Retried, scope="agents:agentRetry")
        signals = Operation(body=SendSignal, answer=Signalled, scope="agents:agentSignal")
        sessions = Operation(
            answer=SessionList, query=(_LIMIT, _PAGE), scope="agents:agentSessions"
        )
        session = Operation(answer=Session, query=(_LIMIT, _BEFORE), scope="agents:agentMessages")
        return [
            endpoints.route("POST", f"{SESSION}/cancel", self.cancel, cancel),
            endpoints.route("POST", f"{SESSION}/retry", self.retry, retry),
            endpoints.route("POST", f"{SESSION}/signals", self.signal, signals),
            *self._stream(),
            endpoints.route("GET", "/agents/{slug}/sessions", self.list_sessions, sessions),
            endpoints.route("GET", SESSION, self.session, session),
        ]

    async def list_sessions(self, request: Request, caller: Identity) -> Response:
        """Return the caller's sessions with an agent, newest activity first."""
        slug = request.path_params["slug"]
        limit, before = _LIMIT.read(request) or SESSIONS, _PAGE.read(request)
        agent = self._services.agents.get(slug)
        threads = await self._services.reader.sessions(
            slug, caller.user_id, everybody=caller.is_admin, before=before, limit=limit
        )
        # Looked for in any case, so that an internal agent costs what a missing one does.
        if agent is None or not (threads or sees(agent, caller)):
            raise NotFound(f"no agent {slug!r}")
        sessions = [{"sessionId": each.key, **thread_summary(each)} for each in threads]
        following = threads[-1].id if len(threads) == limit else None
        return reply({"sessions": sessions, "next": following})

    async def session(self, request: Request, caller: Identity) -> Response:
        """Return a session with its newest messages, or those below ``before``."""
        limit, before = _LIMIT.read(request) or PAGE_LIMIT_MAX, _BEFORE.read(request)
        snapshot = await self._snapshot(request, caller, limit if before is None else 0)
        messages = snapshot.messages
        if before is not None:
            messages = await self._services.reader.page(snapshot.thread.id, before, limit)
        return reply(_session(snapshot, [message_view(each) for each in messages]))

    async def cancel(self, request: Request, caller: Identity) -> Response:
        """End the run that is meant as cancelled; a finished one stays as it is."""
        body = await body_of(request, OfRun)
        key = (await self._snapshot(request, caller, 0)).thread.key
        thread = await meant_thread(self._services.reader, key, caller, body.run_id)
        ended = thread and await self._services.store.cancel(thread.id, body.run_id)
        return reply({"cancelled": ended is not None})

    async def retry(self, request: Request, caller: Identity) -> Response:
        """Let the newest run, which failed, go on from its last finished step."""
        body = await body_of(request, OfRun)
        thread = (await self._snapshot(request, caller, 0)).thread
        given = {"key": thread.key} | ({"runId": body.run_id} if body.run_id else {})
        dedupe = idempotency_key(request)
        return reply(
            await self._services.call("agents:agentRetry", given, caller=caller, dedupe=dedupe)
        )

    async def signal(self, request: Request, caller: Identity) -> Response:
        """Put a message into the session; an idle one wakes and answers."""
        body = await body_of(request, SendSignal)
        given = {
            "agent": request.path_params["slug"],
            "key": request.path_params["session_id"],
            "message": body.message,
            "mode": body.mode,
        }
        signalled = await self._services.call(
            "agents:agentSignal",
            given,
            caller=caller,
            dedupe=idempotency_key(request),
            internal=True,
        )
        return reply(signalled)

    def _stream(self) -> list[Route]:
        if self._services.streams is None:
            return []
        operation = Operation(media_type="text/event-stream")
        summary = "Stream the session's frames, as the socket has them, as server-sent events."
        path = f"{SESSION}/stream"
        return [DocumentedRoute("GET", path, self._services.streams, operation, summary)]

    async def _snapshot(self, request: Request, caller: Identity, messages: int) -> ThreadSnapshot:
        return await readable_session(self._services.reader, request, caller, messages)


async def readable_session(
    reader: ThreadReader, request: Request, caller: Identity, messages: int
) -> ThreadSnapshot:
    """Return the session of the address, with its newest messages.

    Raises:
        NotFound: there is none for this caller; one sentence for all that may mean.
    """
    try:
        key = checked_key(request.path_params["session_id"])
    except InvalidArgument:
        raise no_session() from None
    found = await reader.snapshot(key, messages, [caller])
    if (
        found is None
        or not caller.may_read(found.thread.owner)
        or found.thread.agent != request.path_params["slug"]
    ):
        raise no_session()
    return found


def no_session() -> NotFound:
    """Return the error for whatever is not there for this caller."""
    return NotFound("no such session")


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
        "output": snapshot.output,
        "messages": list(messages),
        "pendingApprovals": [approval_view(each) for each in snapshot.approvals],
        "waiting": waiting_views(snapshot.waiting),
    }
