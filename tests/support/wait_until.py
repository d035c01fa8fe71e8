"""Waiting for something to become true, instead of sleeping and hoping."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable


async def wait_until(
    predicate: Callable[[], object | Awaitable[object]],
    *,
    description: str,
    timeout_s: float = 30,
    interval_s: float = 0.01,
) -> None:
    """Return as soon as ``predicate`` is true; it may be asynchronous.

    Raises:
        AssertionError: it did not come true in time; says what was waited for.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        answer = predicate()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout_s:g} s still not so: {description}")
        await asyncio.sleep(interval_s)


def wait_until_sync(
    predicate: Callable[[], object],
    *,
    description: str,
    timeout_s: float = 30,
    interval_s: float = 0.02,
) -> None:
    """Do the same in a test without an event loop."""
    deadline = time.monotonic() + timeout_s
    while not predicate():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout_s:g} s still not so: {description}")
        time.sleep(interval_s)
