"""What was looked up a moment ago, so that judging a token costs the database next to nothing.

Laws: a value is used for ``FRESH_S`` after it was asked for, and an answer that is older only
while nobody can say; many callers at once share one question; what is held is bounded.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from app.domain.errors import TransientFault

FRESH_S: Final = 5.0
"""With the recheck of live sockets (12 s) and their grace (10 s) this keeps a promise of 30 s."""

STALE_S: Final = 300.0
"""For so long the last answer goes on while the store is away."""

COOL_DOWN_S: Final = 1.0
"""A store that did not answer is left alone for so long."""

PATIENCE_S: Final = 2.0
"""A store that takes longer counts as away: everybody waits for its answer."""

MAX_ENTRIES: Final = 10_000

log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")


class _Entry(Generic[V]):
    """One question: its answer, and when it was asked."""

    __slots__ = ("answered_at", "failed_at", "lock", "value")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.value: V | None = None
        self.answered_at = float("-inf")
        self.failed_at = float("-inf")


class Remembered(Generic[K, V]):
    """Answers of ``look_up``, by what was asked."""

    def __init__(self, look_up: Callable[[K], Awaitable[V]], *, clock: Callable[[], float]) -> None:
        """Hold nothing yet.  ``clock`` says in seconds how old an answer is."""
        self._look_up = look_up
        self._clock = clock
        self._entries: dict[K, _Entry[V]] = {}

    async def get(self, asked: K) -> V:
        """Return the answer.

        Raises:
            TransientFault: nobody can say just now.
        """
        entry = self._entries.get(asked)
        if entry is None:
            while len(self._entries) >= MAX_ENTRIES:
                del self._entries[next(iter(self._entries))]
            entry = self._entries[asked] = _Entry()
        if not self._is_fresh(entry):
            async with entry.lock:
                if not self._is_fresh(entry):
                    await self._ask(entry, asked)
        if self._clock() - entry.answered_at > STALE_S:
            raise TransientFault("nobody can say just now whose token this is")
        return entry.value  # type: ignore[return-value]  # it was answered: see answered_at

    def _is_fresh(self, entry: _Entry[V]) -> bool:
        now = self._clock()
        return now - entry.answered_at < FRESH_S or now - entry.failed_at < COOL_DOWN_S

    async def _ask(self, entry: _Entry[V], asked: K) -> None:
        asked_at = self._clock()
        try:
            async with asyncio.timeout(PATIENCE_S):
                entry.value = await self._look_up(asked)
        except (TransientFault, TimeoutError) as error:
            log.warning("who may come in is judged by what was known before: %r", error)
            entry.failed_at = self._clock()
        else:
            entry.answered_at = asked_at
