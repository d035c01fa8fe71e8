"""Commands whose answers are typed and awaited for a bounded time, and Lua scripts.

A script is one round trip that nobody else's command can split.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

from app.keyspace import connection

Reply = None | int | bytes | list["Reply"]
"""What a script may answer (RESP 2, undecoded)."""

Argument = str | bytes | int


class Script:
    """A script, called by the digest of its text.

    A server that was restarted or flushed has forgotten it; then the text is sent once.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    async def call(
        self,
        redis: Redis,
        keys: Sequence[str],
        arguments: Sequence[Argument] = (),
        *,
        within_s: float | None = None,
    ) -> Reply:
        """Run it and return its answer; raises what ``command`` does."""
        words = (len(keys), *keys, *arguments)
        try:
            return await command(redis, "EVALSHA", self._digest, *words, within_s=within_s)
        except NoScriptError:
            return await command(redis, "EVAL", self._source, *words, within_s=within_s)

    def queue(
        self, pipeline: Pipeline, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> None:
        """Add it to a pipeline; where the answer is a ``NoScriptError``, ``load`` and repeat."""
        queue = cast("Callable[..., object]", pipeline.execute_command)
        queue("EVALSHA", self._digest, len(keys), *keys, *arguments)

    async def load(self, redis: Redis) -> None:
        """Teach the server the script."""
        await command(redis, "SCRIPT LOAD", self._source)


async def command(redis: Redis, *words: Argument, within_s: float | None = None) -> Reply:
    """Run one command and return its answer; redis-py's own methods are untyped or ill typed.

    Args:
        redis: who is asked.
        words: the command.
        within_s: how long the answer may take; where nothing is said, ``connection.ANSWER_S``.

    Raises:
        redis.exceptions.RedisError, OSError: it was not answered, or not in time.
    """
    execute = cast("Callable[..., Awaitable[Reply]]", redis.execute_command)
    async with asyncio.timeout(connection.ANSWER_S if within_s is None else within_s):
        return await execute(*words)


def milliseconds(duration: timedelta) -> int:
    """Return a duration as ``PX`` and ``PEXPIRE`` take it."""
    return duration // timedelta(milliseconds=1)
