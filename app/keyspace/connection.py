"""How a process connects to Redis, and what it refuses.

Every wait is bounded, because a Redis that swallows packets must look like one that is away; but
never by redis-py's ``socket_timeout``.  That goes through ``asyncio.wait_for``, which in Python
3.11 loses a cancellation that comes while the command is being sent (one in ten, when tried), and
makes a task for each command.  Callers use ``asyncio.timeout``; ``Script`` does so by itself.
"""

import asyncio

from redis.asyncio import BlockingConnectionPool, Redis

from app.domain.errors import ChatError

ANSWER_S = 2.0
"""A command that is not answered by then never will be."""
CONNECT_S = 1.0
MAX_CONNECTIONS = 16
"""A call holds a connection for one round trip, so a few carry hundreds of drives."""


class RedisMayEvict(ChatError):
    """Redis is set up to throw keys away; the journal must not be among them."""


def connect(url: str) -> Redis:
    """Return a client for ``redis://``, ``rediss://`` or ``unix://``; connects when first used.

    Answers are bytes; a wait for one has no bound of its own.  Close it with ``aclose()``, which
    closes its connections too.
    """
    return Redis.from_pool(connection_pool(url))


def connection_pool(url: str) -> BlockingConnectionPool:
    """Return the connections for a client; the client closes them."""
    return BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=ANSWER_S,
        socket_connect_timeout=CONNECT_S,
        decode_responses=False,
        lib_name=None,  # spares each connection two round trips
        lib_version=None,
    )


async def refuse_eviction(redis: Redis) -> None:
    """Return if this Redis keeps every key that it accepted until it expires.

    Raises:
        RedisMayEvict: its ``maxmemory-policy`` is not ``noeviction``.
        redis.exceptions.RedisError, OSError: it does not answer.
    """
    async with asyncio.timeout(ANSWER_S):
        memory = await redis.info("memory")
    policy = memory["maxmemory_policy"]
    if policy != "noeviction":
        raise RedisMayEvict(
            f"Redis may evict keys (maxmemory-policy is {policy}), and with them finished steps "
            "that Postgres does not have yet. Set it to noeviction: "
            "redis-cli CONFIG SET maxmemory-policy noeviction, and in redis.conf."
        )
