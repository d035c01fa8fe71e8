"""``GET /agents/{slug}/sessions/{id}/stream``: a thread's frames as server-sent events.

For those who cannot hold a socket: a script, a server, a proxy that knows HTTP alone.  The
frames are those of the socket, in the same bytes: of the thread's messages, and of the
thread itself.  An event's id is the cursor of the messages, so ``Last-Event-ID`` resumes
where the reader was; the thread is told whole again, so its frames bear no id.

Laws: a stream answers to whom the session does; its token is judged again from time to
time; what a slow reader is owed is bounded, and one who does not catch up is cut off.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from app.domain.cursor import Cursor
from app.domain.errors import (
    ChatError,
    ClientFault,
    NotFound,
    TransientFault,
    Unauthenticated,
)
from app.domain.identity import Identity
from app.domain.ports import ThreadReader
from app.gateway.bodies import json_bytes
from app.gateway.event_wire import EventWire
from app.gateway.feeds import Feeds
from app.gateway.outbox import Outbox, Stragglers
from app.gateway.ports import Admit, Authenticate
from app.gateway.queries import MessagesQuery, ThreadQueries, ThreadQuery
from app.gateway.queued_wire import Message, Receive, Send
from app.gateway.session_state import NEVER, Limits
from app.gateway.subscription import Subscription
from app.gateway.tasks import Tasks
from app.protocol.calls import AGENT_MESSAGES, AGENT_THREAD
from app.protocol.errors import CLOSE_GOING_AWAY, CLOSE_UNAUTHENTICATED, HTTP_STATUS
from app.protocol.faults import fault_of
from app.threads.limits import MAX_KEY, PAGE_LIMIT
from app.threads.scopes import check_scope

STREAM_PATH = "/agents/{slug}/sessions/{session_id:path}/stream"

GOING_AWAY = "the server is going away"
_JUDGE_TIMEOUT_S = 8.0
_READ_TIMEOUT_S = 10.0

_log = logging.getLogger(__name__)

Asked: TypeAlias = tuple[str, ThreadQueries, Cursor | None]
"""A query of a stream: its name, itself, and from where it goes on."""


class StreamHost(Stragglers, Protocol):
    """What streams need of the gateway around them."""

    feeds: Feeds
    admit: Admit
    authenticate: Authenticate
    limits: Limits
    tasks: Tasks

    def address_of(self, scope: Message) -> str:
        """Return where a request comes from."""
        ...

    @property
    def reader(self) -> ThreadReader:
        """Where threads are read."""
        ...

    def now(self) -> float:
        """Return seconds of the monotonic clock."""
        ...

    def forget_outbox(self, outbox: Outbox) -> None:
        """Stop counting the time of a reader that has gone."""
        ...


class Stream:
    """One reader of one thread (``Viewer``, ``Listener``)."""

    __slots__ = (
        "_host",
        "_names",
        "_recheck_at",
        "_subscriptions",
        "_token",
        "identity",
        "outbox",
        "wire",
    )

    def __init__(
        self, host: StreamHost, wire: EventWire, identity: Identity, token: str | None
    ) -> None:
        self._host = host
        self._token = token
        self._recheck_at = NEVER if token is None else host.now() + host.limits.recheck_s
        self._names: tuple[str, ...] = ()
        self._subscriptions: tuple[Subscription, ...] = ()
        self.identity = identity
        self.wire = wire
        self.outbox = Outbox(wire, host)

    def watch(self, asked: Sequence[Asked]) -> None:
        """Subscribe, in this order."""
        self._names = tuple(name for name, _, _ in asked)
        self._subscriptions = tuple(
            # The ids of the SDK: sockets and streams share their groups, and so their bytes.
            Subscription(f"{name}{json_bytes({'key': query.key}).decode()}", query, since, self)
            for name, query, since in asked
        )
        for subscription in self._subscriptions:
            self._host.feeds.join(subscription)

    def tick(self, now: float) -> None:
        """Have the token judged again when it is time."""
        if now >= self._recheck_at and self._token is not None:
            self._recheck_at = now + self._host.limits.recheck_s
            self._host.tasks.spawn(self._judge(self._token), "token of a stream")

    async def _judge(self, token: str) -> None:
        try:
            async with asyncio.timeout(_JUDGE_TIMEOUT_S):
                identity = await self._host.authenticate(token)
            check_scopes(identity, self._names)
        except ClientFault:
            self.wire.close(CLOSE_UNAUTHENTICATED, "the token ran out")
        except (ChatError, TimeoutError):
            _log.warning("a stream's token could not be judged", exc_info=True)
        else:
            if identity != self.identity:
                self.identity = identity
                for subscription in self._subscriptions:
                    self._host.feeds.judge_again(subscription)

    # ------------------------------------------------------------ the wire speaks

    def message(self, data: bytes, *, is_text: bool) -> None:
        """Hear nothing: a reader of events does not speak."""

    def heard(self) -> None:
        """Hear nothing."""

    def leave(self) -> None:
        """Do nothing: streams are told by ``EventStreams.leave``."""

    def drained(self) -> None:
        """Send what the reader could not take before."""
        self.outbox.drained()

    def closed(self) -> None:
        """Let go of everything."""
        for subscription in self._subscriptions:
            self._host.feeds.leave(subscription)
        self._subscriptions = ()
        self._host.forget_outbox(self.outbox)


class EventStreams:
    """All streams of a gateway, as one ASGI application."""

    def __init__(self, host: StreamHost) -> None:
        self._host = host
        self._streams: dict[Stream, None] = {}
        self._is_leaving = False

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._streams)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, for as long as its reader stays (ASGI)."""
        try:
            stream, key, cursor = await self._admit(scope)
        except TimeoutError:
            await _refuse(TransientFault("nobody can say just now; ask again"), send)
            return
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is becomes an answer
            await _refuse(error, send)
            return
        if scope["method"] == "HEAD":
            await stream.wire.describe(send)
            return
        await self.serve(stream, messages_and_thread(key, cursor), receive, send)

    async def serve(
        self, stream: Stream, asked: Sequence[Asked], receive: Receive, send: Send
    ) -> None:
        """Keep a stream open for as long as its reader stays."""
        self._streams[stream] = None
        if self._is_leaving:
            stream.wire.close(CLOSE_GOING_AWAY, GOING_AWAY)
        try:
            stream.watch(asked)
            await stream.wire.serve(stream, receive, send)
        finally:
            del self._streams[stream]

    def tick(self, now: float) -> None:
        """Do what time asks for."""
        for stream in tuple(self._streams):
            stream.tick(now)

    def leave(self, delay_s: Callable[[], float]) -> None:
        """Begin no more, and end each with a time of its own after which it may come back."""
        self._is_leaving = True
        for stream in tuple(self._streams):
            stream.wire.say_goodbye(delay_s())
            stream.wire.close(CLOSE_GOING_AWAY, GOING_AWAY)

    async def _admit(self, scope: Message) -> tuple[Stream, str, Cursor | None]:
        """Return the stream, the thread's key, and from where it goes on.

        Raises:
            ChatError: what the reader is told, by its code.
        """
        if self._is_leaving:
            raise TransientFault("the server is going away; ask again")
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        token = _bearer(headers.get(b"authorization"))
        async with asyncio.timeout(_JUDGE_TIMEOUT_S):
            identity = await self._host.authenticate(token)
            await self._host.admit(identity, self._host.address_of(scope))
        check_scopes(identity, (AGENT_MESSAGES, AGENT_THREAD))
        named = scope["path_params"]
        key: str = named["session_id"]
        async with asyncio.timeout(_READ_TIMEOUT_S):
            thread = await self._host.reader.find(key) if _is_key(key) else None
        if thread is None or not identity.may_read(thread.owner) or thread.agent != named["slug"]:
            raise NotFound("no such session")
        since = headers.get(b"last-event-id")
        cursor = Cursor.parse(since) if since else None
        wire = EventWire(self._host.limits.heartbeat_s)
        return Stream(self._host, wire, identity, token), key, cursor


