"""Looks at the tables ten times a second while the weather is calm: does anybody care?"""

import asyncio
import time
from dataclasses import dataclass, field

from tests.support.chaos.deployment import Deployment
from tests.support.chaos.ledger import Ledger
from tests.support.chaos.look import Look
from tests.support.standstill import seconds_since

EVERY_S = 0.1
NOBODY_S = 3.0
"""A run may be without a living worker for so long."""

_UNDER_WAY = """
SELECT r.id, r.status, t.epoch, split_part(r.worker, '-', 3) AS pid
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status IN ('queued', 'running')
"""


@dataclass
class Watchdog:
    """Finds runs that nobody looks after, from ``calm_since`` on."""

    deployment: Deployment
    look: Look
    ledger: Ledger
    calm_since: float | None = None
    """By ``time.time``; ``None`` while it storms."""
    looks: int = 0
    _alone: dict[tuple[str, int], float] = field(default_factory=dict)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if self.calm_since is not None:
                await self._look_once(self.calm_since)

    async def _look_once(self, calm_since: float) -> None:
        rows = await self.look.rows(_UNDER_WAY)
        if rows is None:
            return
        self.looks += 1
        now = time.time()
        living = {str(part.pid) for part in self.deployment.workers if part.is_up}
        alone = {(row["id"], row["epoch"]): row for row in rows if row["pid"] not in living}
        self._alone = {key: self._alone.get(key, now) for key in alone}
        for key, since in self._alone.items():
            if seconds_since(max(since, calm_since)) > NOBODY_S:
                self._alone[key] = float("inf")
                self.ledger.violated(
                    f"run {key[0]} has been {alone[key]['status']} without a living worker for"
                    f" {NOBODY_S:g} s: {dict(alone[key])}"
                )
