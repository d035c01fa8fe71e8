"""The points of this process: their names, who was here, and what happens at one of them.

Rewritten modules call ``before`` and ``after`` around each await, and pass what they enter or
iterate over through ``Around`` and ``Each``.  Without a plan that costs a counter.

Everything here runs in the event loop's thread.
"""

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

BYTES = 2
"""Of a point's number in a trace."""
THAWED = (1 << 8 * BYTES) - 1
"""In a trace: the process was frozen here, and goes on."""
BODY = "body:start"
"""The name of what no await marks: the body of a step starts."""

names: list[str] = []
"""By number, in the order in which modules were imported."""

_numbers: dict[str, int] = {}
_visits: list[int] = []
_plan: dict[tuple[int, int], str] = {}
_trace: int | None = None


def number_of(name: str) -> int:
    """Return the number of a point, which is made if there is none of this name."""
    number = _numbers.get(name)
    if number is None:
        number = _numbers[name] = len(names)
        names.append(name)
        _visits.append(0)
    return number


def arm(plan: Mapping[tuple[str, int], str], trace: int) -> None:
    """Begin to count in this process.

    Args:
        plan: what to do (``kill`` or ``freeze``) at a point's n-th visit, counted from 1.
        trace: a file descriptor that the number of each visited point is written to.
    """
    global _trace  # noqa: PLW0603  # the state of a process
    _plan.clear()
    _plan.update({(number_of(name), visit): deed for (name, visit), deed in plan.items()})
    _visits[:] = [0] * len(names)
    _trace = trace


def reached(number: int) -> None:
    """Count a visit; die or freeze if the plan says so."""
    if _trace is None:
        return
    os.write(_trace, number.to_bytes(BYTES, "little"))
    _visits[number] += 1
    match _plan.get((number, _visits[number])):
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
            os.write(_trace, THAWED.to_bytes(BYTES, "little"))
        case _:
            pass


def before(number: int, awaitable: T) -> T:
    """Be at the point before an await; return what is awaited."""
    reached(number)
    return awaitable


def after(number: int, value: T) -> T:
    """Be at the point after an await; return its value."""
    reached(number)
    return value


class Around(Generic[T]):
    """An ``async with`` with points around its entry (two numbers) and its exit (two more)."""

    def __init__(self, number: int, inner: AbstractAsyncContextManager[T]) -> None:
        self._number = number
        self._inner = inner

    async def __aenter__(self) -> T:
        """Enter."""
        reached(self._number)
        value = await self._inner.__aenter__()
        reached(self._number + 1)
        return value

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Leave."""
        reached(self._number + 2)
        swallowed = await self._inner.__aexit__(kind, error, trace)
        reached(self._number + 3)
        return swallowed


class Each(Generic[T]):
    """An ``async for`` with points before and after each step."""

    def __init__(self, number: int, inner: Any) -> None:  # noqa: ANN401  # anything to iterate over
        self._number = number
        self._inner: AsyncIterator[T] = aiter(inner)

    def __aiter__(self) -> "Each[T]":
        """Return this."""
        return self

    async def __anext__(self) -> T:
        """Return the next one."""
        reached(self._number)
        value = await anext(self._inner)
        reached(self._number + 1)
        return value
