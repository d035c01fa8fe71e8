"""One round of a storm: load, faults, calm, single faults that are timed, rest, judgement.

begin -- rage -- heal -- calm (lag, no run without a worker) -- one fault at a time -- rest -- judge
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import asyncpg
import httpx2
import redis.asyncio

from app.protocol.calls import AGENT_MESSAGES, AGENT_STATE, AGENT_THREAD
from tests.support.chaos.client import ChaosClient, Mood
from tests.support.chaos.crowd import MOODS, Watcher
from tests.support.chaos.deployment import Deployment
from tests.support.chaos.laws import page_faults, promise_faults
from tests.support.chaos.ledger import Ledger
from tests.support.chaos.load import PATIENCE_S, Talker, Weather
from tests.support.chaos.look import Look
from tests.support.chaos.meter import Meter
from tests.support.chaos.nemesis import Nemesis
from tests.support.chaos.plan import dice
from tests.support.chaos.text import Frame
from tests.support.chaos.watchdog import Watchdog
from tests.support.law_evidence import Death, Evidence, gather
from tests.support.laws import check
from tests.support.wait_until import wait_until

SERVING_S = 30.0
LEVEL_S = 10.0
REST_S = PATIENCE_S + 15.0
RENDERED = 30
"""Messages of a thread up to which its history is rendered at every moment: it costs the square."""

_BEATING = """
SELECT count(*) AS n FROM agent_workers
 WHERE gone_at IS NULL AND beat > 2 AND split_part(id, '-', 3) = ANY ($1::text[])
"""
_UNFINISHED = """
SELECT id, status, worker FROM agent_runs WHERE status NOT IN ('completed', 'failed', 'cancelled')
"""


HANDS = ("processes", "stores", "cables")


class _Enough(Exception):
    """A law was broken, and nobody asks for a second one."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a round goes.  Times are seconds."""

    seed: str
    rage_s: float = 15.0
    calm_s: float = 5.0
    singles: int = 4
    """Faults that come alone and are timed."""
    talkers: int = 18
    watchers: int = 18
    hands: tuple[str, ...] = HANDS
    """Which kinds of faults rage."""
    stops_at_once: bool = False
    """Whether the first violation ends the round."""


