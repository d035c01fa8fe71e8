"""The list of points is made from the code: a new await is in it without a word anywhere."""

import ast
import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.crash_points import points
from tests.support.crash_points.importing import is_crashing
from tests.support.crash_points.points import BYTES
from tests.support.crash_points.rewriting import RUNTIME, rewritten

SOURCE = """
class Store:
    async def write(self, stage, rows):
        async with stage() as found, stage():
            async for row in rows():
                found.append(await self.read(row))
        return [row async for row in rows()]

    async def read(self, row):
        return row
"""
NAMES = [
    "m:Store.write#1:entering",
    "m:Store.write#1:entered",
    "m:Store.write#1:leaving",
    "m:Store.write#1:left",
    "m:Store.write#2:entering",
    "m:Store.write#2:entered",
    "m:Store.write#2:leaving",
    "m:Store.write#2:left",
    "m:Store.write#3:next",
    "m:Store.write#3:got",
    "m:Store.write#4:before",
    "m:Store.write#4:after",
    "m:Store.write#5:next",
    "m:Store.write#5:got",
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no points but those of the test."""
    monkeypatch.setattr(points, "names", [])
    monkeypatch.setattr(points, "_numbers", {})
    monkeypatch.setattr(points, "_visits", [])
    monkeypatch.setattr(points, "_plan", {})
    monkeypatch.setattr(points, "_trace", None)


def _module(source: str) -> ModuleType:
    module = ModuleType("m")
    module.__dict__[RUNTIME] = points
    exec(compile(rewritten(source, "m", "m.py"), "m.py", "exec"), module.__dict__)  # noqa: S102
    return module


async def test_a_rewritten_function_does_what_it_did_and_says_where_it_is(tmp_path: Path) -> None:
    module, found = _module(SOURCE), list[int]()

    @contextlib.asynccontextmanager
    async def stage() -> AsyncIterator[list[int]]:
        await asyncio.sleep(0)
        yield found

    async def rows() -> AsyncIterator[int]:
        yield 7

    trace = os.open(tmp_path / "trace", os.O_WRONLY | os.O_CREAT)
    points.arm({}, trace)
    answer = await module.Store().write(stage, rows)
    os.close(trace)
    written = (tmp_path / "trace").read_bytes()

    assert (answer, found) == ([7], [7])
    assert points.names == NAMES
    visited = [NAMES[number] for number in _numbers(written)]
    assert visited[:2] == ["m:Store.write#1:entering", "m:Store.write#1:entered"]
    assert visited.count("m:Store.write#4:after") == 1
    assert visited.index("m:Store.write#2:left") < visited.index("m:Store.write#1:leaving")


def test_no_await_of_the_durable_path_is_left_out() -> None:
    for path in sorted(Path("app").rglob("*.py")):
        module = ".".join(path.with_suffix("").parts)
        if is_crashing(module):
            source = path.read_text()
            before = len(points.names)
            rewritten(source, module, str(path))

            assert len(points.names) - before == _expected(ast.parse(source)), module


def _expected(tree: ast.Module) -> int:
    """Return how many points a module has, counted in another way."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.Await() | ast.AsyncFor() | ast.comprehension(is_async=1):
                count += 2
            case ast.AsyncWith(items=items):
                count += 4 * len(items)
            case _:
                pass
    return count


def _numbers(written: bytes) -> Iterator[int]:
    for at in range(0, len(written), BYTES):
        yield int.from_bytes(written[at : at + BYTES], "little")
