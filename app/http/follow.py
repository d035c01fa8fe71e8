"""What the routes of other protocols share: the session that is meant, and a run told of it.

The server's history is the truth.  Of what a client sends its newest message is taken, or its
decisions, and nothing else: what it says was said before is stored nowhere.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.dialects.events import Row
from app.dialects.said_once import known_as, once_key
from app.dialects.stored import refusals
from app.dialects.telling import Telling
from app.domain.approval import input_hash
from app.domain.errors import ChatError, InvalidArgument
from app.domain.identity import Identity
from app.domain.ports import ThreadSnapshot
from app.domain.storable import Json
from app.domain.thread import Thread
from app.http.approvals import asked_in, unknown_approval
from app.http.requests import bearer_token
from app.http.services import HttpServices, Retell
from app.http.sessions import no_session
from app.protocol.calls import AGENT_RESOLVE_APPROVALS
from app.threads.access import readable_run
from app.threads.limits import PAGE_LIMIT_MAX
from app.threads.views import message_view

EVENTS: Final = "text/event-stream"
ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Sent:
    """The newest message of a client: what it calls it, and what it says."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's decision on an approval."""

    approval_id: str
    is_approved: bool
    reason: str | None = None
    edited_input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """The run that reads what was sent; ``is_new``: it did not speak before that."""

    run_id: str
    is_new: bool


class Follower:
    """Takes what clients of other protocols send, and answers with a run."""

    def __init__(self, services: HttpServices, retell: Retell) -> None:
        self._services = services
        self._retell = retell

    async def shown(self, slug: str, key: str, caller: Identity) -> ThreadSnapshot | None:
        """Return the session with this key, with its newest messages; ``None``: not for him.

        A conversation that was branched is the branch that is shown.

        Raises:
            NotFound: it is a session with another agent.
        """
        reader = self._services.reader
        found = await reader.snapshot(key, PAGE_LIMIT_MAX, [caller])
        if found is None or not caller.may_read(found.thread.owner):
            return None
        if found.thread.agent != slug:
            raise no_session()
        branches = found.branches
        selected = branches.key_of(branches.selected) if branches is not None else None
        if selected is None or selected == found.thread.key:
            return found
        return await reader.snapshot(selected, PAGE_LIMIT_MAX, [caller])

    async def send(
        self, slug: str, key: str, sent: Sent, caller: Identity, known: Row | None
    ) -> Begun:
        """Say something in a session, once for each id; ``known`` is what that id said before.

        Raises:
            InvalidArgument: the id has said something else.
        """
        if known is not None:
            if known["text"] != sent.text:
                raise InvalidArgument(
                    f"messages: {sent.id!r} was sent before, and said something else"
                )
            return Begun(known["runId"], is_new=False)
        given = {"agent": slug, "key": key, "input": sent.text}
        started = await self.call("agents:agentRun", given, caller, once_key(sent.id, key))
        return Begun(started["id"], is_new="steered" not in started)

    async def decide(
        self, key: str, answers: Sequence[Answer], shown: Mapping[str, Json], caller: Identity
    ) -> None:
        """Decide approvals of a session, those of each run together.

        Args:
            key: of the session.
            answers: the decisions.
            shown: the arguments that the client has shown, by tool call of this session: a run
                below names its calls anew.
            caller: who decides.
        """
        asked = await asked_in(self._services, key, caller)
        decisions: dict[str, list[dict[str, object]]] = {}
        for each in answers:
            if each.approval_id not in asked:
                raise unknown_approval(each.approval_id, caller)
            call = asked[each.approval_id]
            given: dict[str, object] = {
                "toolCallId": call.id,
                "decision": "approved" if each.is_approved else "denied",
            }
            if each.reason is not None:
                given["reason"] = each.reason
            if each.edited_input is not None:
                given["editedInput"] = each.edited_input
            if call.key == key and call.id in shown:
                seen = shown[call.id]
                is_same = same_in_javascript(seen, call.input)
                given["inputHash"] = call.input_hash if is_same else input_hash(seen)
            decisions.setdefault(call.key, []).append(given)
        for place, of_run in decisions.items():
            await self._services.call(
                AGENT_RESOLVE_APPROVALS,
                {"key": place, "decisions": of_run},
                caller=caller,
                dedupe=None,
            )

    async def call(
        self, function: str, given: Mapping[str, object], caller: Identity, dedupe: str | None
    ) -> dict[str, Any]:
        """Call a function that answers with an object."""
        answer = await self._services.call(function, given, caller=caller, dedupe=dedupe)
        if not isinstance(answer, dict):
            raise ChatError(f"{function} answered something else than an object")
        return answer

    async def thread_of(self, run_id: str, caller: Identity) -> Thread:
        """Return the session that a run is in.

        Raises:
            NotFound: there is none for this caller.
        """
        found = await readable_run(self._services.reader, run_id, caller)
        if found is None:
            raise no_session()
        return found[1]

    async def tell(
        self, telling: Telling, rows: Sequence[Row], thread: Thread, request: Request, by: Identity
    ) -> Response:
        """Answer with a run: what is stored of it, and then what happens, until it rests.

        Args:
            telling: of the run.
            rows: what is stored.
            thread: in which the run is.
            request: to answer.
            by: the caller.
        """
        if request.method == "HEAD":
            return Response(media_type=EVENTS, headers={**ALWAYS, **telling.headers})
        failed = telling.errors_in(rows)
        refused = await refusals(self._services.reader, thread.key, failed)
        opening = telling.begin() + telling.rows(rows, refused)
        return _Told(self._retell(telling, opening, thread, by, bearer_token(request)))


class _Told(Response):
    """A response that the gateway writes."""

    def __init__(self, answer: ASGIApp) -> None:
        super().__init__(media_type=EVENTS)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)


def same_in_javascript(one: Json, other: Json) -> bool:
    """Return whether JavaScript reads the same value: it writes ``60.0`` back as ``60``."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(
                same_in_javascript(one[name], other[name]) for name in one
            )
        case list(), list():
            return len(one) == len(other) and all(map(same_in_javascript, one, other))
        case (bool(), _) | (_, bool()):
            return one is other
        case int() | float(), int() | float():
            return _in_javascript(one) == _in_javascript(other)
        case _:
            return one == other


def _in_javascript(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def rows_of(found: ThreadSnapshot) -> list[Row]:
    """Return the messages of a session as clients get them."""
    return [message_view(each) for each in found.messages]


def sent_as(found: ThreadSnapshot | None, id_: str) -> Row | None:
    """Return what was said under this id before, as far back as is shown."""
    rows = rows_of(found) if found else ()
    said = (row for row in rows if row["role"] == "user" and row["runId"])
    return next((row for row in said if id_ in {known_as(row), row["id"]}), None)
