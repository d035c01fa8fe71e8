"""Channels of Redis that stay subscribed over whatever happens to the connection.

What was published while the link was down is gone; ``on_resumed`` says so, and whoever cares reads
what is stored.
"""

import asyncio
import logging
from collections.abc import Callable

from app.fanout.backoff import reconnect_after_s
from app.fanout.redis_link import RedisLink, connect_link

log = logging.getLogger(__name__)

CONFIRM_S = 3.0
"""A subscription that is not confirmed by then means a link that is no good."""


class Subscriber:
    """Any number of channels over one connection, driven by ``run``.

    Args:
        on_message: gets channel and payload of each message; must not block.
        on_resumed: called when all channels are heard again after a link was lost.
    """

    def __init__(
        self,
        url: str,
        on_message: Callable[[str, bytes], None],
        on_resumed: Callable[[], None] = lambda: None,
    ) -> None:
        self._url = url
        self._on_message = on_message
        self._on_resumed = on_resumed
        self._channels: set[str] = set()
        self._link: RedisLink | None = None
        self._is_heard = False

    @property
    def is_connected(self) -> bool:
        """Whether all channels are heard now."""
        return self._is_heard

    async def subscribe(self, channel: str) -> None:
        """Return when the channel is heard; while Redis is away, at once: it will be."""
        self._channels.add(channel)
        if self._link is not None:
            await self._confirmed(self._link, [channel])

    def unsubscribe(self, channel: str) -> None:
        """Stop hearing a channel."""
        self._channels.discard(channel)
        if self._link is not None:
            self._link.unsubscribe(channel)

    async def run(self) -> None:
        """Connect, and connect again when the link is lost, until cancelled."""
        failures, was_lost = 0, False
        while True:
            try:
                link = await connect_link(self._url, self._on_message)
            except OSError as error:
                failures += 1
                if failures == 1:
                    log.warning("Redis is not heard: %s", error)
                await asyncio.sleep(reconnect_after_s(failures))
                continue
            try:
                if await self._resume(link):
                    failures = 0
                    if was_lost:
                        log.info("Redis is heard again")
                        self._on_resumed()
                    self._is_heard = True
                    await link.keep_alive()
            finally:
                self._link, self._is_heard = None, False
                link.abort()
            was_lost = True
            failures += 1
            await asyncio.sleep(reconnect_after_s(failures))

    async def _resume(self, link: RedisLink) -> bool:
        """Subscribe to everything; return whether the link is good."""
        self._link = link  # from here on, ``subscribe`` uses it
        await self._confirmed(link, list(self._channels))
        return not link.lost.is_set()

    async def _confirmed(self, link: RedisLink, channels: list[str]) -> None:
        try:
            async with asyncio.timeout(CONFIRM_S):
                await link.subscribe(channels)
        except TimeoutError:
            log.warning("Redis does not confirm a subscription; the link is given up")
            link.abort()
