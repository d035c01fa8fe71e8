"""The hand that pulls cables: one process's way to a store, or the clients' way to a gateway."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeAlias

from tests.support.chaos.deployment import Deployment
from tests.support.chaos.faults import Faults

Deed: TypeAlias = Callable[[], Awaitable[None]]


class CableHand:
    """Lays hands on connections."""

    def __init__(self, deployment: Deployment, faults: Faults) -> None:
        self._deployment = deployment
        self._faults = faults

    def deeds(self, rng: Random) -> list[tuple[int, Deed]]:
        """Return what it does, each with a weight."""
        return [
            (3, lambda: self._cut(rng)),
            (3, lambda: self._delay(rng)),
            (3, lambda: self._hold(rng)),
            (3, lambda: self._lose_answers(rng)),
            (2, lambda: self._refuse(rng)),
        ]

    def _some_routes(self, rng: Random) -> tuple[str, list[str]]:
        """Draw one part's way to one store or both, or the clients' way to a gateway."""
        deployment = self._deployment
        part = rng.choice(list(deployment.parts.values()))
        if part.kind == "gateway" and rng.random() < 0.5:
            return part.name, [part.way_in]
        return part.name, list(rng.choice((part.routes, part.routes[:1], part.routes[1:])))

    async def _cut(self, rng: Random) -> None:
        target, routes = self._some_routes(rng)
        async with self._faults.fault("connections cut", target):
            await self._deployment.network("cut", routes)

    async def _delay(self, rng: Random) -> None:
        target, routes = self._some_routes(rng)
        async with self._faults.fault("connections slow", target):
            await self._deployment.network("delay", routes, seconds=rng.uniform(0.003, 0.1))
            await asyncio.sleep(rng.uniform(0.5, 3))
            await self._deployment.network("heal", routes)

    async def _hold(self, rng: Random) -> None:
        target, routes = self._some_routes(rng)
        async with self._faults.fault("connections black-holed", target):
            await self._deployment.network("hold", routes, up=True, down=True)
            await asyncio.sleep(rng.uniform(0.2, 4))
            if rng.random() < 0.5:
                await self._deployment.network("cut", routes)
            await self._deployment.network("heal", routes)

    async def _lose_answers(self, rng: Random) -> None:
        """Let requests through, hold what comes back, and cut: it was done, and nobody knows."""
        target, routes = self._some_routes(rng)
        async with self._faults.fault("answers lost", target):
            await self._deployment.network("hold", routes, up=False, down=True)
            await asyncio.sleep(rng.uniform(0.02, 1.0))
            await self._deployment.network("cut", routes)
            await self._deployment.network("heal", routes)

    async def _refuse(self, rng: Random) -> None:
        target, routes = self._some_routes(rng)
        async with self._faults.fault("connections refused", target):
            await self._deployment.network("refuse", routes)
            await asyncio.sleep(rng.uniform(0.2, 2))
            await self._deployment.network("heal", routes)
