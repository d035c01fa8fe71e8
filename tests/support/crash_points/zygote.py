"""The harness's side of ``tests.support.crashing_worker``: forks, and hears who died."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.crash_points.orders import Order
from tests.support.crash_points.points import BYTES, THAWED

ROOT = Path(__file__).resolve().parents[3]


@dataclass(eq=False)
class Child:
    """A forked process."""

    pid: int
    trace: Path
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at each change of state."""
    is_frozen: bool = False
    exit_code: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended; a frozen one has not."""
        return self.exit_code is None

    async def ended(self) -> int:
        """Return its exit code once it has ended; negative: the signal that ended it."""
        while self.exit_code is None:
            self.changed.clear()
            await self.changed.wait()
        return self.exit_code

    async def stands_or_ended(self) -> None:
        """Return once it is frozen or has ended."""
        while self.is_alive and not self.is_frozen:
            self.changed.clear()
            await self.changed.wait()

    def send(self, what: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):  # we have not heard of its end yet
                os.kill(self.pid, what)

    def thaw(self) -> None:
        """Let it go on where it was frozen."""
        self.is_frozen = False
        self.send(signal.SIGCONT)

    async def kill(self) -> None:
        """SIGKILL it and return when it is gone."""
        self.send(signal.SIGKILL)
        await self.ended()

    def visited(self) -> list[int]:
        """Return the numbers of the points that it was at, in order (``THAWED`` among them)."""
        trace = self.trace.read_bytes() if self.trace.exists() else b""
        whole = len(trace) - len(trace) % BYTES
        return [int.from_bytes(trace[at : at + BYTES], "little") for at in range(0, whole, BYTES)]

    def visited_since_thaw(self) -> list[int]:
        """Return the numbers of the points that it was at since it went on."""
        visited = self.visited()
        return visited[visited.index(THAWED) + 1 :] if THAWED in visited else []


class Zygote:
    """A process that has everything imported.

    Attributes:
        points: the names of all points, by number.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.points: list[str] = []
        self._process = process
        self._ids = itertools.count(1)
        self._ordered: dict[int, asyncio.Future[Child]] = {}
        self._orders: dict[int, Order] = {}
        self._children: dict[int, Child] = {}

    def next_id(self) -> int:
        """Return an order's number."""
        return next(self._ids)

    async def fork(self, order: Order) -> Child:
        """Return a new process; it is at work already."""
        self._orders[order.id] = order
        born = self._ordered[order.id] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(order.to_json().encode() + b"\n")
        child: Child = await born
        return child

    async def listen(self) -> None:
        """Hear what the process says until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._hear(json.loads(line))

    async def ready(self) -> None:
        """Read which points there are."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks did not start; see its standard error")
        self.points = json.loads(line)["points"]

    def _hear(self, said: dict[str, Any]) -> None:
        match said:
            case {"order": int(number), "pid": int(pid)}:
                trace = Path(self._orders.pop(number).trace)
                child = self._children[pid] = Child(pid, trace)
                self._ordered.pop(number).set_result(child)
            case {"pid": int(pid), "frozen": True}:
                self._children[pid].is_frozen = True
                self._children[pid].changed.set()
            case {"pid": int(pid), "exit": int(code)}:
                child = self._children.pop(pid)
                child.exit_code = code
                child.changed.set()
            case _:
                raise ValueError(f"not understood: {said}")


@asynccontextmanager
async def zygote(agents: Path) -> AsyncIterator[Zygote]:
    """Yield a process that forks; it and its children are gone afterwards."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.crashing_worker", str(agents)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=1 << 20,
    )
    assert process.stdin is not None
    forking = Zygote(process)
    await forking.ready()
    async with asyncio.TaskGroup() as group:
        group.create_task(forking.listen(), name="zygote")
        try:
            yield forking
        finally:
            process.stdin.close()
            await process.wait()
