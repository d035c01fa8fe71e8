"""Thousands of sockets watch hundreds of queries while rows that some of them read are written.

    python -m benchmarks.reactive [--sockets 2000] [--writes 100] [--seconds 10]

A real ``ropewalk dev``; sockets and writer are this process; with ``elsewhere`` the writes go
through a second gateway on the same stores.  A push is measured from the moment at which the
mutation is sent, on every socket that has to hear of it: the mutation's own time is in it, and
stands beside it.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psutil
import psycopg
import uvloop
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.deployment import deployment, percentile
from benchmarks.fanout import CONNECT_AT_ONCE, Subscriber
from tests.support.dev_process import DevProcess
from tests.support.gateway_process import a_gateway
from tests.support.wait_until import wait_until

AGENTS = Path(__file__).parent / "agents_reactive"
QUERIES = 200
TOUCHED = 20
ITEMS = 5
"""Of a board."""
WRITERS = 8
"""Sockets; one may have 64 calls in flight."""
WARM_S = 8.0
"""Until nothing of the start is left to be found by a look at the counters."""


@dataclass(frozen=True)
class Scenario:
    """What is watched, and where it is written."""

    name: str
    touched: str
    others: str
    """Functions: of the queries that writes touch, and of those that they do not."""
    elsewhere: bool

    def is_touched(self, number: int, board: int) -> bool:
        """Return whether a write to a board changes the answer of a query."""
        return number == board if self.touched == "rows" else number <= board < TOUCHED

    @property
    def asks(self) -> int:
        """How many queries depend on what a write writes."""
        return 1 if self.touched == "rows" else TOUCHED

    def query(self, number: int) -> tuple[str, dict[str, int]]:
        """Return a query by its number; the first ones are touched."""
        if number < TOUCHED:
            return self.touched, {"least" if self.touched == "totals" else "board": number}
        name = "calm" if number % 2 else self.others
        return name, {"board": number}


SCENARIOS = [
    Scenario(f"{name}{', written elsewhere' if elsewhere else ''}", *what, elsewhere)
    for elsewhere in (False, True)
    for name, what in (
        ("rows by key", ("rows", "rows")),
        ("whole table", ("totals", "calm")),
    )
]


class Watcher:
    """One socket's side of the measurement (``Reader``)."""

    def __init__(self, scenario: Scenario, number: int) -> None:
        self.number = number
        self.answers = 0
        self.open: list[tuple[int, float]] = []
        """What was written and is not shown yet: number of the write, and when it was sent."""
        self.pushes_ms: list[float] = []
        self._hello = _hello(*scenario.query(number))

    def hello(self) -> list[str]:
        """See ``Reader.hello``."""
        return self._hello

    def count(self, data: bytes, begin: int, size: int) -> None:
        """Take a snapshot: whatever was written up to its number is shown."""
        frame = data[begin : begin + size]
        if b'"snapshot"' not in frame:
            assert b'"error"' not in frame, frame
            return
        self.answers += 1
        if not self.open:
            return
        shown = int(frame.partition(b'"seq":')[2].lstrip().partition(b",")[0].rstrip(b"}"))
        now = time.perf_counter()
        while self.open and self.open[0][0] <= shown:
            self.pushes_ms.append((now - self.open.pop(0)[1]) * 1000)


