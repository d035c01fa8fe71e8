"""May this worker start something?  Only while its heartbeat is being heard.

The lease is local and costs no round trip: it is the age of the last
acknowledged beat, on a clock that counts suspend.  It is shorter than the time
after which others take the runs over, so a worker that was frozen and thaws
stops here before it acts.
"""

import asyncio

from app.domain.ports import Clock

LIMIT_S = 1.5
"""Others take over after 2 s without a beat: see ``sweeper.DEAD_AFTER_S``."""


class Lease:
    """The age of the last acknowledged beat."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sent_at = float("-inf")
        self._renewed = asyncio.Event()

    def acknowledge(self, sent_at: float) -> None:
        """Note that the beat sent at this time (``Clock.boot_s``) reached the table."""
        self._sent_at = max(self._sent_at, sent_at)
        self._renewed.set()

    @property
    def is_fresh(self) -> bool:
        """Whether a body, a model request or a token flush may start now."""
        return self._clock.boot_s() - self._sent_at < LIMIT_S

    async def hold(self) -> None:
        """Return when the lease is fresh: at once, or with the next beat's answer."""
        while not self.is_fresh:
            self._renewed.clear()
            await self._renewed.wait()
