"""Makes a finished step durable: first the journal, then Postgres, in that order.

Between "the body returned" and "Postgres has it" the journal is the only copy.
A transient fault of either is waited out while the epoch is ours; without Redis
Postgres alone is enough.  Only Postgres decides whether the epoch is ours.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from app.domain.errors import FenceLost, JournalUnavailable, StoreUnavailable
from app.domain.ports import Journal, JournalFenceLost, Recorded, RunStore
from app.domain.record import Record
from app.domain.retry import RetryPolicy, next_delay
from app.domain.run import Fence

log = logging.getLogger(__name__)

T = TypeVar("T")

OUTAGE = RetryPolicy(attempts=1, base=timedelta(milliseconds=50), cap=timedelta(seconds=1))
"""Waits between tries while a store is away; the number of tries has no bound, the fence has."""


async def outlast(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Return what ``call`` returns, repeating it while Postgres is away."""
    attempt = 1
    while True:
        try:
            return await call()
        except StoreUnavailable as error:
            attempt += 1
            delay = next_delay(OUTAGE, attempt, jitter=random.random())  # noqa: S311
            log.warning("%s: %s; trying again", what, error)
            await asyncio.sleep(delay.total_seconds())


class Recorder:
    """The writes of one drive, all under its fence."""

    def __init__(
        self, fence: Fence, journal: Journal, store: RunStore, *, version: int, wakes: int
    ) -> None:
        self.fence = fence
        self.version = version
        self.wakes = wakes
        """The thread's count of facts, as the newest record's answer said."""
        self._journal = journal
        self._store = store
        self._confirmed: list[str] = []

    async def open(self, *, may_skip_journal: bool) -> None:
        """Open the journal and store what a killed worker left there.

        Args:
            may_skip_journal: a run that was never claimed before has nothing there, so
                it goes on without Redis; any other waits for it.

        Raises:
            FenceLost: the thread has moved on.
        """
        attempt = 1
        while True:
            try:
                await self._open_once()
            except JournalUnavailable as error:
                if may_skip_journal:
                    return
                attempt += 1
                log.warning(
                    "the journal of run %s must be read first: %s", self.fence.run_id, error
                )
                delay = next_delay(OUTAGE, attempt, jitter=random.random())  # noqa: S311
                await asyncio.sleep(delay.total_seconds())
                await self._require_fence()
            else:
                return

    async def write(self, record: Record) -> Record:
        """Make a finished step durable and return what is recorded under its name.

        That is an earlier entry where there is one: another worker finished the step and
        died before Postgres had it.

        Raises:
            FenceLost: somebody else has the thread; nothing was written.
            RecordRefused: Postgres refuses the rows for good.
        """
        record = await self._journal_first(record)
        await self._store_it(record)
        self._confirmed.append(record.step)
        return record

    async def drop(self) -> None:
        """Delete the journal's keys after a park or an end; what stays expires by itself."""
        try:
            await self._journal.drop(self.fence.thread_id, self.fence.epoch)
        except JournalUnavailable as error:
            log.info("journal of thread %s is left to expire: %s", self.fence.thread_id, error)

    async def _journal_first(self, record: Record) -> Record:
        while True:
            confirmed = tuple(self._confirmed)
            try:
                adopted = await self._journal.complete(self.fence, record, confirmed)
            except JournalUnavailable as error:
                log.warning("step %s goes to Postgres alone: %s", record.step, error)
                return record
            except JournalFenceLost:
                await self._require_fence()
                try:
                    await self._open_once()
                except JournalUnavailable:
                    return record
                continue
            del self._confirmed[: len(confirmed)]
            return adopted or record

    async def _open_once(self) -> None:
        opened = await self._journal.open(self.fence)
        if opened.fence_above is not None:
            above = opened.fence_above
            raised = await outlast(
                "raising an epoch", lambda: self._store.raise_epoch(self.fence, above)
            )
            if raised is None:
                raise FenceLost
            self.fence = raised
            await self._open_once()
            return
        for entry in opened.entries:
            await self._store_it(entry)
            self._confirmed.append(entry.step)

    async def _store_it(self, record: Record) -> None:
        answer: Recorded | None = await outlast(
            f"recording {record.step}", lambda: self._store.record(self.fence, record)
        )
        if answer is None:
            raise FenceLost
        self.version = max(self.version, answer.version)
        self.wakes = max(self.wakes, answer.wakes)

    async def _require_fence(self) -> None:
        if not await outlast("checking the fence", lambda: self._store.holds(self.fence)):
            raise FenceLost
