"""What was broken, when, and until when; what is still being measured."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from tests.support.chaos.meter import Disturbance, Meter


class Faults:
    """The log of a storm, shared by all hands."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.counts: Counter[str] = Counter()
        self._measuring: set[asyncio.Task[None]] = set()

    @property
    def kills(self) -> int:
        """How many processes were killed with SIGKILL."""
        return sum(n for kind, n in self.counts.items() if kind.startswith("SIGKILL"))

    @asynccontextmanager
    async def fault(self, kind: str, target: str) -> AsyncIterator[Disturbance]:
        """Log a fault that lasts as long as the block."""
        self.counts[kind] += 1
        fault = Disturbance(kind, target, time.time())
        self.meter.disturbances.append(fault)
        try:
            yield fault
        finally:
            fault.healed = time.time()

    def measure(self, measuring: Coroutine[None, None, None]) -> None:
        """Take a time beside everything else."""
        task = asyncio.create_task(measuring)
        self._measuring.add(task)
        task.add_done_callback(self._measuring.discard)

    async def measured(self) -> None:
        """Return when nothing is being measured any more."""
        if self._measuring:
            await asyncio.wait(self._measuring)
