"""The side that rings: a gateway after a start, a worker after it woke or released a run."""

import asyncio
import logging

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.keyspace import Keys
from app.queue import jobs

log = logging.getLogger(__name__)

RING_S = 0.25
"""Whoever rings has somebody waiting; the workers' own tick makes up for a lost ring."""


class RedisDoorbell:
    """Implements ``app.domain.ports.Doorbell``."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self.lost = 0
        """Rings that Redis did not take, for metrics."""

    async def ring(self, run_id: str) -> None:
        """See ``Doorbell.ring``; one round trip."""
        try:
            async with asyncio.timeout(RING_S):
                await jobs.put(self._redis, self._keys, run_id)
        except (RedisError, OSError) as error:
            self.lost += 1
            log.warning("run %s waits for a worker's tick, no bell: %r", run_id, error)
