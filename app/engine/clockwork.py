"""Turns the crons: says which of them this worker's code declares, and lets due slots come.

What a slot starts is a timer or a scheduled call like any other, fired by whoever looks next.
"""

from app.domain.cron import Deck
from app.domain.ports import Clock
from app.domain.ports.schedules import CronStore

HOLD_EVERY_S = 10.0
"""Well below the time after which nobody is taken to hold a deck."""
BITE = 100


class Clockwork:
    """One in every worker; the sweeper turns it."""

    def __init__(self, store: CronStore, deck: Deck, clock: Clock) -> None:
        self._store = store
        self._deck = deck
        self._clock = clock
        self._hold_due: float | None = None

    async def turn(self) -> None:
        """Bring the crons up to this moment."""
        now = self._clock.boot_s()
        if self._hold_due is None or now >= self._hold_due:
            await self._store.hold(self._deck, arriving=self._hold_due is None)
            self._hold_due = now + HOLD_EVERY_S
        while await self._store.advance(BITE) == BITE:
            pass
