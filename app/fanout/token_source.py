"""Live text as a gateway hears it.

A socket that joins in the middle watches first, then reads what is shown, then follows by offset:
no delta falls between the two.  After a lost link the same is done again for every thread
(``on_gap``), because what was published meanwhile is in the stored text only.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.domain.ports import ShownText
from app.domain.storable import Json
from app.fanout.subscriber import Subscriber
from app.keyspace import Keys
from app.keyspace.live_text import read_shown

log = logging.getLogger(__name__)


class RedisTokenSource:
    """Implements ``app.domain.ports.TokenSource``; one in each gateway, driven by ``run``.

    Args:
        url: where the subscriber connection goes; ``redis`` is for reading what is shown.
        on_token: gets the thread and the delta, a JSON object; must not block.
        on_gap: called when deltas may have been missed: read ``shown`` again.
    """

    def __init__(
        self,
        url: str,
        redis: Redis,
        keys: Keys,
        *,
        on_token: Callable[[str, dict[str, Json]], None],
        on_gap: Callable[[], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._on_token = on_token
        self._watched: Counter[str] = Counter()
        self._threads: dict[str, str] = {}
        self._subscriber = Subscriber(url, self._hear, on_gap)

    @property
    def is_connected(self) -> bool:
        """Whether deltas are heard now."""
        return self._subscriber.is_connected

    async def run(self) -> None:
        """Hold the connection until cancelled."""
        await self._subscriber.run()

    async def watch(self, thread_id: str) -> None:
        """See ``TokenSource.watch``; as often as it is called, ``unwatch`` has to be."""
        channel = self._keys.thread(thread_id).tokens
        self._watched[thread_id] += 1
        self._threads[channel] = thread_id
        await self._subscriber.subscribe(channel)

    async def unwatch(self, thread_id: str) -> None:
        """See ``TokenSource.unwatch``."""
        self._watched[thread_id] -= 1
        if self._watched[thread_id] <= 0:
            del self._watched[thread_id]
            channel = self._keys.thread(thread_id).tokens
            self._threads.pop(channel, None)
            self._subscriber.unsubscribe(channel)

    async def shown(self, thread_id: str) -> Sequence[ShownText]:
        """See ``TokenSource.shown``."""
        try:
            return await read_shown(self._redis, self._keys.thread(thread_id))
        except (RedisError, OSError) as error:
            log.warning("text so far is not readable: %s", error)
            return ()

    def _hear(self, channel: str, payload: bytes) -> None:
        thread_id = self._threads.get(channel)
        if thread_id is not None:
            self._on_token(thread_id, json.loads(payload))
