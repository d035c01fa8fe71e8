"""How long things take in a storm: takeovers, hand-overs, going on, a change's way to a page."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.support.body_log import lines
from tests.support.chaos.look import Look
from tests.support.chaos.text import Frame
from tests.support.standstill import seconds_since

POLL_S = 0.02
LONGEST_S = 15.0
LOST_HINT_S = 2.5
"""Until a change whose hint was lost reaches everybody who watches."""

_OF_WORKER = """
SELECT r.id, t.key, t.epoch FROM agent_runs r JOIN agent_threads t ON t.id = r.thread
 WHERE r.status = 'running' AND split_part(r.worker, '-', 3) = $1::text
"""
_MOVED = """
SELECT r.id, t.epoch - before.epoch AS moved
  FROM unnest($1::text[], $2::bigint[]) AS before (id, epoch)
  JOIN agent_runs r ON r.id = before.id
  JOIN agent_threads t ON t.id = r.thread
 WHERE t.epoch > before.epoch + 1 OR r.status NOT IN ('queued', 'running')
"""
"""A takeover raises the epoch, and the claim that follows raises it again."""
_GOES_ON = "SELECT 1 FROM agent_steps WHERE created_at > to_timestamp($1) LIMIT 1"


@dataclass(frozen=True, slots=True)
class Driven:
    """A run that is driven, the key of its thread and its epoch."""

    run: str
    key: str
    epoch: int


@dataclass
class Disturbance:
    """A fault, from its beginning until it is healed (``time.time``)."""

    kind: str
    target: str
    begun: float
    healed: float | None = None


@dataclass
class Spans:
    """Measured times, in seconds."""

    seconds: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def quantile(self, share: float) -> float:
        """Return the time that this share of all stayed below."""
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0

    def __str__(self) -> str:
        if not self.seconds:
            return "none"
        return (
            f"{len(self.seconds)} x, p50 {self.quantile(0.5):.3f} s,"
            f" p99 {self.quantile(0.99):.3f} s,"
            f" longest {max(self.seconds):.3f} s"
        )


class Meter:
    """Takes the times.  ``disturbances`` is filled by the nemesis."""

    def __init__(self, look: Look, body_log: Path, violated: Callable[[str], None]) -> None:
        self.violated = violated
        self.disturbances: list[Disturbance] = []
        self.takeovers = Spans()
        """From SIGKILL to going on elsewhere, with nothing else going on."""
        self.takeovers_in_storm = Spans()
        self.handovers = Spans()
        """From SIGTERM to going on elsewhere, of runs without a tool in flight."""
        self.handovers_in_storm = Spans()
        self.after_redis = Spans()
        self.after_postgres = Spans()
        self.lag = Spans()
        """From a commit to a page, in calm weather."""
        self.calm: tuple[float, float] = (float("inf"), float("-inf"))
        self._look = look
        self._body_log = body_log

    def disturbed(self, begun: float, ended: float, *, but: Iterable[Disturbance] = ()) -> bool:
        """Whether any other fault overlaps a stretch of time."""
        spared = set(map(id, but))
        return any(
            id(one) not in spared and one.begun < ended and (one.healed or ended) > begun
            for one in self.disturbances
        )

    async def runs_of(self, pid: int) -> list[Driven]:
        """Return the runs that a worker process drives just now."""
        rows = await self._look.rows(_OF_WORKER, str(pid))
        return [Driven(row["id"], row["key"], row["epoch"]) for row in rows or ()]

    def is_in_a_tool(self, driven: Driven, pid: int) -> bool:
        """Whether a tool of a run is in flight in this process, or is to be tried again."""
        under_way: Counter[str] = Counter()
        for line in lines(self._body_log, [driven.key]):
            if line.pid == pid and line.key.startswith(f"{driven.run}/tool:"):
                under_way[line.key] = int(line.event == "start")
        return under_way.total() > 0

    async def until_elsewhere(
        self,
        runs: list[Driven],
        sent: float,
        clean: Spans,
        stormy: Spans,
        cause: Disturbance,
    ) -> None:
        """Measure how long it takes until each run goes on in another process."""
        left = {driven.run: driven.epoch for driven in runs}
        while left and time.time() - sent < LONGEST_S:
            rows = await self._look.rows(_MOVED, list(left), list(left.values()))
            now = time.time()
            for row in rows or ():
                del left[row["id"]]
                if row["moved"] > 1:  # else it had ended, or waits for a person
                    spans = stormy if self.disturbed(sent - 0.5, now, but=(cause,)) else clean
                    spans.add(seconds_since(sent))
            await asyncio.sleep(POLL_S)
        spans = stormy if self.disturbed(sent - 0.5, time.time(), but=(cause,)) else clean
        for _ in left:
            spans.add(LONGEST_S)

    async def until_going_on(self, returned: float, spans: Spans, cause: Disturbance) -> None:
        """Measure how long it takes after a store's return until a step is recorded."""
        while not self.disturbed(returned, time.time(), but=(cause,)):
            if await self._look.rows(_GOES_ON, returned):
                spans.add(seconds_since(returned))
                return
            if time.time() - returned > LONGEST_S:
                spans.add(LONGEST_S)
                return
            await asyncio.sleep(POLL_S)

    def saw(self, row: Frame, open_since: float) -> None:
        """Note that a page shows a new row."""
        now = time.time()
        stored = datetime.fromisoformat(row["createdAt"]).timestamp()
        begun, ended = self.calm
        if begun <= stored <= ended and open_since < stored:
            self.lag.add(now - stored)
            if seconds_since(stored) > LOST_HINT_S:
                self.violated(f"a change took {now - stored:.1f} s to a page")
