"""A whole deployment in one process: stores in memory, workers that can be killed.

``MemoryWorld`` is what the engine's own tests run on.  A worker is a real
``DrivePool`` with its own lease; killing it stops it at whatever await it stands
at, which is what SIGKILL does to a process as far as the stores can see.
"""

import asyncio
import itertools
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from app.domain.message import text_part
from app.domain.ports import Serves, StartedRun, StartRun
from app.domain.run import Fence, RunStatus
from app.domain.storable import encode
from app.engine.drive import DrivePorts, plain_ending
from app.engine.durable_run import Program
from app.engine.lease import Lease
from app.engine.pool import DrivePool
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_journal import MemoryJournal, MemoryTokenSink
from app.testing.memory_reader import MemoryThreadReader
from app.testing.memory_store import MemoryRunStore


class CountedIds:
    """Ids that count, from ``id-00001``."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def new(self) -> str:
        """Return the next one."""
        return f"id-{next(self._next):05d}"


class HandClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def boot_s(self) -> float:
        """Return seconds."""
        return self.now_s

    def unix_ms(self) -> int:
        """Return milliseconds."""
        return int(self.now_s * 1000)


class MemoryWorker:
    """One worker of a ``MemoryWorld``."""

    def __init__(self, pool: DrivePool, lease: Lease, clock: HandClock) -> None:
        self.pool = pool
        self.lease = lease
        self._clock = clock
        self._task = asyncio.create_task(pool.run(), name=f"worker {pool.worker_id}")
        self.renew()
        pool.ring()

    def renew(self) -> None:
        """Acknowledge a beat sent now."""
        self.lease.acknowledge(self._clock.boot_s())

    async def kill(self) -> None:
        """Stop at the next instruction, writing nothing more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def terminate(self, drain: timedelta = timedelta(seconds=10)) -> None:
        """Hand over and stop, as SIGTERM makes a worker do."""
        await self.pool.hand_over(drain)
        await self.kill()


class MemoryWorld:
    """Stores, journal and workers.  Use it as an asynchronous context manager."""

    def __init__(
        self, programs: Mapping[str, Program], database: MemoryDatabase | None = None
    ) -> None:
        self.programs = programs
        self.clock = HandClock()
        self.ids = CountedIds()
        self.database = MemoryDatabase() if database is None else database
        self.journal = MemoryJournal()
        self.reader = MemoryThreadReader(self.database)
        self.workers: list[MemoryWorker] = []
        self.announced: list[tuple[str, int]] = []
        self._changed = asyncio.Event()
        self.store = MemoryRunStore(
            self.database,
            journal=self.journal,
            announce=self._announce,
            doorbell=self,
            aborts=self,
            ids=self.ids,
        )

    async def __aenter__(self) -> "MemoryWorld":
        """Return the world; it has no worker yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill what still runs."""
        for worker in self.workers:
            await worker.kill()

    def worker(self, *, slots: int = 8) -> MemoryWorker:
        """Start a worker."""
        lease = Lease(self.clock)
        ports = DrivePorts(
            store=self.store,
            journal=self.journal,
            tokens=MemoryTokenSink(self.journal),
            lease=lease,
            ids=self.ids,
            programs=self.programs,
            serves=Serves.of(*self.programs),
            ending_for=plain_ending,
        )
        name = f"worker-{len(self.workers) + 1}"
        pool = DrivePool(name, ports, self.clock, slots=slots)
        self.workers.append(MemoryWorker(pool, lease, self.clock))
        return self.workers[-1]

    async def start(self, agent: str, text: str = "hello", *, key: str = "thread") -> StartedRun:
        """Start a run with a user's message."""
        return await self.store.start(
            StartRun(
                run_id=self.ids.new(),
                thread_id=self.ids.new(),
                message_id=self.ids.new(),
                thread_key=key,
                agent=agent,
                parts=encode([text_part(text)]),
            )
        )

    async def until(self, run_id: str, *statuses: RunStatus, within_s: float = 5.0) -> None:
        """Return when the run has one of these statuses.

        Raises:
            TimeoutError: it has not, in this time.
        """
        async with asyncio.timeout(within_s):
            while self.database.runs[run_id].status not in statuses:
                self._changed.clear()
                await self._changed.wait()

    async def take_over(self, dead: MemoryWorker) -> None:
        """Do what a sweeper does for a dead worker."""
        await self.store.fail_poison(dead.pool.worker_id)
        await self.store.take_over(dead.pool.worker_id)

    async def ring(self, run_id: str) -> None:
        """Ring every worker (``Doorbell``)."""
        del run_id
        for worker in self.workers:
            worker.pool.ring()

    async def abort(self, worker: str, fence: Fence) -> None:
        """Tell a worker to stop a drive (``Aborts``)."""
        for known in self.workers:
            if known.pool.worker_id == worker:
                known.pool.abort(fence)

    def _announce(self, thread_id: str, version: int) -> None:
        self.announced.append((thread_id, version))
        self._changed.set()