class Writer:
    """A socket that calls the mutation (``Reader``)."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        self.calls_ms: list[float] = []
        self.is_greeted = False

    def hello(self) -> list[str]:
        """See ``Reader.hello``."""
        return [json.dumps({"type": "hello", "protocol": 1})]

    def count(self, data: bytes, begin: int, size: int) -> None:
        """Take an answer."""
        if not size:  # the gateway asks whether we live
            return
        frame = json.loads(data[begin : begin + size])
        assert frame["type"] != "error", frame
        self.is_greeted |= frame["type"] == "welcome"
        if frame["type"] == "result":
            begun = self.sent.pop(frame["id"])
            self.calls_ms.append((time.perf_counter() - begun) * 1000)


def _hello(name: str, args: dict[str, int]) -> list[str]:
    id_ = f"board:{name}{json.dumps(args)}"
    subscribe = {"type": "subscribe", "id": id_, "query": f"board:{name}", "args": args}
    return [json.dumps({"type": "hello", "protocol": 1}), json.dumps(subscribe)]


@dataclass
class Counts:
    """What a gateway had done at some moment."""

    askings: float = 0.0
    by_function: dict[str, float] = field(default_factory=dict)
    seconds_by_function: dict[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0


def counts(url: str, pid: int) -> Counts:
    """Return what a gateway has done so far."""
    found = Counts()
    for family in text_string_to_metric_families(httpx2.get(f"{url}/metrics", timeout=10).text):
        for sample in family.samples:
            ref = sample.labels.get("ref", "")
            if sample.name == "ropewalk_queries_total":
                found.askings += sample.value
            elif sample.name == "ropewalk_function_seconds_count":
                found.by_function[ref] = found.by_function.get(ref, 0.0) + sample.value
            elif sample.name == "ropewalk_function_seconds_sum":
                known = found.seconds_by_function.get(ref, 0.0)
                found.seconds_by_function[ref] = known + sample.value
    times = psutil.Process(pid).cpu_times()
    found.cpu_s = times.user + times.system
    return found


class Run:
    """One scenario, measured."""

    def __init__(
        self, scenario: Scenario, sockets: int, url: str, writer_url: str, *, written: int
    ) -> None:
        """Prepare.

        Args:
            scenario: what is measured.
            sockets: how many watch.
            url: of the gateway that they are at.
            writer_url: of the gateway that is written through.
            written: the number of the last write so far; numbers only rise.
        """
        self.written = written
        self.scenario = scenario
        self.watchers = [Watcher(scenario, number % QUERIES) for number in range(sockets)]
        self.writers = [Writer() for _ in range(WRITERS)]
        self.touched = [each for each in self.watchers if each.number < TOUCHED]
        self._url = url
        self._writer_url = writer_url
        self._open: list[Subscriber] = []

    async def measure(self, pid: int, writes: int, seconds: float) -> tuple[Counts, Counts]:
        """Open the sockets, write for a while, and return the counts before and after."""
        try:
            await self._connect()
            self._live()
            await self._write(writes, WARM_S)
            await self._everything_shown()
            self._live()
            await asyncio.sleep(0.5)
            for writer in self.writers:
                writer.calls_ms.clear()
            for watcher in self.watchers:
                watcher.pushes_ms.clear()
            before = counts(self._url, pid)
            await self._write(writes, seconds)
            after = counts(self._url, pid)
            await self._everything_shown()
            return before, after
        finally:
            for each in self._open:
                each.transport.abort()  # type: ignore[attr-defined]  # a socket's transport

    async def _connect(self) -> None:
        for begin in range(0, len(self.watchers), CONNECT_AT_ONCE):
            some = self.watchers[begin : begin + CONNECT_AT_ONCE]
            await asyncio.gather(*(self._open_one(each, self._url) for each in some))
            await wait_until(
                lambda some=some: all(each.answers for each in some),  # type: ignore[misc]
                description="subscriptions",
                timeout_s=60,
            )
        for writer in self.writers:
            await self._open_one(writer, self._writer_url)
        await wait_until(
            lambda: all(each.is_greeted for each in self.writers), description="welcomes"
        )

    def _live(self) -> None:
        """Show the gateway that all sockets live, or it would ask."""
        for each in self._open:
            each.say('{"type":"ping"}')

    async def _open_one(self, reader: Watcher | Writer, url: str) -> None:
        loop = asyncio.get_running_loop()
        port = httpx2.URL(url).port or 0
        _, made = await loop.create_connection(lambda: Subscriber(reader), "127.0.0.1", port)
        self._open.append(made)

    async def _write(self, writes: int, seconds: float) -> None:
        """Send mutations at even distances, whether or not the last one was answered."""
        begun = time.perf_counter()
        for number in range(int(writes * seconds)):
            late_s = begun + number / writes - time.perf_counter()
            if late_s > 0:
                await asyncio.sleep(late_s)
            self.written += 1
            board = self.written % TOUCHED
            item = board * ITEMS + self.written // TOUCHED % ITEMS
            now = time.perf_counter()
            for each in self.touched:
                if self.scenario.is_touched(each.number, board):
                    each.open.append((self.written, now))
            turn = self.written % WRITERS
            self.writers[turn].sent[str(self.written)] = now
            speaker = self._open[turn - WRITERS]
            call = {"type": "call", "id": str(self.written), "fn": "board:write"}
            speaker.say(json.dumps(call | {"args": {"id": item, "seq": self.written}}))

    async def _everything_shown(self) -> None:
        await wait_until(
            lambda: (
                not any(each.sent for each in self.writers)
                and not any(each.open for each in self.touched)
            ),
            description="every write is shown on every socket that has to show it",
            timeout_s=60,
        )


def show(run: Run, before: Counts, after: Counts, writes: int, seconds: float) -> None:
    """Print what came of one scenario."""
    scenario = run.scenario
    asked = {
        ref: after.by_function[ref] - before.by_function.get(ref, 0.0) for ref in after.by_function
    }
    ref = f"board:{scenario.touched}"
    count = after.by_function[ref] - before.by_function[ref]
    cost_ms = (after.seconds_by_function[ref] - before.seconds_by_function[ref]) / count * 1000
    pushes = [each for watcher in run.watchers for each in watcher.pushes_ms]
    calls = [each for writer in run.writers for each in writer.calls_ms]
    watching = len(run.touched)
    affected = writes * scenario.asks
    print(f"\n{scenario.name}: {len(run.watchers)} sockets, {QUERIES} queries, {writes} writes/s")
    print(f"  queries run a second       {(after.askings - before.askings) / seconds:8.1f}")
    print(f"    affected by writes       {affected:8.1f}   (query and write; bursts share a run)")
    print(f"    of a table not written   {asked.get('board:calm', 0.0) / seconds:8.1f}")
    print(f"  mutation, sent to answer   {_spread(calls)}")
    print(f"  mutation sent to push      {_spread(pushes)}")
    print(f"  gateway's core             {(after.cpu_s - before.cpu_s) / seconds:8.0%}")
    print(f"  a run of the query         {cost_ms:8.2f} ms, waiting for its turn included")
    each_socket = affected * watching / TOUCHED
    print(f"  without sharing            {each_socket:8,.0f}   (one for each socket and write)")


def _spread(figures: list[float]) -> str:
    p50, p95, p99 = (percentile(figures, each) for each in (50, 95, 99))
    return f"p50 {p50:6.1f}   p95 {p95:6.1f}   p99 {p99:6.1f} ms   n={len(figures)}"


def fill(database_url: str) -> None:
    """Put the boards into the tables."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for table in ("items", "calm_items"):
            connection.execute(
                f"INSERT INTO {table} SELECT n, n / {ITEMS}, 0"  # noqa: S608  # names of ours
                f" FROM generate_series(0, {QUERIES * ITEMS - 1}) n"
            )


@contextmanager
def another_gateway(dev: DevProcess) -> Iterator[str]:
    """Yield the address of a second gateway on the same stores."""
    ready = dev.ready()
    with a_gateway(
        dev.folder,
        database_url=ready["databaseUrl"],
        redis_url=ready["redisUrl"],
        agents=AGENTS,
        namespace="ropewalk",
    ) as gateway:
        yield gateway.url


def main() -> None:
    """Measure every scenario, each with sockets of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sockets", type=int, default=2000)
    parser.add_argument("--writes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    asked = parser.parse_args()
    with deployment(agents=AGENTS) as dev, another_gateway(dev) as elsewhere:
        fill(dev.ready()["databaseUrl"])
        written = 0
        for scenario in SCENARIOS:
            if asked.only not in scenario.name:
                continue
            writer_url = elsewhere if scenario.elsewhere else dev.url
            run = Run(scenario, asked.sockets, dev.url, writer_url, written=written)
            pid = dev.pids("gateway")[0]
            before, after = uvloop.run(run.measure(pid, asked.writes, asked.seconds))
            written = run.written
            show(run, before, after, asked.writes, asked.seconds)


if __name__ == "__main__":
    main()
