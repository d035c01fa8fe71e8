"""A child process that is told what to do in JSON lines, and answers in JSON lines."""

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ANSWER_S = 30.0


class Lines:
    """The parent's end.  Lines without an ``id`` go to ``on_event``."""

    def __init__(
        self, process: asyncio.subprocess.Process, on_event: Callable[[dict[str, Any]], None]
    ) -> None:
        self._process = process
        self._on_event = on_event
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def ask(self, **order: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
        """Return the answer to an order."""
        id_ = next(self._ids)
        answer = self._asked[id_] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": id_, **order}).encode() + b"\n")
        async with asyncio.timeout(ANSWER_S):
            found: dict[str, Any] = await answer
        return found

    async def read(self) -> None:
        """Take lines until the child ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            asked = self._asked.pop(said["id"], None) if "id" in said else None
            if asked is None:
                self._on_event(said)
            elif not asked.done():
                asked.set_result(said)


@asynccontextmanager
async def lines_of(
    module: str, log: Path, on_event: Callable[[dict[str, Any]], None] = lambda _: None
) -> AsyncIterator[Lines]:
    """Run ``python -m MODULE`` meanwhile; it ends when its stdin is closed."""
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    lines = Lines(process, on_event)
    reading = asyncio.create_task(lines.read(), name=f"reads {module}")
    try:
        yield lines
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
        await reading