def messages_and_thread(key: str, cursor: Cursor | None = None) -> list[Asked]:
    """Return what a stream asks for: the messages first, so that who resumes misses nothing."""
    return [
        (AGENT_MESSAGES, MessagesQuery(key, PAGE_LIMIT, stream=True), cursor),
        (AGENT_THREAD, ThreadQuery(key), None),
    ]


def check_scopes(identity: Identity, names: Sequence[str]) -> None:
    """Let an identity read what is named, or raise."""
    for name in names:
        check_scope(identity, name)


def _bearer(header: str | None) -> str | None:
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("authorise with `Authorization: Bearer TOKEN`")
    return token.strip()


def _is_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY and key.isprintable()


async def _refuse(error: Exception, send: Send) -> None:
    fault = fault_of(error)
    if fault.is_ours:
        _log.error("a stream failed", exc_info=error)
    body: Mapping[str, object] = {"code": fault.code, "message": fault.message}
    status = HTTP_STATUS[fault.code]
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    if status == HTTP_STATUS["UNAUTHENTICATED"]:
        headers.append((b"www-authenticate", b"Bearer"))
    after_s = (fault.data or {}).get("retryAfter")
    if isinstance(after_s, int | float) and math.isfinite(after_s):
        headers.append((b"retry-after", b"%d" % max(0, math.ceil(after_s))))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json_bytes(body)})
