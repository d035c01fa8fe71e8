"""The journal on Redis.  Its laws are ``app.domain.ports.Journal``'s; the scripts keep them.

Redis's fence saves work, Postgres's decides: a writer that is refused here asks there.  A Redis
that is away costs nothing but the bridge: ``JournalUnavailable`` says "go on with Postgres alone".
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.domain.errors import JournalUnavailable
from app.domain.ports import JournalFenceLost, OpenedJournal, Salvage
from app.domain.record import Record
from app.domain.run import Fence
from app.journal import scripts
from app.keyspace import Keys

CLOSE_S = 0.25
"""Who ends a run holds the thread's lock meanwhile: without Redis it goes on without."""


class RedisJournal:
    """Implements ``app.domain.ports.Journal``; ``app.keyspace.connect`` makes its client."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def open(self, fence: Fence) -> OpenedJournal:
        """See ``Journal.open``."""
        at = self._keys.thread(fence.thread_id)
        with _as_unavailable():
            left = await scripts.open_journal(self._redis, at, fence.epoch, fence.run_id)
        if isinstance(left, scripts.HeldAbove):
            return OpenedJournal(fence_above=left.epoch)
        return OpenedJournal(entries=_records(left))

    async def complete(
        self, fence: Fence, record: Record, confirmed: Sequence[str]
    ) -> Record | None:
        """See ``Journal.complete``."""
        with _as_unavailable():
            there = await scripts.complete_step(
                self._redis,
                self._keys.thread(fence.thread_id),
                fence.epoch,
                name=f"{fence.run_id}/{record.step}",
                record=record.to_json().encode(),
                confirmed=[f"{fence.run_id}/{step}" for step in confirmed],
            )
        if isinstance(there, scripts.Fenced):
            raise JournalFenceLost(f"epoch {fence.epoch} does not hold thread {fence.thread_id}")
        return there if there is None else Record.from_json(there)

    async def close(self, thread_id: str, epoch: int) -> Salvage:
        """See ``Journal.close``; answers within 250 ms or not at all."""
        at = self._keys.thread(thread_id)
        with _as_unavailable():
            async with asyncio.timeout(CLOSE_S):
                entries, shown = await scripts.close_journal(self._redis, at, epoch)
        return Salvage(_records(entries), shown)

    async def drop(self, thread_id: str, epoch: int) -> None:
        """See ``Journal.drop``."""
        with _as_unavailable():
            await scripts.drop_journal(self._redis, self._keys.thread(thread_id), epoch)


def _records(entries: Sequence[bytes]) -> tuple[Record, ...]:
    return tuple(Record.from_json(entry) for entry in entries)


@contextmanager
def _as_unavailable() -> Iterator[None]:
    """Turn everything that Redis may do to us into ``JournalUnavailable``."""
    try:
        yield
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        raise JournalUnavailable(f"Redis did not answer: {error!r}") from error
