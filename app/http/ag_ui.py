"""``POST /agents/{slug}/ag-ui``: what AG-UI's ``HttpAgent`` speaks.

``threadId`` is the key of a session.  A new message of a user's begins a run; ``resume`` answers
the interrupts of the one before; an input with neither joins the run that is at work, or is told
how the last one ended.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.dialects.ag_ui import AgUiRun
from app.dialects.events import Ending
from app.dialects.stored import newest_rows
from app.domain.errors import InvalidArgument
from app.domain.identity import Identity
from app.domain.ports import ThreadSnapshot
from app.domain.storable import Json, decode, storable_text
from app.http.endpoint import Endpoints
from app.http.follow import ALWAYS, EVENTS, Answer, Begun, Follower, Sent, sent_as
from app.http.operation import Operation
from app.http.requests import body_of
from app.http.services import HttpServices, Retell
from app.http.sessions import no_session
from app.http.theirs import MessageId, Theirs, read
from app.protocol.calls import AGENT_MESSAGES, AGENT_STATE, AGENT_THREAD
from app.protocol.wire import ThreadKey
from app.threads.limits import MAX_BATCH, MAX_REASON
from app.threads.scopes import check_scope

_MISSING: Final = (
    "messages: the last one has to be a new one of a user's; else answer in `resume`, "
    "or join a session that there is"
)


class ResumeEntry(Theirs):
    """The answer to one interrupt; ``cancelled`` is a refusal."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class ResumePayload(Theirs):
    """What the interrupt's ``responseSchema`` asks for."""

    approved: bool
    reason: Annotated[str, Field(max_length=MAX_REASON)] | None = None
    edited_args: dict[str, Any] | None = None


class AgUiInput(Theirs):
    """The body: of ``messages`` the last one is looked at; state, tools and context are not."""

    thread_id: ThreadKey
    run_id: MessageId
    messages: list[dict[str, Any]]
    resume: Annotated[list[ResumeEntry], Field(max_length=MAX_BATCH)] | None = None


class AgUiMessage(Theirs):
    """The last message, if it is a user's."""

    id: MessageId
    content: str | list[dict[str, Any]]


class AgUiRoutes:
    """The handler."""

    def __init__(self, services: HttpServices, retell: Retell) -> None:
        self._services = services
        self._follower = Follower(services, retell)

    def routes(self) -> list[Route]:
        """Return the route."""
        run = Operation(body=AgUiInput, media_type=EVENTS)
        return [Endpoints(self._services).route("POST", "/agents/{slug}/ag-ui", self.run, run)]

    async def run(self, request: Request, caller: Identity) -> Response:
        """Begin a run, take one up after an interrupt, or join one; stream its events."""
        for name in (AGENT_MESSAGES, AGENT_THREAD, AGENT_STATE):
            check_scope(caller, name)
        body = await body_of(request, AgUiInput)
        slug = request.path_params["slug"]
        found = await self._follower.shown(slug, body.thread_id, caller)
        begun = await self._begun(slug, body, found, caller)
        named = {"thread_id": body.thread_id, "called": body.run_id}
        if begun is None:
            return await self._at_rest(AgUiRun("", **named, is_new=False), found)
        thread = await self._follower.thread_of(begun.run_id, caller)
        rows = await newest_rows(self._services.reader, thread.id, lambda _: False)
        telling = AgUiRun(begun.run_id, **named, is_new=begun.is_new)
        return await self._follower.tell(telling, rows, thread, request, caller)

    async def _begun(
        self, slug: str, body: AgUiInput, found: ThreadSnapshot | None, caller: Identity
    ) -> Begun | None:
        """Do what the input asks for; return the run of it, ``None`` where none ever ran."""
        if body.resume:
            if found is None:
                raise no_session()
            answers, shown = [_answer(each) for each in body.resume], _shown(body.messages)
            await self._follower.decide(found.thread.key, answers, shown, caller)
        else:
            last = body.messages[-1] if body.messages else {}
            if last.get("role") == "user":
                message = read(AgUiMessage, last, "messages: the last one")
                sent, known = Sent(message.id, _text(message)), sent_as(found, message.id)
                return await self._follower.send(slug, body.thread_id, sent, caller, known)
        if found is not None and found.run_id is not None:
            return Begun(found.run_id, is_new=False)
        if body.messages:
            raise InvalidArgument(_MISSING)
        return None

    async def _at_rest(self, telling: AgUiRun, found: ThreadSnapshot | None) -> Response:
        """Answer whoever looks at a session in which nothing ran yet, or that is none for him."""
        told = telling.begin()
        if found is None:
            told += telling.rows((), {})
        else:  # a fork has what was said and kept before, and no run of its own
            reader, thread_id = self._services.reader, found.thread.id
            told += telling.rows(await newest_rows(reader, thread_id, lambda _: False), {})
            state = await reader.state(thread_id)
            told += b"" if state is None else telling.state(decode(state))
        return Response(told + telling.end(Ending("completed")), media_type=EVENTS, headers=ALWAYS)


def _answer(entry: ResumeEntry) -> Answer:
    if entry.status == "cancelled":
        return Answer(entry.interrupt_id, is_approved=False)
    said = read(ResumePayload, entry.payload, "resume: the payload of an entry")
    return Answer(entry.interrupt_id, said.approved, said.reason, said.edited_args)


def _text(message: AgUiMessage) -> str:
    """Return what a message says.

    Raises:
        InvalidArgument: it brings something else than text.
    """
    if isinstance(message.content, str):
        return storable_text(message.content)
    texts = [part.get("text") for part in message.content if part.get("type") == "text"]
    said = [text for text in texts if isinstance(text, str)]
    if len(said) < len(message.content):
        raise InvalidArgument("messages: this version takes text alone")
    return storable_text("\n".join(said))


def _shown(messages: list[dict[str, Any]]) -> Mapping[str, Json]:
    """Return the arguments of calls as the client has shown them to whoever decided."""
    return dict(_arguments(messages))


def _arguments(messages: list[dict[str, Any]]) -> Iterator[tuple[str, Json]]:
    for message in messages:
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            match call:
                case {"id": str(id_), "function": {"arguments": str(text)}}:
                    try:
                        yield id_, from_json(text)
                    except ValueError:
                        yield id_, text  # whatever was shown, it was not what the call has
                case _:
                    continue
