"""The hand that kills, freezes and restarts processes."""

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import TypeAlias

from tests.support.body_log import Line
from tests.support.chaos.deployment import Deployment, Part
from tests.support.chaos.faults import Faults

Deed: TypeAlias = Callable[[], Awaitable[None]]

LEAVING_S = 15.0
DOOR_NS = 20_000_000
"""A thawed process starts what had passed the door within this time."""


class ProcessHand:
    """Lays hands on workers and gateways."""

    def __init__(self, deployment: Deployment, faults: Faults) -> None:
        self._deployment = deployment
        self._faults = faults
        self._thawed: dict[int, list[int]] = defaultdict(list)
        """When each process that was frozen was let go (``time.time_ns``)."""

    def late(self, bodies: Iterable[Line]) -> frozenset[Line]:
        """Return the starts of bodies that had passed the door when their process was frozen.

        They start when it thaws, whatever has become of their run meanwhile.
        """
        return frozenset(
            line
            for line in bodies
            if line.event == "start"
            and any(0 <= line.at_ns - thawed < DOOR_NS for thawed in self._thawed[line.pid])
        )

    def deeds(self, rng: Random) -> list[tuple[int, Deed]]:
        """Return what it does, each with a weight."""
        deployment = self._deployment
        return [
            (6, lambda: self.kill(rng, deployment.workers)),
            (5, lambda: self.kill(rng, deployment.gateways)),
            (3, lambda: self._freeze(rng, deployment.workers)),
            (1, lambda: self._freeze(rng, deployment.gateways)),
            (2, lambda: self.end(rng, deployment.workers)),
            (1, lambda: self.end(rng, deployment.gateways)),
        ]

    async def kill(self, rng: Random, parts: list[Part]) -> None:
        """SIGKILL one of these and start it again, at once or after a while."""
        part = self._one_that_is_up(rng, parts)
        if part is None or part.pid is None:
            return
        pid, ended = part.pid, part.ended
        meter = self._faults.meter
        runs = await meter.runs_of(pid) if part.kind == "worker" else []
        if not part.is_up or part.pid != pid:
            return
        async with self._faults.fault(f"SIGKILL {part.kind}", part.name) as fault:
            sent = await self._deployment.signal(part, signal.SIGKILL)
            if runs:
                clean, stormy = meter.takeovers, meter.takeovers_in_storm
                self._faults.measure(meter.until_elsewhere(runs, sent, clean, stormy, fault))
            await ended.wait()
            await asyncio.sleep(rng.choice((0.0, rng.uniform(0, 1.5))))
            await self._deployment.start(part)

    async def _freeze(self, rng: Random, parts: list[Part]) -> None:
        part = self._one_that_is_up(rng, parts)
        if part is None or part.pid is None:
            return
        pid = part.pid
        async with self._faults.fault(f"SIGSTOP {part.kind}", part.name):
            await self._deployment.signal(part, signal.SIGSTOP)
            await asyncio.sleep(rng.uniform(0.2, 4.0))
            if rng.random() < 0.15:
                self._faults.counts[f"SIGKILL {part.kind}"] += 1
                await self._deployment.signal(part, signal.SIGKILL)
                await part.ended.wait()
                await self._deployment.start(part)
            else:
                self._thawed[pid].append(time.time_ns())
                await self._deployment.signal(part, signal.SIGCONT)

    async def end(self, rng: Random, parts: list[Part]) -> None:
        """SIGTERM one of these and start it again once it has left."""
        part = self._one_that_is_up(rng, parts)
        if part is None or part.pid is None:
            return
        pid, ended = part.pid, part.ended
        meter = self._faults.meter
        runs = await meter.runs_of(pid) if part.kind == "worker" else []
        if not part.is_up or part.pid != pid:
            return
        async with self._faults.fault(f"SIGTERM {part.kind}", part.name) as fault:
            sent = await self._deployment.signal(part, signal.SIGTERM)
            idle = [run for run in runs if not meter.is_in_a_tool(run, pid)]
            if idle:
                clean, stormy = meter.handovers, meter.handovers_in_storm
                self._faults.measure(meter.until_elsewhere(idle, sent, clean, stormy, fault))
            try:
                async with asyncio.timeout(LEAVING_S):
                    await ended.wait()
            except TimeoutError:
                self._deployment.faults.append(f"{part.name} did not leave in {LEAVING_S:g} s")
                await self._deployment.signal(part, signal.SIGKILL)
                await ended.wait()
            await asyncio.sleep(rng.uniform(0, 0.5))
            await self._deployment.start(part)

    @staticmethod
    def _one_that_is_up(rng: Random, parts: list[Part]) -> Part | None:
        up = [part for part in parts if part.is_up]
        return rng.choice(up) if up else None
