"""Pre-encoded frames through uvicorn: give ``FramesProtocol`` to it as ``ws=``.

uvicorn's own way from an application to the socket costs a coroutine, a lock and an
encoding per message and socket.  Here the application gets the socket itself
(``SocketWire``) through an ASGI extension, and its handler is called straight from the
transport (``attach``): no task, no queue, no scope is kept for an idle socket.

uvicorn is pinned, because this relies on names inside its protocol class;
``tests/integration/gateway/test_frames.py`` walks everything that is relied on.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, cast

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import OPEN

from app.gateway.wire import HARD_LIMIT, SOFT_LIMIT, Listener
from app.protocol.wire import MAX_FRAME

EXTENSION = "ropewalk.frames"
"""Key of the ASGI extension; its value is ``{"wire": SocketWire}``."""

UVICORN_OPTIONS: Mapping[str, object] = MappingProxyType(
    {
        "ws_per_message_deflate": False,  # a compression context costs 40 kB a socket (B63)
        "ws_max_size": MAX_FRAME,
        "ws_ping_interval": None,  # the gateway has heartbeats of its own
    }
)
"""What uvicorn has to be started with beside ``ws=FramesProtocol``."""

TURN = 8 * 1024
"""Bytes that a socket is heard of in one turn of the loop: who floods waits like everybody else."""


class SocketWire:
    """One socket, as the application holds it (``app.gateway.wire.Wire``).

    Kept small on purpose: fan-out to thousands is bound by cache misses, so a write
    looks at one flag here and at nothing else.
    """

    __slots__ = ("_protocol", "_transport", "listener", "ready")

    def __init__(self, protocol: "FramesProtocol") -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self.listener: Listener | None = None
        self.ready = False
        """Open, and less than ``SOFT_LIMIT`` behind."""

    @property
    def is_open(self) -> bool:
        """See ``Wire.is_open``."""
        return self._protocol.conn.state is OPEN and not self._transport.is_closing()

    @property
    def unsent(self) -> int:
        """Bytes that the peer has not read."""
        return self._transport.get_write_buffer_size()

    def write(self, frame: bytes) -> bool:
        """See ``Wire.write``."""
        if not self.ready:
            return False
        self._transport.write(frame)
        return True

    def push(self, frame: bytes) -> bool:
        """See ``Wire.push``."""
        if not (self.ready or (self.is_open and self.unsent < HARD_LIMIT)):
            return False
        self._transport.write(frame)
        return True

    def ping(self) -> None:
        """See ``Wire.ping``."""
        if self.is_open:
            self._protocol.send_bare_ping()

    def close(self, code: int, reason: str) -> None:
        """See ``Wire.close``."""
        if self.is_open:
            self._protocol.begin_close(code, reason)

    def abort(self) -> None:
        """See ``Wire.abort``."""
        self._transport.abort()

    def attach(self, listener: Listener) -> None:
        """Call ``listener`` from now on; the ASGI call may return.

        Call it right after the handshake was accepted.
        """
        self.listener = listener
        self._protocol.let_go_of_request()


class FramesProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, with a door for the application."""

    wire: SocketWire
    cut_off_after_s: ClassVar[float] = 10.0
    """How long a peer that was sent a close frame may take before it is cut off."""

    def connection_made(self, transport: object) -> None:
        """Give the transport our own limits."""
        super().connection_made(transport)  # type: ignore[arg-type]  # uvicorn casts it itself
        self._unheard = b""
        self.transport.set_write_buffer_limits(high=SOFT_LIMIT)
        self.close_timeout = self.cut_off_after_s
        self.wire = SocketWire(self)

    async def run_asgi(self) -> None:
        """Run the application; a socket with a listener outlives the call."""
        extensions = cast("dict[str, object]", self.scope.setdefault("extensions", {}))
        extensions[EXTENSION] = {"wire": self.wire}
        try:
            await self.app(self.scope, self.receive, self.send)
        except ClientDisconnected:
            pass
        except Exception:
            self.logger.exception("Exception in ASGI application\n")
        finally:
            self.send_500_response()  # does nothing once the handshake is answered
            if self.wire.listener is None and self.close_timer is None:
                self.transport.close()
            self._refresh()

    def let_go_of_request(self) -> None:
        """Free what only the handshake needed, and hand over what has come since."""
        del self.scope, self.request, self.response
        while not self.queue.empty():
            event = self.queue.get_nowait()
            if event["type"] == "websocket.receive":
                text, data = event.get("text"), event.get("bytes")
                self._hear(text.encode() if text is not None else data or b"", is_text=not data)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()

    def begin_close(self, code: int, reason: str) -> None:
        """Send a close frame without waiting for what is unsent; cut off later."""
        self.conn.send_close(code, reason)
        self._flush()
        self.close_sent = True
        self._cut_off_later()
        self._refresh()

    def send_bare_ping(self) -> None:
        """Send a ping frame."""
        self.conn.send_ping(b"")
        self._flush()

    async def send(self, message: object) -> None:
        """Do what uvicorn does, and notice that the socket opened or closed."""
        await super().send(message)  # type: ignore[arg-type]  # handed through
        self._refresh()

    def data_received(self, data: bytes) -> None:
        """Take bytes, as many in a turn as may be; nothing more is read until they are heard."""
        is_waiting = bool(self._unheard)
        if is_waiting or len(data) > TURN:
            self._unheard += data
            if not is_waiting:
                self.transport.pause_reading()
                self._hear_on()
            return
        self._take(data)

    def _hear_on(self) -> None:
        piece, self._unheard = self._unheard[:TURN], self._unheard[TURN:]
        if self.disconnected or self.transport.is_closing():
            self._unheard = b""
            return
        try:
            self._take(piece)
        except Exception:
            # The loop does this for ``data_received`` alone; a socket left paused would be deaf.
            self.transport.abort()
            raise
        if self._unheard:
            self.loop.call_soon(self._hear_on)
        elif not (self.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def _take(self, data: bytes) -> None:
        """Take bytes; a peer that closed, or broke the protocol, is cut off at last."""
        super().data_received(data)
        if self.wire.listener is not None:
            self.wire.listener.heard()
        if self.conn.state is not OPEN and self.handshake_complete:
            self._cut_off_later()
            self._refresh()

    def handle_ping(self) -> None:
        """Answer a ping, but not one who pings without reading."""
        pong = b"".join(self.conn.data_to_send())
        if self.wire.ready or self.wire.listener is None:
            self.transport.write(pong)

    def send_receive_event_to_app(self) -> None:
        """Hand a whole message to whoever listens."""
        if self.wire.listener is None or self.close_sent:
            super().send_receive_event_to_app()
            return
        data, self.frames = b"".join(self.frames), []
        self._hear(data, is_text=self.curr_msg_data_type == "text")

    def pause_writing(self) -> None:
        """Note that the reader is behind."""
        super().pause_writing()
        self._refresh()

    def resume_writing(self) -> None:
        """Note that it has caught up."""
        super().resume_writing()
        self._refresh()
        if self.wire.listener is not None and self.wire.ready:
            self.wire.listener.drained()

    def shutdown(self) -> None:
        """Let the listener say goodbye; without one, close as uvicorn does."""
        if self.wire.listener is not None and self.wire.is_open:
            self.wire.listener.leave()
        else:
            super().shutdown()
            self._refresh()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the listener."""
        super().connection_lost(exc)
        self.wire.ready = False
        listener, self.wire.listener = self.wire.listener, None
        if listener is not None:
            listener.closed()

    def _hear(self, data: bytes, *, is_text: bool) -> None:
        if self.wire.listener is not None:
            self.wire.listener.message(data, is_text=is_text)

    def _refresh(self) -> None:
        self.wire.ready = self.wire.is_open and self.writable.is_set()

    def _flush(self) -> None:
        self.transport.write(b"".join(self.conn.data_to_send()))

    def _cut_off_later(self) -> None:
        # transport.close() alone waits for the buffer of a peer that may never read it.
        if self.close_timer is None and not self.disconnected:
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)
