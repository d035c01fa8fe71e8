"""``/agents/{slug}/ai-sdk``: what the AI SDK's ``useChat`` speaks, by its default transport.

    new DefaultChatTransport({ api: "/agents/support/ai-sdk" })

The chat's id is the key of a session.  ``POST`` takes the newest message, or the answers to
approvals in it, and streams the run; ``GET .../{id}/stream`` takes it up again; ``GET .../{id}``
is what a page begins with.  A message's id is the key under which it is said once.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.dialects.ai_sdk import UIMessageStream
from app.dialects.events import Row
from app.dialects.said_once import known_as, once_key
from app.dialects.stored import newest_rows, refusals, rows_of_run
from app.dialects.story import Seen
from app.dialects.ui_messages import ui_messages
from app.domain.errors import InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.ports import ThreadSnapshot
from app.domain.storable import storable_text
from app.http.answers import Cancelled, UIMessages
from app.http.endpoint import Endpoints
from app.http.follow import EVENTS, Answer, Follower, Sent, rows_of, sent_as
from app.http.operation import Operation, WholeNumber
from app.http.reply import reply
from app.http.requests import body_of, idempotency_key
from app.http.services import HttpServices, Retell
from app.http.sessions import no_session
from app.http.theirs import MessageId, Theirs, read
from app.protocol.calls import AGENT_MESSAGES, AGENT_THREAD
from app.protocol.wire import ThreadKey
from app.threads.limits import MAX_REASON, MAX_SEQ
from app.threads.scopes import check_scope
from app.threads.views import approval_view

_API: Final = "/agents/{slug}/ai-sdk"
_CHAT: Final = f"{_API}/{{session_id:path}}"
_SEEN: Final = WholeNumber("seen", 0, MAX_SEQ, "as loaded: what has ended since is streamed, too")


class ChatRequest(Theirs):
    """The body of ``POST``: of ``messages`` the last one is looked at, and no other."""

    id: ThreadKey
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: MessageId | None = None


class ChatMessage(Theirs):
    """The last message."""

    id: MessageId
    role: Literal["user", "assistant"]
    parts: list[dict[str, Any]]


class ChatApproval(Theirs):
    """What a person has said of a call, in the part of it."""

    id: str
    approved: bool
    reason: Annotated[str, Field(max_length=MAX_REASON)] | None = None


class AiSdkRoutes:
    """The handlers."""

    def __init__(self, services: HttpServices, retell: Retell) -> None:
        self._services = services
        self._follower = Follower(services, retell)

    def routes(self) -> list[Route]:
        """Return the routes.  A key may hold slashes, so the longest path comes first."""
        endpoints = Endpoints(self._services)
        told = Operation(body=ChatRequest, media_type=EVENTS)
        resumed = Operation(media_type=EVENTS, query=(_SEEN,), scope=AGENT_MESSAGES)
        cancel = Operation(answer=Cancelled, scope="agents:agentCancel")
        history = Operation(answer=UIMessages, scope=AGENT_MESSAGES)
        return [
            endpoints.route("POST", _API, self.send, told),
            endpoints.route("GET", f"{_CHAT}/stream", self.resume, resumed),
            endpoints.route("POST", f"{_CHAT}/cancel", self.cancel, cancel),
            endpoints.route("GET", _CHAT, self.messages, history),
        ]

    async def send(self, request: Request, caller: Identity) -> Response:
        """Say something, decide, or ask for another answer, and stream the run of it."""
        check_scope(caller, AGENT_MESSAGES)
        check_scope(caller, AGENT_THREAD)
        body = await body_of(request, ChatRequest)
        slug = request.path_params["slug"]
        found = await self._follower.shown(slug, body.id, caller)
        if body.trigger == "regenerate-message":
            return await self._regenerate(request, caller, body, found)
        last = read(ChatMessage, body.messages[-1], "messages: the last one")
        if last.role == "assistant":
            return await self._decide(request, caller, last, found)
        sent = Sent(last.id, _text(last))
        known = sent_as(found, last.id)
        is_edit = known is not None and body.message_id == last.id and known["text"] != sent.text
        if found is not None and known is not None and is_edit:
            return await self._edit(request, caller, found, known["id"], sent)
        begun = await self._follower.send(slug, body.id, sent, caller, known)
        return await self._tell(request, caller, begun.run_id)

    async def resume(self, request: Request, caller: Identity) -> Response:
        """Stream the run that is at work from its beginning; 204 when none is."""
        check_scope(caller, AGENT_THREAD)
        seen = _SEEN.read(request)
        found = await self._meant(request, caller)
        run_id = None if found is None else found.thread.live_run
        if found is not None and seen is not None and found.thread.version > seen:
            run_id = found.run_id  # it ended after the page was loaded
        if run_id is None:
            return Response(status_code=204)
        return await self._tell(request, caller, run_id)

    async def cancel(self, request: Request, caller: Identity) -> Response:
        """End the run that is at work: to leave its stream does not."""
        found = await self._meant(request, caller)
        if found is None:
            return reply({"cancelled": False})
        given = {"key": found.thread.key}
        return reply(await self._follower.call("agents:agentCancel", given, caller, None))

    async def messages(self, request: Request, caller: Identity) -> Response:
        """Return the session's newest messages, as a chat begins with them."""
        found = await self._meant(request, caller)
        if found is None:
            return reply({"messages": [], "seen": 0})
        rows = await self._whole(rows_of(found), found)
        failed = [
            part["toolCallId"]
            for row in rows
            for part in row["parts"]
            if row["role"] == "tool" and part.get("isError")
        ]
        refused = await refusals(self._services.reader, found.thread.key, failed)
        pending = [approval_view(each) for each in found.approvals]
        messages = ui_messages(rows, refused, pending)
        return reply({"messages": messages, "seen": found.thread.version})

    # ------------------------------------------------------------ what a client may want

    async def _decide(
        self, request: Request, caller: Identity, last: ChatMessage, found: ThreadSnapshot | None
    ) -> Response:
        """Take the answers in a message, and go on with what its sender does not have."""
        if found is None or found.run_id is None:
            raise no_session()
        answers = list(_answers(last))
        if answers:
            shown = {part["toolCallId"]: part["input"] for part in _calls(last) if "input" in part}
            await self._follower.decide(found.thread.key, answers, shown, caller)
        elif found.thread.live_run is None:
            raise InvalidArgument(
                "messages: the last one has to be a user's, or to hold an answer to an approval"
            )
        is_known = any(row["runId"] == last.id for row in rows_of(found))
        run_id = last.id if is_known else found.run_id
        seen = _seen(last) if run_id == last.id else None
        return await self._tell(request, caller, run_id, seen)

    async def _regenerate(
        self,
        request: Request,
        caller: Identity,
        body: ChatRequest,
        found: ThreadSnapshot | None,
    ) -> Response:
        """Answer again, in a branch, which is shown from now on."""
        if found is None:
            raise NotFound("no such thread")
        wanted = body.message_id
        asked = [row for row in rows_of(found) if row["role"] == "user" and row["runId"]]
        meant = [row for row in asked if wanted in {None, row["runId"], row["id"], known_as(row)}]
        if not meant:
            raise NotFound("no such message")
        row = meant[-1]
        given = {"key": found.thread.key, "messageId": row["id"]}
        dedupe = once_key(known_as(row), idempotency_key(request) or uuid.uuid4().hex)
        made = await self._follower.call("agents:agentRegenerate", given, caller, dedupe)
        return await self._tell(request, caller, made["id"])

    async def _edit(
        self, request: Request, caller: Identity, found: ThreadSnapshot, row_id: str, sent: Sent
    ) -> Response:
        """Ask something else instead, in a branch, which is shown from now on."""
        given = {"key": found.thread.key, "messageId": row_id, "input": sent.text}
        dedupe = once_key(sent.id, found.thread.key, sent.text)
        made = await self._follower.call("agents:agentEditMessage", given, caller, dedupe)
        return await self._tell(request, caller, made["id"])

    # ------------------------------------------------------------ answers

    async def _meant(self, request: Request, caller: Identity) -> ThreadSnapshot | None:
        """Return the session of the address; one with another agent is like none."""
        named = request.path_params
        try:
            return await self._follower.shown(named["slug"], named["session_id"], caller)
        except NotFound:
            return None

    async def _whole(self, rows: list[Row], found: ThreadSnapshot) -> list[Row]:
        """Return a page, and what is above it of its only run: however long, that is a message."""
        run_id = rows[0]["runId"] if rows else None
        if run_id is None or any(row["runId"] not in {run_id, None} for row in rows):
            return rows
        reader, thread_id = self._services.reader, found.thread.id
        return await newest_rows(reader, thread_id, lambda rows: rows[0]["runId"] != run_id)

    async def _tell(
        self, request: Request, caller: Identity, run_id: str, seen: Seen | None = None
    ) -> Response:
        thread = await self._follower.thread_of(run_id, caller)
        rows = await rows_of_run(self._services.reader, thread.id, run_id)
        telling = UIMessageStream(run_id, seen)
        return await self._follower.tell(telling, rows, thread, request, caller)


