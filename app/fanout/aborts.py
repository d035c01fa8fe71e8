"""Telling a worker at once to stop a drive whose run was ended; its next beat tells it as well."""

import asyncio
import json
import logging
from collections.abc import Callable

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.domain.run import Fence
from app.fanout.subscriber import Subscriber
from app.keyspace import Keys

log = logging.getLogger(__name__)

SEND_S = 0.25
"""A cancel is answered after this: what Redis does not take by then, the beat will say."""


class RedisAborts:
    """Implements ``app.domain.ports.Aborts``."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def abort(self, worker: str, fence: Fence) -> None:
        """See ``Aborts.abort``."""
        payload = json.dumps([fence.thread_id, fence.run_id, fence.epoch])
        try:
            async with asyncio.timeout(SEND_S):
                await self._redis.publish(self._keys.aborts(worker), payload)
        except (RedisError, OSError) as error:
            log.warning("worker %s hears of the abort by its beat: %r", worker, error)


class AbortListener:
    """The worker's side, driven by ``run``; a lost link is made again by itself.

    Args:
        on_abort: gets the fence of the drive to stop; must not block.
    """

    def __init__(
        self, url: str, keys: Keys, worker_id: str, on_abort: Callable[[Fence], None]
    ) -> None:
        self._channel = keys.aborts(worker_id)
        self._on_abort = on_abort
        self._subscriber = Subscriber(url, self._hear)

    @property
    def is_connected(self) -> bool:
        """Whether aborts are heard now."""
        return self._subscriber.is_connected

    async def run(self) -> None:
        """Listen until cancelled."""
        await self._subscriber.subscribe(self._channel)
        await self._subscriber.run()

    def _hear(self, channel: str, payload: bytes) -> None:
        del channel  # there is only one
        thread_id, run_id, epoch = json.loads(payload)
        self._on_abort(Fence(thread_id, run_id, epoch))
