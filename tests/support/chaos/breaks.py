"""Builds that are broken on purpose, so that the storms can show that they would notice.

Each is applied to a forked process before its command begins; production code knows nothing of it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from app.fanout.announcer import Announcer
from app.fanout.tokens import RedisTokenSink
from app.gateway.asgi import Gateway
from app.store import recording, starting


def _lose_hints() -> None:
    """Commit, and never say so.  Harmless alone: gateways compare versions every two seconds."""

    def say_nothing(self: Announcer, thread_id: str, version: int) -> None:
        del self, thread_id, version

    Announcer.__call__ = say_nothing  # type: ignore[method-assign]  # that is the point


def _never_reconcile() -> None:
    """Rely on hints alone."""

    async def look_at_nothing(self: Gateway) -> None:
        del self

    Gateway.reconcile = look_at_nothing  # type: ignore[method-assign]  # that is the point


def _count_attempts_per_drive() -> None:
    """Number the tries of a model request from 1 in each drive, without the epoch."""
    whole = RedisTokenSink.open

    def open_low(self: RedisTokenSink, fence: Any, turn: int, attempt: int, version: int) -> Any:  # noqa: ANN401
        return whole(self, fence, turn, attempt % 100, version)

    RedisTokenSink.open = open_low  # type: ignore[method-assign]  # that is the point


def _start_without_the_lock() -> None:
    """Look whether a thread is free without keeping it so."""
    starting._LOCK = _unlocked(starting._LOCK)


def _check_the_fence_without_the_lock() -> None:
    """Look at the epoch without holding it."""
    recording.RECORD = _unlocked(recording.RECORD)  # type: ignore[attr-defined]  # imported there


def _unlocked(statement: str) -> str:
    lock = "FOR NO KEY UPDATE"
    if lock not in statement:
        raise AssertionError(f"there is no lock to take away in {statement}")
    return statement.replace(lock, "")


BREAKS: Mapping[str, Callable[[], None]] = {
    "hints are lost": _lose_hints,
    "nothing is reconciled": _never_reconcile,
    "attempts are counted per drive": _count_attempts_per_drive,
    "start without the lock": _start_without_the_lock,
    "fence without the lock": _check_the_fence_without_the_lock,
}