@dataclass
class Round:
    """What became of one round."""

    course: Course
    ledger: Ledger
    meter: Meter
    nemesis: Nemesis
    counts: "Counter[str]" = field(default_factory=Counter)
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds that each took."""

    @property
    def faults(self) -> "Counter[str]":
        """What was broken, how often."""
        return self.nemesis.faults.counts

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return self.nemesis.faults.kills

    @property
    def summary(self) -> str:
        """Return it in one line."""
        phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.phases.items())
        return f"{self.kills} kills, {len(self.violations)} violations; {phases} s"

    @property
    def violations(self) -> list[str]:
        """Every law that was broken, with what broke it."""
        return self.ledger.violations


class Storm:
    """The people and the faults of one round on one deployment."""

    def __init__(self, deployment: Deployment, course: Course) -> None:
        self.deployment = deployment
        self.course = course
        self.ledger = Ledger()
        self.weather = Weather()
        self.look = Look(deployment.database_url)
        self.meter = Meter(self.look, deployment.body_log, self.ledger.violated)
        rng = dice(course.seed)
        self.nemesis = Nemesis(deployment, self.meter, self.look, rng)
        urls = deployment.client_urls
        self.talkers = [
            Talker(n, urls, dice(rng.random()), self.ledger, self.weather)
            for n in range(course.talkers)
        ]
        self.watchers = [
            Watcher(
                self.talkers[n % len(self.talkers)],
                urls,
                MOODS[n % len(MOODS)],
                dice(rng.random()),
                self.ledger,
            )
            for n in range(course.watchers)
        ]
        self.watchdog = Watchdog(deployment, self.look, self.ledger)
        for client in self.clients:
            if client.mood.reads_at_once:
                client.on_new_row = self.meter.saw

    @property
    def clients(self) -> list[ChaosClient]:
        """Every page."""
        pages = [page for talker in self.talkers for page in talker.pages]
        return pages + [watcher.client for watcher in self.watchers]

    async def run(self) -> Round:
        """Go through the whole course and return what became of it."""
        course = self.course
        result = Round(course, self.ledger, self.meter, self.nemesis)
        phases: dict[str, Callable[[], Awaitable[None]]] = {
            "begin": self._serving,
            "rage": lambda: self.nemesis.rage(course.rage_s, course.hands),
            "serve again": self._serving,
            "calm": lambda: self._calm(course.calm_s),
            "one at a time": lambda: self.nemesis.one_at_a_time(course.singles, self._serving),
            "rest": self._rest,
            "judge": lambda: self._judge(result),
        }
        try:
            async with self._people():
                for name, phase in phases.items():
                    begun = time.monotonic()
                    await phase()
                    result.phases[name] = time.monotonic() - begun
        except* _Enough:
            pass
        finally:
            await self.look.close()
        self.ledger.violations += self.deployment.faults
        return result

    @asynccontextmanager
    async def _people(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.watchdog.run())]
            if self.course.stops_at_once:
                tasks.append(group.create_task(self._stop_at_the_first()))
            tasks += [group.create_task(talker.talk()) for talker in self.talkers]
            tasks += [group.create_task(watcher.watch()) for watcher in self.watchers]
            yield
            for task in tasks:
                task.cancel()

    async def _stop_at_the_first(self) -> None:
        while not self.ledger.violations:  # noqa: ASYNC110  # a plain list has no event
            await asyncio.sleep(0.1)
        raise _Enough

    async def _serving(self) -> None:
        """Wait until every process is at work."""
        pids = [str(part.pid) for part in self.deployment.workers]

        async def beating() -> bool:
            rows = await self.look.rows(_BEATING, pids)
            return bool(rows and rows[0]["n"] == len(pids))

        async def ready() -> bool:
            async with httpx2.AsyncClient(timeout=5) as http:
                for part in self.deployment.gateways:
                    try:
                        answer = await http.get(f"http://127.0.0.1:{part.env['PORT']}/readyz")
                    except httpx2.TransportError:
                        return False
                    if answer.status_code != 200:
                        return False
            return True

        await wait_until(beating, description="both workers beat", timeout_s=SERVING_S)
        await wait_until(ready, description="both gateways are ready", timeout_s=SERVING_S)

    async def _calm(self, seconds: float) -> None:
        self.weather.gentle = True
        self.watchdog.calm_since = time.time()
        await asyncio.sleep(3)
        begun = time.time()
        self.meter.calm = (begun, begun + seconds)
        await asyncio.sleep(seconds)
        self.watchdog.calm_since = None

    async def _rest(self) -> None:
        """Let everybody come to an end, and every page to what is stored."""
        self.weather.over = True
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                while not all(talker.is_idle for talker in self.talkers):  # noqa: ASYNC110  # many
                    await asyncio.sleep(0.05)
        for talker in self.talkers:
            if not talker.is_idle:
                self.ledger.violated(
                    f"{talker.keys[-1]}: its talker waits for ever: {talker.doing}"
                )
        for client in self.clients:
            client.mood = Mood(client.mood.name)
        left = None
        deadline = time.monotonic() + LEVEL_S
        while time.monotonic() < deadline and left != []:
            left = await self.look.sure(_UNFINISHED)
            await asyncio.sleep(0.1)
        for row in left or ():
            self.ledger.violated(f"nobody waits for a run any more, and it is {row}")

    async def _judge(self, result: Round) -> None:
        stored, values = await self._stored()
        faults: list[str] = []
        deadline = time.monotonic() + LEVEL_S
        while True:
            faults = [
                fault for client in self.clients for fault in page_faults(client, stored, values)
            ]
            if not faults or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        self.ledger.violations += faults
        evidence = await self._evidence()
        self.ledger.violations += promise_faults(self.ledger, evidence)
        self.ledger.violations += [str(one) for one in await check(evidence)]
        result.counts = self._counts(evidence)

    async def _stored(
        self,
    ) -> tuple[Mapping[str, list[Frame]], Mapping[tuple[str, str], Frame]]:
        """Return what the server answers now about every thread."""
        stored, values = {}, {}
        for talker in self.talkers:
            page = talker.pages[0]
            for key in talker.keys:
                async with asyncio.timeout(LEVEL_S):
                    stored[key] = await page.call(AGENT_MESSAGES, {"key": key, "limit": 200})
                    for query in (AGENT_THREAD, AGENT_STATE):
                        values[query, key] = await page.call(query, {"key": key})
        return stored, values

    async def _evidence(self) -> Evidence:
        database = await asyncpg.connect(self.deployment.database_url)
        try:
            async with redis.asyncio.Redis.from_url(self.deployment.redis_url) as client:
                evidence = await gather(
                    database, client, self.deployment.namespace, self.deployment.body_log
                )
        finally:
            await database.close()
        evidence.render_up_to = RENDERED
        evidence.late = self.nemesis.processes.late(evidence.bodies)
        evidence.deaths = [self._excuse(evidence)]
        return evidence

    def _excuse(self, evidence: Evidence) -> Death:
        """Return the threads whose keys a fault may have kept from being dropped: they expire."""
        over = {
            change.row["thread"]
            for change in evidence.changes
            if change.table == "runs"
            and change.row["status"] not in {"queued", "running"}
            and self.meter.disturbed(change.at.timestamp() - 0.1, change.at.timestamp() + 1)
        }
        return Death(0, 0, over=frozenset(over))

    def _counts(self, evidence: Evidence) -> "Counter[str]":
        counts = Counter(f"runs {row['status']}" for row in evidence.rows["runs"])
        counts["threads"] = len(evidence.rows["threads"])
        counts["messages"] = len(evidence.rows["messages"])
        counts["steps"] = len(evidence.rows["steps"])
        counts["changes"] = len(evidence.changes)
        counts["bodies started"] = sum(line.event == "start" for line in evidence.bodies)
        counts["sockets"] = sum(client.sockets for client in self.clients)
        counts["frames"] = sum(view.frames for c in self.clients for view in c.views.values())
        counts["gaps in live text"] = sum(
            view.live.gaps for client in self.clients for view in client.views.values()
        )
        counts["looks"] = self.watchdog.looks
        return counts + self.ledger.figures
