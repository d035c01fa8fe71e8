"""Finds what no living worker looks after, and gives it back to the queue.

Nobody compares clocks: a worker is dead when *this* process has itself read the
same beat, in successful reads, for two seconds of its own monotonic time.  After
an outage of Postgres everybody starts counting anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from app.domain.errors import StoreUnavailable
from app.domain.ports import Clock, RunStore
from app.engine.pool import DrivePool

log = logging.getLogger(__name__)

DEAD_AFTER_S = 2.0
"""Longer than ``lease.LIMIT_S``: a dead worker's lease has run out before its runs are taken."""
READ_EVERY_S = 0.25
REST_EVERY_S = 1.0
CHECK_EVERY_S = 10.0
"""The tripwire looks at every busy thread, and has never anything to find."""
BITE = 100
"""Due timers that are fired before the next look."""
RING_AFTER = timedelta(seconds=1)
UNKNOWN_AGENT_AFTER = timedelta(seconds=60)


def ignore_recovery(runs: int, silent_s: float) -> None:
    """Count nothing."""


async def no_crons() -> None:
    """Turn nothing."""


@dataclass(slots=True)
class BeatWatch:
    """Which workers stopped beating, as one reader sees it.  Pure."""

    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)

    def observe(self, beats: Mapping[str, int], now: float) -> dict[str, float]:
        """Return the workers whose beat has not moved for ``DEAD_AFTER_S``, and for how long.

        Args:
            beats: last beat by worker, from a successful read.
            now: monotonic seconds of the reader, when the read was answered.
        """
        self._seen = {
            worker: kept
            if (kept := self._seen.get(worker)) is not None and kept[0] == beat
            else (beat, now)
            for worker, beat in beats.items()
        }
        silent = {worker: now - since for worker, (_, since) in self._seen.items()}
        return {worker: silent_s for worker, silent_s in silent.items() if silent_s >= DEAD_AFTER_S}

    def forget(self) -> None:
        """Start counting anew: a read failed."""
        self._seen.clear()


class Sweeper:
    """One in every worker."""

    def __init__(
        self,
        store: RunStore,
        clock: Clock,
        pool: DrivePool,
        *,
        on_recovery: Callable[[int, float], None] = ignore_recovery,
        turn_crons: Callable[[], Awaitable[None]] = no_crons,
    ) -> None:
        self._turn_crons = turn_crons
        self._store = store
        self._clock = clock
        self._pool = pool
        self._on_recovery = on_recovery
        self._watch = BeatWatch()

    async def run(self) -> None:
        """Sweep until cancelled."""
        rest_due = check_due = self._clock.boot_s()
        while True:
            try:
                await self._bury()
                if self._clock.boot_s() >= rest_due:
                    rest_due = self._clock.boot_s() + REST_EVERY_S
                    await self._rest()
                if self._clock.boot_s() >= check_due:
                    check_due = self._clock.boot_s() + CHECK_EVERY_S
                    await self._check()
            except StoreUnavailable as error:
                log.warning("sweep failed, all counts start anew: %s", error)
                self._watch.forget()
            await asyncio.sleep(READ_EVERY_S)

    async def _bury(self) -> None:
        beats = await self._store.beats()
        for worker, silent_s in self._watch.observe(beats, self._clock.boot_s()).items():
            failed = await self._store.fail_poison(worker, beats[worker])
            taken = await self._store.take_over(worker, beats[worker])
            if taken is None and not failed:
                continue  # it was frozen, and beats again
            log.warning(
                "worker %s is dead: %d runs queued again, %d failed", worker, taken or 0, failed
            )
            self._on_recovery(taken or 0, silent_s)
            self._pool.ring()

    async def _rest(self) -> None:
        self._pool.ring()  # the tick that makes a lost doorbell cost a second at most
        await self._turn_crons()  # what comes due by them is fired with the rest
        while await self._store.fire_due(BITE) == BITE:
            pass
        await self._store.fail_overdue()
        self._pool.note_last_try(await self._store.last_try_waits(self._pool.serves))
        waited = await self._store.oldest_queued()
        if waited is not None and waited >= RING_AFTER:
            log.info("a run has been queued for %.1f s", waited.total_seconds())
        await self._store.fail_unknown_agents(UNKNOWN_AGENT_AFTER)

    async def _check(self) -> None:
        for sentence in await self._store.stranded():
            log.error("stranded: %s", sentence)
