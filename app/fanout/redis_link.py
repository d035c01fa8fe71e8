"""One subscriber connection to Redis, without a client library in between.

hiredis parses, one callback a message, no task and no lock: under 10,000 deltas a second that
is 4 % of a core against 7 to 10 with redis-py's ``listen()``.  What the library gave for free is
here and in ``app.fanout.subscriber``: the password first, confirmations in order, a ping on a
silent link (a cut cable says nothing by itself: field case B60).
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import hiredis
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection, parse_url

log = logging.getLogger(__name__)

CONNECT_S = 1.0
SILENCE_S = 1.0
"""After this long without a byte the server is asked for one, and after as long again given up."""
CHANNELS_A_COMMAND = 500


class RedisLink(asyncio.Protocol):
    """The protocol of one connection; over when ``lost`` is set."""

    def __init__(self, on_message: Callable[[str, bytes], None]) -> None:
        self.lost = asyncio.Event()
        self._on_message = on_message
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        self._confirmed: dict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._heard = False
        self._pinged = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Hand on every message that is complete."""
        self._heard = True
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._take(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake whoever waits for this link."""
        self.lost.set()
        for waiting in self._confirmed.values():
            for one in waiting:
                one.cancel()
        self._confirmed.clear()

    def send(self, *words: str) -> None:
        """Send one command; over a link that is lost it goes nowhere."""
        # uvloop raises for a write after the loss, and the loss may be of this very moment.
        if self._transport is not None and not self.lost.is_set():
            self._transport.write(hiredis.pack_command(words))  # type: ignore[arg-type]  # a tuple

    async def subscribe(self, channels: Sequence[str]) -> None:
        """Return when the server has confirmed all of them, or the link is lost."""
        if self.lost.is_set():
            return
        loop = asyncio.get_running_loop()
        answers = []
        for begin in range(0, len(channels), CHANNELS_A_COMMAND):
            some = channels[begin : begin + CHANNELS_A_COMMAND]
            for channel in some:
                answers.append(loop.create_future())
                self._confirmed[channel].append(answers[-1])
            self.send("SUBSCRIBE", *some)
        if answers:
            await asyncio.wait(answers)

    def unsubscribe(self, channel: str) -> None:
        """Stop hearing a channel."""
        self.send("UNSUBSCRIBE", channel)

    async def keep_alive(self) -> None:
        """Return when the link is lost; give it up when it does not answer a ping."""
        while not self.lost.is_set():
            self._heard = False
            try:
                async with asyncio.timeout(SILENCE_S):
                    await self.lost.wait()
            except TimeoutError:
                self._ask()

    def abort(self) -> None:
        """Give the link up at once."""
        if self._transport is not None:
            self._transport.abort()

    def _ask(self) -> None:
        if self._heard:
            self._pinged = False
        elif self._pinged:
            log.warning("the subscriber link to Redis went silent")
            self.abort()
        else:
            self._pinged = True
            self.send("PING")

    def _take(self, reply: object) -> None:
        match reply:
            case [b"message", bytes(channel), bytes(payload)]:
                try:
                    self._on_message(channel.decode(), payload)
                except Exception:
                    log.exception("a message on %s was not understood", channel.decode())
            case [b"subscribe", bytes(channel), int()]:
                self._confirm(channel.decode())
            case hiredis.ReplyError():
                log.error("Redis refuses the subscriber link: %s", reply)
                self.abort()
            case _:  # a pong, the end of a subscription, the password's OK
                pass

    def _confirm(self, channel: str) -> None:
        waiting = self._confirmed[channel]
        if waiting:
            waiting.popleft().set_result(None)
        if not waiting:
            del self._confirmed[channel]


async def connect_link(url: str, on_message: Callable[[str, bytes], None]) -> RedisLink:
    """Connect to ``redis://``, ``rediss://`` or ``unix://`` and give the password.

    Raises:
        OSError: nobody answers within a second.
    """
    loop = asyncio.get_running_loop()
    where: dict[str, Any] = dict(parse_url(url))
    kind = where.pop("connection_class", None)
    async with asyncio.timeout(CONNECT_S):
        link = RedisLink(on_message)
        if kind is UnixDomainSocketConnection:
            await loop.create_unix_connection(lambda: link, where["path"])
        else:
            tls = SSLConnection(**where).ssl_context.get() if kind is SSLConnection else None
            await loop.create_connection(
                lambda: link, where.get("host", "localhost"), where.get("port", 6379), ssl=tls
            )
    if where.get("password"):
        link.send("AUTH", *filter(None, (where.get("username"), where["password"])))
    return link
