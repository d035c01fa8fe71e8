"""How many calls somebody may make: a bucket of tokens in Redis, one for all gateways.

The bucket is one number, the moment at which it will be full again; Redis's own clock says how
late it is now.  A bucket that is full has no key.  Laws: one round trip a call; a clock that was
set back shuts nobody out for longer than it takes to fill a bucket.

Availability comes before limits: while Redis does not answer, calls pass.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.domain.errors import RateLimited
from app.domain.identity import Identity
from app.keyspace.keys import Keys
from app.keyspace.script import Script

_PATIENCE_S: Final = 0.25
"""A call waits no longer than this to be counted."""

_COOL_DOWN_S: Final = 5.0
"""A Redis that did not answer is not asked for so long."""

_TAKE: Final = Script("""
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, depth = tonumber(ARGV[1]), tonumber(ARGV[2])
local full_at = math.min(tonumber(redis.call('GET', KEYS[1]) or now), now + depth)
local after = math.max(full_at, now) + interval
local wait = after - now - depth
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return 0
""")

log = logging.getLogger(__name__)


class CallLimiter:
    """Counts calls by user, or by address when they are anonymous."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        *,
        per_second: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow ``per_second`` calls each second and ``burst`` at once; 0 a second: any number."""
        self._redis = redis
        self._keys = keys
        self._interval = 1_000_000 / per_second if per_second else 0.0
        self._depth = self._interval * burst
        self._clock = clock
        self._rests_until = float("-inf")
        self._is_away = False
        self.refused = 0
        """Calls that were too many."""
        self.uncounted = 0
        """Calls that passed because Redis did not answer."""

    async def admit(self, caller: Identity, address: str) -> None:
        """Count one call.

        Raises:
            RateLimited: it is one too many; ``data`` says when to come again.
        """
        if not self._interval:
            return
        if self._clock() < self._rests_until:
            self.uncounted += 1
            return
        whose = f"user {caller.user_id}" if caller.user_id is not None else f"from {address}"
        key = self._keys.calls(hashlib.sha256(whose.encode()).hexdigest()[:32])
        try:
            wait_us = await _TAKE.call(
                self._redis,
                (key,),
                (f"{self._interval:.3f}", f"{self._depth:.3f}"),
                within_s=_PATIENCE_S,
            )
        except (RedisError, OSError) as error:
            self._rests_until = self._clock() + _COOL_DOWN_S
            self.uncounted += 1
            if not self._is_away:
                log.warning("calls are not limited while Redis does not answer: %r", error)
            self._is_away = True
            return
        if self._is_away:
            self._is_away = False
            log.info("calls are limited again")
        if isinstance(wait_us, int) and wait_us > 0:
            self.refused += 1
            retry_after_s = math.ceil(wait_us / 1000) / 1000
            raise RateLimited(
                f"too many calls; come again in {retry_after_s:g} s", {"retryAfter": retry_after_s}
            )
