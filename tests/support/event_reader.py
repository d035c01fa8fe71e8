"""A reader of server-sent events over a real connection, as a browser's ``EventSource`` is."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import httpx2

from app.protocol.calls import AGENT_MESSAGES, AGENT_THREAD
from tests.support.client_view import ClientView, Frame
from tests.support.wait_until import wait_until


class EventReader:
    """What one reader has of a thread; it comes back with the last id that it saw."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.token = token
        self.messages = ClientView()
        self.thread = ClientView()
        self.last_id: str | None = None
        self.retry_ms: int | None = None
        self.comments = 0
        self.loose: list[Frame] = []
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.is_ended = False
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Ask, and return when an answer began."""
        self.status, self.is_ended = None, False
        self._reading = asyncio.create_task(self._read(), name="event reader")
        await wait_until(lambda: self.status is not None, description="an answer")

    async def close(self) -> None:
        """Go away without a word."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading

    async def _read(self) -> None:
        headers = {"accept": "text/event-stream"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        if self.last_id is not None:
            headers["last-event-id"] = self.last_id
        async with (
            httpx2.AsyncClient(timeout=None, trust_env=False) as http,
            http.stream("GET", self.url, headers=headers) as answer,
        ):
            self.headers, self.status = answer.headers, answer.status_code
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                self._take_line(line, fields)
        self.is_ended = True

    def _take_line(self, line: str, fields: dict[str, str]) -> None:
        if not line:
            if "data" in fields:
                self._take(json.loads(fields["data"]))
            self.last_id = fields.get("id", self.last_id)
            fields.clear()
            return
        name, _, value = line.partition(": ")
        if name == ":":
            self.comments += 1
        elif name == "retry":
            self.retry_ms = int(value)
        else:
            assert name not in fields, f"two lines of {name} in one event"
            fields[name] = value

    def _take(self, frame: Frame) -> None:
        query = str(frame.get("id", "")).partition("{")[0]
        views = {AGENT_MESSAGES: self.messages, AGENT_THREAD: self.thread}
        if query in views:
            views[query].apply(frame)
        else:
            self.loose.append(frame)


@asynccontextmanager
async def event_reader(
    url: str, token: str | None = None, last_id: str | None = None
) -> AsyncIterator[EventReader]:
    """Read until the end of the block."""
    reader = EventReader(url, token)
    reader.last_id = last_id
    await reader.open()
    try:
        yield reader
    finally:
        await reader.close()
