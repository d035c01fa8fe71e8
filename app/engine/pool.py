"""The drives of one worker: claims runs, starts them, stops them.

A queue entry is a doorbell, the table is the queue: whatever rings, the pool
claims as many of the oldest queued runs as it has free slots.  A parked run is
in no slot.  Whether a run is ours is told by the table, with each beat.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from app.domain.errors import StoreUnavailable
from app.domain.ports import ClaimedRun, Clock, Serves
from app.domain.run import Fence
from app.engine.drive import DrivePorts, drive, prepare
from app.engine.durable_run import DurableRun

log = logging.getLogger(__name__)

CLAIM_S = 2.0
"""How long a stop waits for a claim that Postgres does not answer; others take its runs then."""
STUBBORN_S = 0.25
"""A body that swallows its cancellation is not waited for: the new epoch fences it."""


@dataclass(slots=True)
class _Drive:
    run: DurableRun
    task: asyncio.Task[None]
    claimed_at: float
    """When the claim was answered, by ``Clock.boot_s``."""


PATIENCE_WITH_LAST_TRY = timedelta(seconds=10)


class DrivePool:
    """Up to ``slots`` drives at a time."""

    def __init__(
        self,
        worker_id: str,
        ports: DrivePorts,
        clock: Clock,
        *,
        slots: int,
    ) -> None:
        self.worker_id = worker_id
        self.on_room: Callable[[], None] = lambda: None
        """Called when a slot comes free: whoever hears the doorbell listens again."""
        self._ports = ports
        self._clock = clock
        self._slots = slots
        self._drives: dict[str, _Drive] = {}
        self._rung = asyncio.Event()
        self._claim_answered_at = float("-inf")
        self._claiming = False
        self._suspects: set[str] = set()
        self._stopping = False
        self._last_try: timedelta | None = None
        self._is_alone = False
        self._tasks = asyncio.TaskGroup()
        self._one_claim = asyncio.Lock()

    @property
    def has_room(self) -> bool:
        """Whether another run could start now."""
        is_kept_free = self._is_alone or (
            self._last_try is not None and self._last_try >= PATIENCE_WITH_LAST_TRY
        )
        return not self._stopping and not is_kept_free and len(self._drives) < self._slots

    @property
    def serves(self) -> Serves:
        """What this pool can drive."""
        return self._ports.serves

    @property
    def size(self) -> int:
        """How many drives are under way."""
        return len(self._drives)

    def note_last_try(self, waited: timedelta | None) -> None:
        """Take note of a queued run at its last try: for how long it has waited, if there is one.

        It is driven by a worker that holds no other run, so that innocents are not blamed
        for what it does to its worker.  One that has waited long makes this pool empty itself.
        """
        self._last_try = waited
        if waited is not None and not self._drives:
            self.ring()

    def ring(self) -> None:
        """Claim soon; many rings at once are one claim."""
        self._rung.set()

    async def run(self) -> None:
        """Claim and drive until cancelled; then every drive is cut off where it stands."""
        async with self._tasks:
            try:
                await self._claim_when_rung()
            finally:
                for held in self._drives.values():
                    held.run.is_cut_off = True

    async def _claim_when_rung(self) -> None:
        while True:
            await self._rung.wait()
            self._rung.clear()
            if self._last_try is not None and not self._drives and not self._stopping:
                await self._claim(1, last_try=True)
            if self.has_room:
                await self._claim(self._slots - len(self._drives))

    async def hand_over(self, drain: timedelta) -> None:
        """Give every run back to the queue.

        One in a model request, in a wait or between steps goes at once; a tool in flight
        gets ``drain`` to finish and be recorded.  What a claim under way brings goes back, too.
        """
        self._stopping = True
        async with asyncio.TaskGroup() as leaving:
            leaving.create_task(self._end_claiming())
            for held in list(self._drives.values()):
                leaving.create_task(self._let_go(held, drain))

    def abort(self, fence: Fence) -> None:
        """Stop a drive whose run was ended or taken; a newer drive of the run goes on."""
        held = self._drives.get(fence.run_id)
        if held and held.run.fence.epoch <= fence.epoch and not held.run.is_leaving:
            _cut_off(held)

    def on_beat(self, sent_at: float, ours: Sequence[Fence]) -> None:
        """Compare what the table gives this worker with what it drives.

        A run that was claimed before the beat was sent and is not listed was taken: its
        drive is stopped.  A listed run that is not driven in two beats in a row, with no
        claim in flight, is one whose claim's answer was lost: it is released.
        """
        self._ports.lease.acknowledge(sent_at)
        listed = {fence.run_id: fence for fence in ours}
        for run_id, held in list(self._drives.items()):
            found = listed.get(run_id)
            taken = found is None or found.epoch != held.run.fence.epoch
            if taken and held.claimed_at < sent_at and not held.run.is_leaving:
                log.warning("run %s was taken from this worker", run_id)
                _cut_off(held)
        claim_in_flight = self._claiming or self._claim_answered_at >= sent_at
        unknown = set() if claim_in_flight else listed.keys() - self._drives.keys()
        for run_id in unknown & self._suspects:
            log.warning("run %s is not known here; released", run_id)
            self._tasks.create_task(self._release(listed[run_id]))
        self._suspects = unknown - self._suspects

    async def _end_claiming(self) -> None:
        """Return when a claim that was under way has given back what it brought."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLAIM_S), self._one_claim:
                pass

    async def _claim(self, room: int, *, last_try: bool = False) -> None:
        async with self._one_claim:
            await self._claim_and_start(room, last_try=last_try)

    async def _claim_and_start(self, room: int, *, last_try: bool) -> None:
        self._claiming = True
        try:
            claimed = await self._ports.store.claim(
                self.worker_id, self._ports.serves, room, last_try=last_try
            )
        except StoreUnavailable as error:
            log.warning("nothing claimed: %s", error)  # the next tick tries again
            return
        finally:
            self._claiming = False
            self._claim_answered_at = self._clock.boot_s()
        if last_try:
            self._last_try = None
            self._is_alone = bool(claimed)
        for one in claimed:
            if self._stopping:
                await self._release(one.fence)
            else:
                self._start(one)

    def _start(self, claimed: ClaimedRun) -> None:
        older = self._drives.get(claimed.run.id)
        if older is not None:  # it was taken from us and came back before its drive noticed
            _cut_off(older)
        run = prepare(claimed, self._ports)
        task = self._tasks.create_task(
            drive(run, self._ports), name=f"run {claimed.run.id} ({claimed.run.agent})"
        )
        held = _Drive(run, task, self._clock.boot_s())
        self._drives[claimed.run.id] = held
        task.add_done_callback(lambda _: self._ended(claimed.run.id, held))

    def _ended(self, run_id: str, held: _Drive) -> None:
        if self._drives.get(run_id) is held:
            del self._drives[run_id]
        self._is_alone = self._is_alone and bool(self._drives)
        if not self._stopping:
            self.ring()
            self.on_room()

    async def _let_go(self, held: _Drive, drain: timedelta) -> None:
        held.run.bodies.drain()
        try:
            async with asyncio.timeout(drain.total_seconds()):
                await held.run.bodies.quiet()
        except TimeoutError:
            log.warning("run %s is released with a tool in flight", held.run.run.id)
        _cut_off(held)
        await asyncio.wait([held.task], timeout=STUBBORN_S)
        if not held.run.is_over:
            await self._release(held.run.fence)

    async def _release(self, fence: Fence) -> None:
        try:
            await self._ports.store.release(fence)
        except StoreUnavailable as error:
            log.warning("run %s is left to the sweeper: %s", fence.run_id, error)


def _cut_off(held: _Drive) -> None:
    """Stop a drive whose run is not ours any more.

    A cancellation takes a turn of the loop to reach the bodies of parallel calls.  Those that
    wait for a fresh lease are woken by the very beat that says that the run was taken: they must
    not start in that turn.
    """
    held.run.is_cut_off = True
    held.run.bodies.drain()
    held.task.cancel()
