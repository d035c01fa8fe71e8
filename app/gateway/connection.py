"""The shell around one socket's session: hears frames, carries out effects.

Messages are handled where they arrive, in the transport's callback; whatever has to wait
(judging a token, a call) is a task of the gateway, so reading never stops for it.  A call
outlives its socket: what it does is done, and the client asks again under its dedupe key.
"""

import asyncio
import logging
from typing import Protocol, assert_never

from app.domain.errors import ChatError, ClientFault
from app.domain.identity import ANONYMOUS, Identity
from app.gateway import replies
from app.gateway.outbox import Outbox, Stragglers
from app.gateway.ports import Admit, Authenticate, Functions
from app.gateway.session import advance, new_session, next_due
from app.gateway.session_events import (
    Accepted,
    Answer,
    Become,
    CallEnded,
    Came,
    Effect,
    Event,
    Garbled,
    Greet,
    HangUp,
    Judge,
    PeerLeft,
    Pong,
    Probe,
    Refused,
    Run,
    ServerLeft,
    Ticked,
    Undecided,
    Unwatch,
    Watch,
)
from app.gateway.session_state import Limits
from app.gateway.subscription import AnySubscription
from app.gateway.tasks import Tasks
from app.gateway.watches import Watches
from app.gateway.wire import Wire
from app.protocol.client import MalformedFrame, parse_client_frame
from app.protocol.errors import CLOSE_TOO_LARGE
from app.protocol.faults import fault_of
from app.protocol.wire import MAX_FRAME

_JUDGE_TIMEOUT_S = 8.0
_CALL_TIMEOUT_S = 300.0

_log = logging.getLogger(__name__)


class ConnectionHost(Stragglers, Protocol):
    """What a connection needs of the gateway around it."""

    watches: Watches
    functions: Functions
    admit: Admit
    authenticate: Authenticate
    limits: Limits
    tasks: Tasks
    calls: Tasks
    max_calls: int

    def now(self) -> float:
        """Return seconds of the monotonic clock."""
        ...

    def begin_drain(self) -> None:
        """Begin to leave."""
        ...

    def forget(self, connection: "Connection") -> None:
        """Note that the socket is closed."""
        ...


class Connection:
    """One socket that speaks for somebody (``Listener``, ``Viewer``)."""

    __slots__ = (
        "_address",
        "_due_at",
        "_heard_at",
        "_host",
        "_session",
        "_subscriptions",
        "id",
        "identity",
        "outbox",
        "wire",
    )

    def __init__(self, id_: str, wire: Wire, host: ConnectionHost, address: str) -> None:
        self.id = id_
        self._address = address
        self.wire = wire
        self.identity: Identity = ANONYMOUS
        self.outbox = Outbox(wire, host)
        self._host = host
        self._heard_at = host.now()
        self._session = new_session(self._heard_at, host.limits)
        self._due_at = 0.0
        self._subscriptions: dict[str, AnySubscription] = {}

    # ------------------------------------------------------------ the socket speaks

    def message(self, data: bytes, *, is_text: bool) -> None:
        """Take one message."""
        if len(data) > MAX_FRAME:
            self.wire.close(CLOSE_TOO_LARGE, f"at most {MAX_FRAME} bytes a frame")
            return
        self._take(_parse(data, is_text=is_text))

    def heard(self) -> None:
        """Note that the peer lives."""
        self._heard_at = self._host.now()

    def drained(self) -> None:
        """Send what the reader could not take before."""
        self.outbox.drained()

    def leave(self) -> None:
        """Begin to go: the server shuts down."""
        self._host.begin_drain()

    def closed(self) -> None:
        """Let go of everything.  A verdict or an answer that comes later finds nobody."""
        self._take(PeerLeft())
        for subscription in self._subscriptions.values():
            self._host.watches.end(subscription)
        self._subscriptions.clear()
        self._host.forget(self)

    # ------------------------------------------------------------ the gateway speaks

    def tick(self, now: float) -> None:
        """Let time pass; cheap until something is due."""
        if now >= self._due_at:
            self._take(Ticked(self._heard_at))
            self._due_at = next_due(self._session, self._heard_at, now, self._host.limits)

    def say_goodbye(self, retry_after_s: float) -> None:
        """Tell the client to reconnect, and begin nothing new for it."""
        self._take(ServerLeft())
        self.outbox.reply(replies.goodbye(retry_after_s))

    # ------------------------------------------------------------ the session decides

    def _take(self, event: Event) -> None:
        now, limits = self._host.now(), self._host.limits
        self._session, effects = advance(self._session, event, now, limits)
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Answer(id_, code, message):
                self.outbox.reply(replies.error(id_, code, message))
            case Run():
                self._start_call(effect)
            case Watch(id_, query, cursor):
                self._subscriptions[id_] = self._host.watches.begin(
                    id_, query, cursor, self, self._address
                )
            case Unwatch(id_):
                subscription = self._subscriptions.pop(id_)
                self.outbox.forget(subscription)
                self._host.watches.end(subscription)
            case Pong():
                self.outbox.reply(replies.PONG)
            case Greet(identity):
                self.outbox.reply(replies.welcome(self.id, identity, self._host.limits.heartbeat_s))
            case Become(identity):
                self._become(identity)
            case Judge(number, token):
                self._host.tasks.spawn(self._judge(number, token), f"token of {self.id}")
            case Probe():
                self.wire.ping()
            case HangUp(code, reason):
                self.wire.close(code, reason)
            case _ as never:
                assert_never(never)

    def _become(self, identity: Identity) -> None:
        is_another = identity != self.identity
        self.identity = identity
        if is_another:
            self._host.watches.judge_again(self._subscriptions.values())

    async def _judge(self, number: int, token: str | None) -> None:
        verdict: Event
        try:
            async with asyncio.timeout(_JUDGE_TIMEOUT_S):
                verdict = Accepted(number, await self._host.authenticate(token))
        except ClientFault as error:
            verdict = Refused(number, fault_of(error).code, error.message)
        except (ChatError, TimeoutError):
            _log.warning("a token could not be judged", exc_info=True)
            verdict = Undecided(number, "nobody can say just now whose token this is")
        self._take(verdict)
        self._due_at = 0.0

    def _start_call(self, run: Run) -> None:
        if len(self._host.calls) >= self._host.max_calls:
            self.outbox.reply(replies.error(run.call.id, "UNAVAILABLE", "too busy just now"))
            self._take(CallEnded(run.call.id))
            return
        self._host.calls.spawn(self._call(run), f"call {run.call.fn}")

    async def _call(self, run: Run) -> None:
        call = run.call
        try:
            async with asyncio.timeout(_CALL_TIMEOUT_S):
                await self._host.admit(run.identity, self._address)
                value = await self._host.functions.call(
                    call.fn, call.args, caller=run.identity, dedupe=call.dedupe
                )
            frame = replies.result(call.id, value)
        except Exception as error:  # noqa: BLE001 - the edge of the process: all become a code
            fault = fault_of(error)
            if fault.is_ours:
                _log.error("call %s failed", call.fn, exc_info=error)
            frame = replies.error(call.id, fault.code, fault.message, fault.data)
        if self._host.functions.may_write(call.fn):
            # A client drops what it laid over its queries when it hears the answer.
            await self._host.watches.settled(self._subscriptions.values())
        self.outbox.reply(frame)
        self._take(CallEnded(call.id))


def _parse(data: bytes, *, is_text: bool) -> Event:
    if not is_text:
        return Garbled(None, "frames are JSON text; this one was binary")
    try:
        return Came(parse_client_frame(data))
    except MalformedFrame as error:
        return Garbled(error.id, str(error))
