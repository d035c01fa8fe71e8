"""What breaks in a storm, and when: three hands that draw from one seed.

One kills, freezes and restarts processes; one does it to the stores; one pulls cables.  They do
not know of one another, so that faults fall on top of faults.  Each fault heals within seconds.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container, Coroutine
from random import Random
from typing import Any, TypeAlias, cast

from tests.support.chaos.cables import CableHand
from tests.support.chaos.deployment import Deployment
from tests.support.chaos.faults import Faults
from tests.support.chaos.look import Look
from tests.support.chaos.meter import Meter
from tests.support.chaos.plan import dice
from tests.support.chaos.processes import ProcessHand
from tests.support.chaos.store_faults import StoreHand

Deed: TypeAlias = Callable[[], Awaitable[None]]

PAUSES_S = {"processes": (0.1, 0.9), "stores": (0.8, 2.5), "cables": (0.4, 1.6)}
"""Between two deeds of a hand."""
BREATH_S = 1.0


class Nemesis:
    """Breaks things until told to stop; ``heal`` mends everything."""

    def __init__(self, deployment: Deployment, meter: Meter, look: Look, rng: Random) -> None:
        self.faults = Faults(meter)
        self.processes = ProcessHand(deployment, self.faults)
        self._stores = StoreHand(deployment, self.faults, look)
        self._cables = CableHand(deployment, self.faults)
        self._deployment = deployment
        self._rngs = {name: dice(rng.random()) for name in PAUSES_S}

    async def rage(self, seconds: float, hands: Container[str]) -> None:
        """Break things for so long; returns when the last fault is healed.

        Args:
            seconds: of raging; the last faults heal a few seconds later.
            hands: which of ``processes``, ``stores`` and ``cables`` to let loose.
        """
        until = time.monotonic() + seconds
        deeds = {
            "processes": self.processes.deeds,
            "stores": self._stores.deeds,
            "cables": self._cables.deeds,
        }
        async with asyncio.TaskGroup() as group:
            for name, rng in self._rngs.items():
                if name in hands:
                    pause_s = PAUSES_S[name]
                    group.create_task(_let_loose(until, rng, pause_s, deeds[name](rng)))
        await self.heal()

    async def one_at_a_time(self, number: int, serving: Callable[[], Awaitable[None]]) -> None:
        """Do the faults that are timed, each when everybody serves again."""
        rng, workers = self._rngs["processes"], self._deployment.workers
        deeds: list[Deed] = [
            lambda: self.processes.kill(rng, workers),
            lambda: self.processes.end(rng, workers),
            lambda: self._stores.restart_redis(rng, keeps=True),
            lambda: self._stores.restart_postgres(rng, immediate=False),
        ]
        for place in range(number):
            await deeds[place % len(deeds)]()
            await self.heal()
            await serving()
            await asyncio.sleep(BREATH_S)

    async def heal(self) -> None:
        """Let everything be as it was, and wait for what is still being measured."""
        deployment = self._deployment
        await deployment.network("heal", deployment.all_routes)
        for part in deployment.parts.values():
            if part.pid is None:
                await deployment.start(part)
        await self.faults.measured()


async def _let_loose(
    until: float, rng: Random, pause_s: tuple[float, float], deeds: list[tuple[int, Deed]]
) -> None:
    weights = [weight for weight, _ in deeds]
    async with asyncio.TaskGroup() as under_way:
        while time.monotonic() < until:
            (_, deed), *_ = rng.choices(deeds, weights)
            under_way.create_task(cast("Coroutine[Any, Any, None]", deed()))
            await asyncio.sleep(rng.uniform(*pause_s))
