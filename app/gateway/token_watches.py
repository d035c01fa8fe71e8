"""Which threads' tokens are heard, kept equal to which are wanted.

Watching takes a round trip, and feeds come and go faster: each thread has one task at
most, which goes on until what is and what is wanted agree.  Order of set-up: watch
first, then read the text so far, so no token falls between the two.  What fails is
tried again at the next ``retry``; text is never worth an error.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.ports import ShownText, TokenSource
from app.gateway.tasks import Tasks

OnShown = Callable[[str, Sequence[ShownText]], None]

_log = logging.getLogger(__name__)
_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _Watch:
    is_wanted: bool = False
    is_heard: bool = False
    needs_text: bool = False
    is_busy: bool = False

    @property
    def is_settled(self) -> bool:
        return self.is_wanted == self.is_heard and not (self.is_wanted and self.needs_text)


class TokenWatches:
    """The threads whose tokens somebody wants."""

    def __init__(self, source: TokenSource, tasks: Tasks, on_shown: OnShown) -> None:
        self._source = source
        self._tasks = tasks
        self._on_shown = on_shown
        self._watches: dict[str, _Watch] = {}

    def want(self, thread_id: str, *, wanted: bool) -> None:
        """Hear this thread, or hear it no more."""
        watch = self._watches.get(thread_id)
        if watch is None:
            if not wanted:
                return
            watch = self._watches[thread_id] = _Watch()
        watch.is_wanted = wanted
        self._settle(thread_id, watch)

    def refill(self, thread_id: str) -> None:
        """Read the text so far again: something is missing."""
        watch = self._watches.get(thread_id)
        if watch is not None:
            watch.needs_text = True
            self._settle(thread_id, watch)

    def refill_all(self) -> None:
        """Read every text so far again."""
        for thread_id in tuple(self._watches):
            self.refill(thread_id)

    def retry(self) -> None:
        """Try again what has failed."""
        for thread_id, watch in tuple(self._watches.items()):
            self._settle(thread_id, watch)

    def _settle(self, thread_id: str, watch: _Watch) -> None:
        if not watch.is_busy and not watch.is_settled:
            watch.is_busy = True
            self._tasks.spawn(self._work(thread_id, watch), f"tokens of {thread_id}")

    async def _work(self, thread_id: str, watch: _Watch) -> None:
        try:
            while not watch.is_settled:
                async with asyncio.timeout(_TIMEOUT_S):
                    await self._step(thread_id, watch)
        except Exception:  # noqa: BLE001 - whatever a source raises, facts go on without tokens
            watch.needs_text = True
            _log.warning("tokens of thread %s are not heard just now", thread_id, exc_info=True)
        finally:
            watch.is_busy = False
            if watch.is_settled and not watch.is_wanted:
                self._watches.pop(thread_id, None)

    async def _step(self, thread_id: str, watch: _Watch) -> None:
        if not watch.is_wanted:
            await self._source.unwatch(thread_id)
            watch.is_heard = False
        elif not watch.is_heard:
            await self._watch(thread_id)
            watch.is_heard = watch.needs_text = True
        else:
            watch.needs_text = False
            self._on_shown(thread_id, await self._source.shown(thread_id))

    async def _watch(self, thread_id: str) -> None:
        try:
            await self._source.watch(thread_id)
        except BaseException:
            await self._source.unwatch(thread_id)  # it may have begun; sources count
            raise
