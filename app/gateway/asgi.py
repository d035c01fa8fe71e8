"""The gateway as one object: an ASGI endpoint, and the ears of the process.

Mount it as the route ``/ws``, its ``streams`` at ``STREAM_PATH``; hand its ``on_*``
methods to whoever hears Postgres and Redis.  It holds nothing that another gateway could
not rebuild.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from app.domain.identity import Identity
from app.domain.ports import Clock, ThreadReader
from app.domain.tables import TableWrites
from app.gateway.connection import Connection
from app.gateway.feeds import Feeds
from app.gateway.frames import EXTENSION, SocketWire
from app.gateway.live_queries import LiveQueries
from app.gateway.metrics import GatewayMetrics
from app.gateway.outbox import Outbox
from app.gateway.ports import Admit, Authenticate, CountWrites, Functions, TokenSourceFactory
from app.gateway.queued_wire import Message, QueuedWire, Receive, Send
from app.gateway.retelling import Retellings
from app.gateway.session_state import Limits
from app.gateway.sse import EventStreams
from app.gateway.subscription import AnySubscription, Subscription
from app.gateway.tasks import Tasks
from app.gateway.watches import Watches
from app.protocol.client import SUBPROTOCOL
from app.protocol.errors import CLOSE_GOING_AWAY
from app.protocol.origin import canonical_origin
from app.protocol.peer import Peers
from app.telemetry.metrics import Metrics

_GOING_AWAY = "the server is going away"
_LAST_WORDS_S = 1.0
"""How long peers get to answer the close, before they are cut off."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """How a gateway behaves.  Times are seconds."""

    limits: Limits = field(default_factory=Limits)
    origins: frozenset[str] | None = None
    """Pages that may connect, as ``https://host``; ``None`` lets all."""
    peers: Peers = field(default_factory=Peers)
    """Tells where a socket comes from."""
    max_calls: int = 2_000
    """Calls in flight, of all sockets."""
    reconcile_s: float = 2.0
    sweep_s: float = 1.0
    slow_s: float = 10.0
    """How long a reader may be behind before it is closed."""
    drain_s: float = 5.0
    """How long calls in flight get when the server leaves."""
    spread_per_s: float = 200.0
    """Sockets that may come back per second after a drain; over this they are spread."""
    max_spread_s: float = 10.0


