"""Two gateways and two workers with a network between them, the stores and the clients.

Each process has routes of its own, so that one alone can be cut off.  Nothing starts again by
itself: the nemesis decides when, and whatever ends without having been told to is a fault.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from app.main.embedded.ports import free_port
from tests.support import body_log
from tests.support.backend import SECRET
from tests.support.chaos.inside import BREAKS_NAMED
from tests.support.chaos.lines import Lines, lines_of
from tests.support.chaos.stores import Stores
from tests.support.law_evidence import install_audit

AGENTS = Path(__file__).resolve().parents[2] / "chaos" / "storm_agents"
SLOTS = 60
HOPELESS = 50
"""Takeovers before a run is given up: a storm may well hit one run five times."""

REFUSED = 1
"""The exit code of a process that says in one sentence why it cannot start."""
START_S = 10.0
START_AGAIN_S = 0.3


class State(Enum):
    """How a part stands."""

    UP = auto()
    FROZEN = auto()
    LEAVING = auto()
    DOWN = auto()


@dataclass
class Part:
    """One worker or gateway, over all its processes."""

    kind: Literal["worker", "gateway"]
    name: str
    env: dict[str, str]
    state: State = State.DOWN
    pid: int | None = None
    up_since: float = 0.0
    starts: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def routes(self) -> tuple[str, str]:
        """Its ways to Postgres and Redis."""
        return f"{self.name}-postgres", f"{self.name}-redis"

    @property
    def way_in(self) -> str:
        """The clients' way to it."""
        return f"{self.name}-clients"

    @property
    def is_up(self) -> bool:
        """Whether a process is there that nothing was done to."""
        return self.state is State.UP


class Helpers:
    """What outlasts a deployment: who starts processes, and the network between them."""

    def __init__(self, stores: Stores, zygote: Lines, network: Lines) -> None:
        self.stores = stores
        self.zygote = zygote
        self.network = network
        self.on_end: Callable[[int, int], None] = lambda _pid, _code: None
        """Told of each process that ended, with its exit code."""

    async def route(self, name: str, port: int) -> int:
        """Open a route to a port and return the port that leads there."""
        answer = await self.network.ask(do="open", route=name, target=port)
        return int(answer["port"])


@asynccontextmanager
async def running_helpers(stores: Stores) -> AsyncIterator[Helpers]:
    """Run the zygote and the network meanwhile."""
    log = stores.folder / "helpers.log"
    is_awake = asyncio.Event()
    helpers: list[Helpers] = []

    def hear(event: dict[str, Any]) -> None:
        if event["event"] == "ready":
            is_awake.set()
        else:
            helpers[0].on_end(event["pid"], event["code"])

    async with (
        lines_of("tests.support.chaos.proxy", log) as network,
        lines_of("tests.support.chaos.zygote", log, hear) as zygote,
    ):
        helpers.append(Helpers(stores, zygote, network))
        async with asyncio.timeout(60):
            await is_awake.wait()
        yield helpers[0]


