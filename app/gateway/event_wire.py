r"""Frames as server-sent events: the wire of a reader that HTTP alone reaches.

    id: 7311840091-1.42
    data: {"type":"delta",...}

A frame is put around as it is; JSON has no bare line break, so one ``data`` line holds it.
Only the frames of lists bear an id: see ``app.gateway.sse``.  Source: WHATWG HTML, 9.2.
"""

import asyncio
from contextlib import suppress

from app.gateway import replies
from app.gateway.queued_wire import QueuedWire, Receive, Send
from app.gateway.wire import Listener, payload_of

RETRY_MS = 1_000
"""What a reader waits before it comes back, unless it is told otherwise."""

HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),  # nginx would keep events back
]
_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""No line breaks to the standard, but to many a reader that splits text into lines."""

_CURSOR = '"cursor":"'
_OPENINGS = ('{"type":"delta"', '{"type":"snapshot"')


class EventWire(QueuedWire):
    """One response that stays open (``app.gateway.wire.Wire``)."""

    def __init__(self, heartbeat_s: float, numbered: str = "agents:agentMessages") -> None:
        """Hold a queue.

        Args:
            heartbeat_s: how long nothing may be sent before a comment is.
            numbered: the query whose frames bear their cursor as an id.
        """
        super().__init__()
        self._heartbeat_s = heartbeat_s
        self._numbered = numbered
        self._is_begun = False
        self._last: bytes | None = None

    def say_goodbye(self, retry_after_s: float) -> None:
        """Have the reader told, last, when it may come back."""
        frame = payload_of(replies.goodbye(retry_after_s))
        self._last = f"retry: {round(retry_after_s * 1000)}\ndata: {frame}\n\n".encode()

    async def describe(self, send: Send) -> None:
        """Answer a HEAD request: the headers alone."""
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b""})

    async def _read(self, listener: Listener, receive: Receive) -> None:
        del listener
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _begin(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await emit(send, f"retry: {RETRY_MS}\n\n".encode())

    async def _wait(self, send: Send) -> None:
        if not self._is_begun:
            self._is_begun = True
            await self._begin(send)
        while not self._something.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._heartbeat_s):
                    await self._something.wait()
                    return
            await emit(send, b":\n\n")

    async def _carry(self, frame: bytes, send: Send) -> None:
        await emit(send, self._event(payload_of(frame)))

    async def _finish(self, code: int, reason: str, send: Send) -> None:
        del code, reason
        await send({"type": "http.response.body", "body": self._last or b""})

    def _event(self, payload: str) -> bytes:
        payload = payload if payload.isascii() else payload.translate(_BREAKS)
        is_numbered = any(
            payload.startswith(f'{each},"id":"{self._numbered}') for each in _OPENINGS
        )
        if not is_numbered:
            return f"data: {payload}\n\n".encode()
        # The frame's own cursor comes first: within a string its quotes would be escaped.
        start = payload.index(_CURSOR) + len(_CURSOR)
        cursor = payload[start : payload.index('"', start)]
        return f"id: {cursor}\ndata: {payload}\n\n".encode()


async def emit(send: Send, chunk: bytes) -> None:
    """Send a piece of the response; more follows."""
    await send({"type": "http.response.body", "body": chunk, "more_body": True})
