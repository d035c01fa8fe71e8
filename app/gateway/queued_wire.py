"""The same wire over plain ASGI, for servers without ``FramesProtocol``.

A bounded queue and one task per socket: it works everywhere (Starlette's TestClient,
another server), costs several times as much, and keeps the same promise: a write never
waits, and a reader who is behind is told apart from one who is not.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from app.gateway.wire import HARD_LIMIT, SOFT_LIMIT, Listener, payload_of

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

CLOSE_ABNORMAL = 1006
_LAST_WORDS_S = 5.0


class QueuedWire:
    """One peer behind a queue (``app.gateway.wire.Wire``); here, a socket."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._is_behind = False
        self._goodbye: tuple[int, str] | None = None
        self._something = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """See ``Wire.is_open``."""
        return self._goodbye is None

    def write(self, frame: bytes) -> bool:
        """See ``Wire.write``."""
        return not self._is_behind and self._put(frame, SOFT_LIMIT)

    def push(self, frame: bytes) -> bool:
        """See ``Wire.push``."""
        return self._put(frame, HARD_LIMIT)

    def ping(self) -> None:
        """Leave it to the server, which alone can send a ping frame."""

    def close(self, code: int, reason: str) -> None:
        """See ``Wire.close``."""
        if self._goodbye is None:
            self._goodbye = (code, reason)
            self._something.set()
            self._ended.set()

    def abort(self) -> None:
        """See ``Wire.abort``."""
        self._frames.clear()
        self.close(CLOSE_ABNORMAL, "")

    async def serve(self, listener: Listener, receive: Receive, send: Send) -> None:
        """Carry messages both ways until one side closes."""
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(listener, receive), name="socket reads")
                writing = tasks.create_task(self._write(listener, send), name="socket writes")
                ended = tasks.create_task(self._until_ended(), name="socket ends")
                await asyncio.wait((reading, writing, ended), return_when=asyncio.FIRST_COMPLETED)
                if not self.is_open:
                    # A peer that does not read would hold its writer for ever.
                    await asyncio.wait((writing,), timeout=_LAST_WORDS_S)
                for task in (reading, writing, ended):
                    task.cancel()
        finally:
            self.abort()
            listener.closed()

    # ------------------------------------------------------------ what a socket is

    async def _read(self, listener: Listener, receive: Receive) -> None:
        while True:
            event = await receive()
            if event["type"] != "websocket.receive":
                return
            listener.heard()
            text = event.get("text")
            data: bytes = text.encode() if text is not None else event["bytes"]
            listener.message(data, is_text=text is not None)

    async def _wait(self, send: Send) -> None:
        """Wait until there is something to send."""
        del send
        await self._something.wait()

    async def _carry(self, frame: bytes, send: Send) -> None:
        await send({"type": "websocket.send", "text": payload_of(frame)})

    async def _finish(self, code: int, reason: str, send: Send) -> None:
        if code != CLOSE_ABNORMAL:
            await send({"type": "websocket.close", "code": code, "reason": reason})

    # ------------------------------------------------------------ the queue

    def _put(self, frame: bytes, limit: int) -> bool:
        if self._goodbye is not None or self._unsent >= limit:
            self._is_behind = True
            return False
        self._frames.append(frame)
        self._unsent += len(frame)
        self._something.set()
        return True

    async def _until_ended(self) -> None:
        await self._ended.wait()

    async def _write(self, listener: Listener, send: Send) -> None:
        try:
            while self.is_open:
                await self._wait(send)
                self._something.clear()
                await self._flush(send)
                if self._is_behind:
                    self._is_behind = False
                    listener.drained()
            code, reason = self._goodbye or (CLOSE_ABNORMAL, "")
            await self._finish(code, reason, send)
        except (OSError, RuntimeError):  # what servers raise when the peer has gone
            return

    async def _flush(self, send: Send) -> None:
        while self._frames:
            frame = self._frames.popleft()
            await self._carry(frame, send)
            self._unsent -= len(frame)