class Gateway:
    """Sockets, streams and feeds of one process (``ConnectionHost``, ``StreamHost``)."""

    def __init__(
        self,
        *,
        reader: ThreadReader,
        functions: Functions,
        count_writes: CountWrites,
        authenticate: Authenticate,
        token_source: TokenSourceFactory,
        clock: Clock,
        metrics: Metrics,
        admit: Admit | None = None,
        options: GatewayOptions | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.functions = functions
        self.admit = admit or _admit_all
        self.authenticate = authenticate
        self.options = options or GatewayOptions()
        self.limits = self.options.limits
        origins = self.options.origins
        self._origins = None if origins is None else frozenset(map(canonical_origin, origins))
        self.max_calls = self.options.max_calls
        self.tasks = Tasks()
        self.calls = Tasks()
        self.metrics = GatewayMetrics(metrics)
        self.reader = reader
        self._clock = clock
        self._chance = chance
        self._connections: dict[Connection, None] = {}
        self._behind: dict[Outbox, float] = {}
        self._resumed = asyncio.Event()
        self._gone = asyncio.Event()
        """Set when the last socket of a server that leaves is closed."""
        self._drain: asyncio.Task[None] | None = None
        source = token_source(self.on_token, self.on_gap)
        self.feeds = Feeds(reader, source, self.tasks, clock, self.metrics)
        self.queries = LiveQueries(
            functions=functions,
            admit=self.admit,
            count_writes=count_writes,
            tasks=self.tasks,
            clock=clock,
            metrics=self.metrics,
        )
        self.watches = Watches(self.feeds, self.queries)
        self.streams = EventStreams(self)
        """What serves ``STREAM_PATH``."""
        self.retellings = Retellings(self, self.streams)
        """What answers with a run in another protocol's words."""

    # ------------------------------------------------------------ life

    async def start(self) -> None:
        """Learn the database's history, and begin to reconcile and to sweep."""
        if not self.feeds.timeline:
            self.on_timeline(await self.reader.timeline())
        self.tasks.spawn(self._reconcile_for_ever(), "reconcile")
        self.tasks.spawn(self._sweep_for_ever(), "sweep")

    def begin_drain(self) -> None:
        """Begin to leave: see ``drain``."""
        if self._drain is None:
            self._drain = asyncio.create_task(self._leave(), name="drain")

    async def drain(self) -> None:
        """Say goodbye to every socket, let calls end, close, and stop.

        The goodbyes name different delays, so that the clients do not come back together.
        """
        self.begin_drain()
        if self._drain is not None:
            await asyncio.shield(self._drain)

    # ------------------------------------------------------------ ears

    def on_hint(self, thread_id: str, version: int) -> None:
        """Hear that a thread has this version."""
        self.feeds.on_hint(thread_id, version)
        self.queries.on_thread(thread_id)

    def on_writes(self, writes: TableWrites) -> None:
        """Hear what was written of the team's tables."""
        self.queries.hear(writes)

    def on_resumed(self) -> None:
        """Hear that hints may have been missed: look at everything that is watched now."""
        self._resumed.set()
        self.queries.touch_all()

    def on_timeline(self, timeline: str) -> None:
        """Hear which history the database is in; another one than before begins anew."""
        self.feeds.on_timeline(timeline)
        self.queries.on_timeline(timeline)

    def on_token(self, thread_id: str, payload: Mapping[str, Any]) -> None:
        """Hear a piece of live text."""
        self.feeds.on_token(thread_id, payload)

    def on_gap(self) -> None:
        """Hear that pieces of live text may have been missed."""
        self.feeds.on_gap()

    # ------------------------------------------------------------ sockets

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Take one socket (ASGI).  With ``FramesProtocol`` this returns at once."""
        await receive()  # websocket.connect
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return
        offered = SUBPROTOCOL in scope.get("subprotocols", ())
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if offered else None})
        wire = scope.get("extensions", {}).get(EXTENSION, {}).get("wire")
        if isinstance(wire, SocketWire):
            wire.attach(self._open(wire, scope))
        else:
            queued = QueuedWire()
            await queued.serve(self._open(queued, scope), receive, send)

    def _open(self, wire: SocketWire | QueuedWire, scope: Message) -> Connection:
        connection = Connection(uuid.uuid4().hex, wire, self, self.address_of(scope))
        self._connections[connection] = None
        self.metrics.sockets.inc()
        if self._drain is not None:  # began while the handshake was answered
            wire.close(CLOSE_GOING_AWAY, _GOING_AWAY)
        return connection

    def _refusal(self, scope: Message) -> int | None:
        """Return the HTTP status with which this socket is refused."""
        if self._drain is not None:
            return 503
        offered = scope.get("subprotocols", ())
        if offered and SUBPROTOCOL not in offered:
            return 400
        if self._origins is not None:
            origin = next((v for k, v in scope["headers"] if k.lower() == b"origin"), None)
            # No page, no cookie, nothing to forge: only browsers send an origin.
            if (
                origin is not None
                and canonical_origin(origin.decode("latin-1")) not in self._origins
            ):
                return 403
        return None

    # ------------------------------------------------------------ what connections ask for

    def now(self) -> float:
        """See ``ConnectionHost.now``."""
        return self._clock.boot_s()

    def address_of(self, scope: Message) -> str:
        """See ``StreamHost.address_of``."""
        return self.options.peers.address(scope)

    def forget(self, connection: Connection) -> None:
        """See ``ConnectionHost.forget``."""
        if connection in self._connections:
            del self._connections[connection]
            self.metrics.sockets.dec()
        if self._drain is not None and not self._connections:
            self._gone.set()
        self._behind.pop(connection.outbox, None)

    def forget_outbox(self, outbox: Outbox) -> None:
        """See ``StreamHost.forget_outbox``."""
        self._behind.pop(outbox, None)

    def fell_behind(self, outbox: Outbox) -> None:
        """See ``Stragglers.fell_behind``."""
        self._behind.setdefault(outbox, self.now())

    def caught_up(self, outbox: Outbox) -> None:
        """See ``Stragglers.caught_up``."""
        self._behind.pop(outbox, None)

    def join_again(self, subscription: AnySubscription) -> None:
        """See ``Stragglers.join_again``."""
        self.watches.join_again(subscription)

    def send_text(self, subscription: Subscription) -> None:
        """See ``Stragglers.send_text``."""
        self.feeds.send_text(subscription)

    # ------------------------------------------------------------ for ever

    def sweep(self) -> None:
        """Do what time asks for: probe, recheck, close who is silent or too slow."""
        now = self.now()
        for connection in tuple(self._connections):
            connection.tick(now)
        self.streams.tick(now)
        for outbox, since in tuple(self._behind.items()):
            if now - since >= self.options.slow_s:
                self.metrics.slow.labels("closed").inc()
                outbox.give_up()

    async def reconcile(self) -> None:
        """Find the feeds and the queries that missed a hint."""
        await self.feeds.reconcile()
        await self.queries.reconcile()

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.options.sweep_s)
            try:
                self.sweep()
            except Exception:  # noqa: BLE001 - one socket's trouble must not stop the clock
                _log.warning("a sweep failed", exc_info=True)

    async def _reconcile_for_ever(self) -> None:
        while True:
            wait_s = self.options.reconcile_s * (0.9 + 0.2 * self._chance())
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._resumed.wait()
            self._resumed.clear()
            try:
                await self.reconcile()
            except Exception:  # noqa: BLE001 - the next tick tries again whatever it was
                _log.warning("feeds could not be reconciled", exc_info=True)

    async def _leave(self) -> None:
        leaving = len(self._connections) + len(self.streams)
        spread_s = min(self.options.max_spread_s, leaving / self.options.spread_per_s)
        self.streams.leave(lambda: round(self._chance() * spread_s, 3))
        for connection in tuple(self._connections):
            connection.say_goodbye(round(self._chance() * spread_s, 3))
        await self.calls.ended(within_s=self.options.drain_s)
        if not self._connections:
            self._gone.set()
        for connection in tuple(self._connections):
            connection.wire.close(CLOSE_GOING_AWAY, _GOING_AWAY)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._gone.wait()
        for connection in tuple(self._connections):
            connection.wire.abort()
        await self.calls.close()
        await self.tasks.close()


async def _admit_all(caller: Identity, address: str) -> None:
    del caller, address


async def _refuse(scope: Message, send: Send, status: int) -> None:
    if "websocket.http.response" in scope.get("extensions", {}):
        await send({"type": "websocket.http.response.start", "status": status, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b""})
    else:
        await send({"type": "websocket.close", "code": CLOSE_GOING_AWAY})