def _text(message: ChatMessage) -> str:
    """Return what a message says.

    Raises:
        InvalidArgument: it says nothing in words, or brings a file.
    """
    if any(part.get("type") == "file" for part in message.parts):
        raise InvalidArgument("messages: files are not supported by this version")
    texts = [part.get("text") for part in message.parts if part.get("type") == "text"]
    said = [text for text in texts if isinstance(text, str)]
    if not said:
        raise InvalidArgument('messages: the last one needs a part {"type": "text", "text": ...}')
    return storable_text("\n".join(said))


def _calls(message: ChatMessage) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a message that are calls of tools."""
    for part in message.parts:
        kind = str(part.get("type"))
        is_call = kind == "dynamic-tool" or kind.startswith("tool-")
        if is_call and isinstance(part.get("toolCallId"), str):
            yield part


def _answers(message: ChatMessage) -> Iterator[Answer]:
    for part in _calls(message):
        if part.get("state") == "approval-responded":
            said = read(ChatApproval, part.get("approval"), "messages: the approval of a call")
            yield Answer(said.id, said.approved, said.reason)


def _seen(message: ChatMessage) -> Seen:
    """Return what the sender of a message has of it."""
    states = {part["toolCallId"]: str(part.get("state")) for part in _calls(message)}
    return Seen(
        steps=sum(part.get("type") == "step-start" for part in message.parts),
        asked=frozenset(call for call, state in states.items() if state.startswith("approval-")),
        answered=frozenset(call for call, state in states.items() if state.startswith("output-")),
        interjected=frozenset(
            str(part.get("id")) for part in message.parts if part.get("type") == "steering-message"
        ),
    )
