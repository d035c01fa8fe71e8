"""One Lua script on the server: one round trip that nobody else's command can split."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

from app.keyspace.connection import ANSWER_S

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
        self, redis: Redis, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> Reply:
        """Run it and return its answer.

        Raises:
            redis.exceptions.RedisError, OSError: it was not answered, or not in time.
        """
        execute = _typed(redis)
        async with asyncio.timeout(ANSWER_S):
            try:
                return await execute("EVALSHA", self._digest, len(keys), *keys, *arguments)
            except NoScriptError:
                return await execute("EVAL", self._source, len(keys), *keys, *arguments)

    def queue(
        self, pipeline: Pipeline, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> None:
        """Add it to a pipeline; where the answer is a ``NoScriptError``, ``load`` and repeat."""
        queue = cast("Callable[..., object]", pipeline.execute_command)
        queue("EVALSHA", self._digest, len(keys), *keys, *arguments)

    async def load(self, redis: Redis) -> None:
        """Teach the server the script."""
        async with asyncio.timeout(ANSWER_S):
            await _typed(redis)("SCRIPT LOAD", self._source)


def _typed(redis: Redis) -> Callable[..., Awaitable[Reply]]:
    return cast("Callable[..., Awaitable[Reply]]", redis.execute_command)


def milliseconds(duration: timedelta) -> int:
    """Return a duration as ``PX`` and ``PEXPIRE`` take it."""
    return duration // timedelta(milliseconds=1)
