"""``ropewalk doctor``: looks for what the laws do not allow, and mends it if asked.

After the laws there is never anything to find; what is found while all processes run is a bug
worth reporting, and what is found while none run tells what waits for them.  Whatever moves by
itself is looked at twice, so that nothing is taken for broken that is only on its way.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from redis.exceptions import RedisError

from app.domain.errors import JournalUnavailable
from app.domain.ports import Journal, RunStore, ThreadReader
from app.domain.run import RunStatus

SILENT_S: Final = 4.0
"""Twice what sweepers wait: a worker that is silent for longer has nobody who sweeps."""
FORGOTTEN: Final = timedelta(minutes=2)
"""Longer than the sweepers wait for a worker that knows a queued run's agent."""
MORE_THAN_ALL: Final = 1 << 62
"""Above every epoch."""

_NEWEST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the laws do not allow (``app.http.services.Finding``).

    ``kind`` is ``worker``, ``stranded``, ``queue``, ``overdue``, ``redis-keys`` or ``redis``.
    """

    kind: str
    sentence: str
    is_mended: bool = False


@dataclass(frozen=True, slots=True)
class Doctor:
    """Examines one deployment.

    Attributes:
        mend_threads: mends what ``RunStore.stranded`` tells of.
        threads_with_keys: returns the threads that have keys in Redis.
    """

    store: RunStore
    reader: ThreadReader
    journal: Journal
    mend_threads: Callable[[], Awaitable[int]]
    threads_with_keys: Callable[[], Awaitable[set[str]]]

    async def examine(self, mend: bool) -> Sequence[Finding]:  # noqa: FBT001  # the port's
        """Return what is wrong; with ``mend``, it has been mended where it can be."""
        beats, keys = await self.store.beats(), await self._stale_keys()
        await asyncio.sleep(SILENT_S)
        findings = [
            *await self._dead_workers(beats, mend=mend),
            *await self._stranded(mend=mend),
            *await self._waiting_too_long(mend=mend),
        ]
        return [*findings, *await self._left_keys(keys, mend=mend)]

    async def _dead_workers(self, before: Mapping[str, int], *, mend: bool) -> list[Finding]:
        found = []
        for worker, beat in (await self.store.beats()).items():
            if before.get(worker) != beat:
                continue
            sentence = f"worker {worker} is silent, and nobody has taken over its runs"
            if mend:
                await self.store.fail_poison(worker, beat)
                taken = await self.store.take_over(worker, beat)
                sentence += f": {taken} went on" if taken is not None else ": it beats again"
            found.append(Finding("worker", sentence, mend))
        return found

    async def _stranded(self, *, mend: bool) -> list[Finding]:
        sentences = await self.store.stranded()
        if not (sentences and mend):
            return [Finding("stranded", sentence) for sentence in sentences]
        await self.mend_threads()
        await self._fire_due()
        left = set(await self.store.stranded())
        return [Finding("stranded", each, each not in left) for each in sentences]

    async def _waiting_too_long(self, *, mend: bool) -> list[Finding]:
        waited = await self.store.oldest_queued()
        if waited is None or waited < FORGOTTEN:
            return []
        sentence = f"the oldest queued run has waited {waited} and no worker takes it"
        if mend:
            await self.store.fail_unknown_agents(FORGOTTEN)
            waited = await self.store.oldest_queued()
        return [Finding("queue", sentence, waited is None or waited < FORGOTTEN)]

    async def _fire_due(self) -> None:
        while await self.store.fire_due(100):
            pass

    async def _stale_keys(self) -> Mapping[str, int] | None:
        """Return threads that have keys and need none, with their versions; ``None``: unknown."""
        try:
            threads = await self.threads_with_keys()
        except (RedisError, OSError):
            return None
        stale: dict[str, int] = {}
        for thread_id in threads:
            found = await self.reader.delta(thread_id, _NEWEST, 0)
            if found is None:
                stale[thread_id] = 0
            elif found.run_status not in {RunStatus.RUNNING, RunStatus.QUEUED}:
                stale[thread_id] = found.thread.version
        return stale

    async def _left_keys(self, before: Mapping[str, int] | None, *, mend: bool) -> list[Finding]:
        after = await self._stale_keys()
        if before is None or after is None:
            return [Finding("redis", "Redis does not answer: its keys were not looked at")]
        left = [each for each, version in after.items() if before.get(each) == version]
        findings = [
            Finding("redis-keys", f"thread {each} has keys in Redis and no run that needs them")
            for each in left
        ]
        if mend:
            findings = [
                replace(finding, is_mended=await self._drop(thread_id))
                for finding, thread_id in zip(findings, left, strict=True)
            ]
        return findings

    async def _drop(self, thread_id: str) -> bool:
        """Drop a thread's keys, unless a drive has opened its journal meanwhile."""
        found = await self.reader.delta(thread_id, _NEWEST, 0)
        epoch = MORE_THAN_ALL if found is None else found.thread.epoch
        try:
            await self.journal.drop(thread_id, epoch)
        except JournalUnavailable:
            return False
        return True