class Deployment:
    """The processes, and what can be done to them."""

    def __init__(self, helpers: Helpers, folder: Path, database_url: str) -> None:
        self.stores = helpers.stores
        self.folder = folder
        self.namespace = folder.name
        self.database_url = database_url
        self.parts: dict[str, Part] = {}
        self.client_urls: list[str] = []
        self.faults: list[str] = []
        """What ended without having been told to."""
        self.refused_starts = 0
        """Processes that ended while they started, since a store was away."""
        self._helpers = helpers
        self._starting: set[asyncio.Task[None]] = set()
        self._ended: dict[int, int] = {}
        """Exit codes of processes that ended before they were known to have started."""

    @property
    def redis_url(self) -> str:
        """Redis, without the network in between."""
        return self.stores.redis.url

    @property
    def body_log(self) -> Path:
        """Where processes write down which bodies they run: see ``tests.support.body_log``."""
        return self.folder / "bodies"

    @property
    def workers(self) -> list[Part]:
        """Both workers."""
        return [part for part in self.parts.values() if part.kind == "worker"]

    @property
    def gateways(self) -> list[Part]:
        """Both gateways."""
        return [part for part in self.parts.values() if part.kind == "gateway"]

    @property
    def all_routes(self) -> list[str]:
        """All routes, the clients' ones included."""
        routes = [route for part in self.parts.values() for route in part.routes]
        return routes + [part.way_in for part in self.gateways]

    def log(self, part: Part) -> Path:
        """Where its processes write."""
        return self.folder / f"{part.kind}.log"

    async def start(self, part: Part) -> None:
        """Start a part that is down."""
        part.ended = asyncio.Event()
        answer = await self._helpers.zygote.ask(
            do="start", command=part.kind, env=part.env, log=str(self.log(part))
        )
        part.pid, part.state = answer["pid"], State.UP
        part.up_since = time.monotonic()
        part.starts += 1
        code = self._ended.pop(answer["pid"], None)
        if code is not None:
            self._on_end(answer["pid"], code)

    async def signal(self, part: Part, which: signal.Signals) -> float:
        """Send a signal and return the time (``time.time``) at which it was sent."""
        assert part.pid is not None
        match which:
            case signal.SIGKILL:
                part.state = State.DOWN
            case signal.SIGTERM:
                part.state = State.LEAVING
            case signal.SIGSTOP:
                part.state = State.FROZEN
            case signal.SIGCONT if part.state is State.FROZEN:
                part.state = State.UP
        sent = time.time()
        await self._helpers.zygote.ask(do="signal", pid=part.pid, signal=int(which))
        return sent

    async def network(self, do: str, routes: Sequence[str], **more: object) -> None:
        """Change what becomes of connections on these routes."""
        await self._helpers.network.ask(do=do, routes=list(routes), **more)

    async def open(self, breaks: str) -> None:
        """Open the routes and start everything."""
        self.body_log.mkdir()
        self._helpers.on_end = self._on_end
        for number in (1, 2):
            await self._add("worker", number, breaks)
            await self._add("gateway", number, breaks)
        for part in self.parts.values():
            await self.start(part)

    async def close(self) -> None:
        """Kill what runs."""
        if self._starting:
            await asyncio.wait(self._starting)
        for part in self.parts.values():
            if part.pid is not None:
                await self.signal(part, signal.SIGKILL)
                await part.ended.wait()

    async def _add(self, kind: Literal["worker", "gateway"], number: int, breaks: str) -> None:
        part = Part(kind, f"{self.namespace}-{kind}{number}", {})
        postgres, redis = part.routes
        part.env = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": await self._through(postgres, self.database_url, "sslmode=disable"),
            "REDIS_URL": await self._through(redis, self.redis_url),
            "REDIS_NAMESPACE": self.namespace,
            "AGENTS": str(AGENTS),
            "JWT_SECRET": SECRET,
            body_log.FOLDER: str(self.body_log),
            BREAKS_NAMED: breaks,
            "WORKER_SLOTS": str(SLOTS),
            "MAX_ATTEMPTS": str(HOPELESS),
            "LOG_LEVEL": "INFO",
        }
        if kind == "gateway":
            port = free_port()
            part.env["PORT"] = str(port)
            way_in = await self._helpers.route(part.way_in, port)
            self.client_urls.append(f"ws://127.0.0.1:{way_in}/ws")
        self.parts[part.name] = part

    async def _through(self, route: str, url: str, query: str | None = None) -> str:
        """Return the address behind a new route that leads to ``url``."""
        to = urlsplit(url)
        assert to.port is not None
        port = await self._helpers.route(route, to.port)
        user, at, _ = to.netloc.rpartition("@")
        to = to._replace(netloc=f"{user}{at}127.0.0.1:{port}")
        return urlunsplit(to._replace(query=query) if query else to)

    def _on_end(self, pid: int, code: int) -> None:
        part = next((part for part in self.parts.values() if part.pid == pid), None)
        if part is None:
            self._ended[pid] = code
            return
        age_s = time.monotonic() - part.up_since
        # A young one has not yet said what SIGTERM is to do.
        leaves = {0, -signal.SIGTERM} if age_s < START_S else {0}
        told_to = part.state is State.DOWN or (part.state is State.LEAVING and code in leaves)
        part.state, part.pid = State.DOWN, None
        part.ended.set()
        if not told_to and code == REFUSED and age_s < START_S:
            self.refused_starts += 1
            self._starting.add(task := asyncio.create_task(self._start_again(part)))
            task.add_done_callback(self._starting.discard)
        elif not told_to:
            self.faults.append(f"{part.name} ended by itself after {age_s:.1f} s, code {code}")

    async def _start_again(self, part: Part) -> None:
        """Do what any supervisor does with a process that could not start."""
        await asyncio.sleep(START_AGAIN_S)
        if part.pid is None:
            await self.start(part)


@asynccontextmanager
async def a_deployment(helpers: Helpers, *, breaks: str = "") -> AsyncIterator[Deployment]:
    """Yield a running deployment on an audited database of its own.

    Args:
        helpers: outlast it.
        breaks: names what is broken on purpose (``breaks``).
    """
    url = await asyncio.to_thread(helpers.stores.fresh_database)
    await asyncio.to_thread(install_audit, url)
    folder = helpers.stores.folder / urlsplit(url).path.strip("/")
    folder.mkdir()
    deployment = Deployment(helpers, folder, url)
    try:
        await deployment.open(breaks)
        yield deployment
    finally:
        await deployment.close()
