"""Which threads have keys in Redis, for whoever looks for keys that nobody needs any more."""

import re

from redis.asyncio import Redis

from app.keyspace.keys import Keys

_PAGE = 500


async def threads_with_keys(redis: Redis, keys: Keys) -> set[str]:
    """Return the ids of all threads that have a key; walks the whole key space, in pages.

    Raises:
        redis.exceptions.RedisError, OSError: Redis does not answer.
    """
    prefix = keys.thread("THREAD").fence.partition("THREAD")[0]
    pattern = re.compile(re.escape(prefix.encode()) + rb"([^}]+)}:(?:fence|journal|live)")
    found: set[str] = set()
    async for key in redis.scan_iter(match=f"{prefix}*", count=_PAGE):
        if match := pattern.match(key):
            found.add(match[1].decode())
    return found
