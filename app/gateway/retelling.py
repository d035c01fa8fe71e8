"""A run's stream in another protocol's words, over the same feed as every socket.

A reader of one is a reader of server-sent events like others (``app.gateway.sse``): registered,
bounded, judged again from time to time, told when the server leaves.  Only what is written
differs: each frame is handed to a telling (``app.dialects``), and what that says is sent.

Law: before a telling ends, what is stored is read once more.  A reader who was slow may have
been told of the end first; nobody is told of an end without what came before it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from app.dialects.events import Row
from app.dialects.stored import ending_of, refusals, rows_of_run
from app.dialects.telling import Telling
from app.domain.errors import ChatError
from app.domain.identity import Identity
from app.domain.ports import ThreadReader
from app.domain.storable import decode
from app.domain.thread import Thread
from app.gateway.event_wire import HEADERS, EventWire, emit
from app.gateway.queries import StateQuery
from app.gateway.queued_wire import Message, Receive, Send
from app.gateway.sse import Asked, EventStreams, Stream, StreamHost, messages_and_thread
from app.gateway.wire import payload_of
from app.protocol.calls import AGENT_MESSAGES, AGENT_STATE, AGENT_THREAD

_READ_TIMEOUT_S: Final = 10.0
_TOLD: Final = 1000
"""The close code of a telling that came to its end."""

_BROKEN_OFF: Final = "the stream ended here, and the run goes on: resume"
_GONE: Final = "there is no such session any more"

_log = logging.getLogger(__name__)


class RetoldWire(EventWire):
    """One response that tells a run (``app.gateway.wire.Wire``)."""

    def __init__(
        self,
        heartbeat_s: float,
        telling: Telling,
        opening: bytes,
        reader: ThreadReader,
        thread: Thread,
    ) -> None:
        """Hold a queue.

        Args:
            heartbeat_s: how long nothing may be sent before a comment is.
            telling: of the run; ``opening`` was told already and is sent first.
            opening: see there.
            reader: where what is stored is read.
            thread: in which the run is.
        """
        super().__init__(heartbeat_s)
        self._telling = telling
        self._opening = opening
        self._reader = reader
        self._thread = thread
        self._is_told = False

    async def _begin(self, send: Send) -> None:
        own = [(name.encode(), value.encode()) for name, value in self._telling.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *own]})
        opening, self._opening = self._opening, b""
        await emit(send, opening)

    async def _carry(self, frame: bytes, send: Send) -> None:
        if not self._is_told:
            await self._tell(frame, send)

    async def _tell(self, frame: bytes, send: Send) -> None:
        try:
            told = await self._retold(from_json(payload_of(frame)))
        except (ChatError, TimeoutError):
            _log.warning("a run could not be told to its end", exc_info=True)
            told = self._break_off(_BROKEN_OFF)
        if self._is_told:
            # With the response's own end: who reads slowly has no time of grace for that alone.
            await send({"type": "http.response.body", "body": told})
            self.close(_TOLD, "")
        elif told:
            await emit(send, told)

    async def _finish(self, code: int, reason: str, send: Send) -> None:
        if not self._is_begun:
            self._is_begun = True
            await self._begin(send)
        if not self._is_told:
            last = self._break_off(reason or _BROKEN_OFF)
            await send({"type": "http.response.body", "body": last})

    async def _retold(self, frame: dict[str, Any]) -> bytes:
        query = str(frame["id"]).partition("{")[0]
        match frame["type"], query:
            case "token", _:
                return self._telling.token(frame)
            case "snapshot", name if name == AGENT_MESSAGES:
                return await self._rows(await self._from_the_first(frame["value"]))
            case "delta", _:
                return await self._rows([op["row"] for op in frame["ops"] if op["op"] == "upsert"])
            case "snapshot", name if name == AGENT_STATE:
                return self._telling.state(frame["value"])
            case "snapshot", name if name == AGENT_THREAD and frame["value"] is None:
                return self._break_off(_GONE)
            case "snapshot", name if name == AGENT_THREAD:
                told = self._telling.thread(frame["value"])
                return told + (await self._end() if self._telling.is_in_question else b"")
            case _:
                return b""

    async def _from_the_first(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return a page's rows, and those of the run before it: who was slow may lack them."""
        run_id = self._telling.run_id
        if not rows or rows[0]["runId"] != run_id:
            return rows
        async with asyncio.timeout(_READ_TIMEOUT_S):
            return await rows_of_run(self._reader, self._thread.id, run_id)

    async def _rows(self, rows: Sequence[Row]) -> bytes:
        failed = self._telling.errors_in(rows)
        async with asyncio.timeout(_READ_TIMEOUT_S):
            refused = await refusals(self._reader, self._thread.key, failed)
        return self._telling.rows(rows, refused)

    async def _end(self) -> bytes:
        """Tell the end, if it has come, after all that is stored before it."""
        thread, run_id = self._thread, self._telling.run_id
        async with asyncio.timeout(_READ_TIMEOUT_S):
            ending = await ending_of(self._reader, thread.key, run_id)
            if ending is None:
                return b""
            rows = await rows_of_run(self._reader, thread.id, run_id)
            state = await self._reader.state(thread.id) if self._telling.tells_state else None
        told = await self._rows(rows)
        if state is not None:
            told += self._telling.state(decode(state))
        self._is_told = True
        return told + self._telling.end(ending)

    def _break_off(self, reason: str) -> bytes:
        self._is_told = True
        return self._telling.break_off(reason)


class Retellings:
    """All such streams of a gateway."""

    def __init__(self, host: StreamHost, streams: EventStreams) -> None:
        self._host = host
        self._streams = streams

    def __call__(
        self, telling: Telling, opening: bytes, thread: Thread, caller: Identity, token: str | None
    ) -> Callable[[Message, Receive, Send], Awaitable[None]]:
        """Return what answers a request, which was let in already, with a run of a thread.

        Args:
            telling: of the run.
            opening: what was told of it already, to be sent first.
            thread: in which the run is.
            caller: who asks.
            token: which the caller has shown, to be judged again from time to time.
        """
        asked: list[Asked] = messages_and_thread(thread.key)
        if telling.tells_state:
            asked.insert(1, (AGENT_STATE, StateQuery(thread.key), None))

        async def answer(scope: Message, receive: Receive, send: Send) -> None:
            del scope
            wire = RetoldWire(
                self._host.limits.heartbeat_s, telling, opening, self._host.reader, thread
            )
            stream = Stream(self._host, wire, caller, token)
            await self._streams.serve(stream, asked, receive, send)

        return answer
