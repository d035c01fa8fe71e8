"""Seconds in which a machine ran: a shared one stands still for moments, and nothing happens then.

What has to happen within so many seconds is measured in these.
"""

import threading
import time
from typing import Final

_TICK_S: Final = 0.02
_UNNOTICED_S: Final = 0.1
"""Whoever sleeps for a tick and comes back later than this has been kept from it."""


class _Watch:
    """Sleeps for a tick, again and again, and notes when it overslept (``time.time``)."""

    def __init__(self) -> None:
        self._stood_still: list[tuple[float, float]] = []
        self._woken = time.time()
        threading.Thread(target=self._run, name="standstill", daemon=True).start()

    def within(self, begun: float, ended: float) -> float:
        """Return how many seconds of this stretch the machine stood still."""
        just_now = (self._woken, time.time())  # the watch may not have been woken yet
        return sum(
            max(0.0, min(ended, until) - max(begun, since))
            for since, until in [*self._stood_still, just_now]
            if until - since > _UNNOTICED_S
        )

    def _run(self) -> None:
        while True:
            time.sleep(_TICK_S)
            now = time.time()
            if now - self._woken > _UNNOTICED_S:
                self._stood_still.append((self._woken, now))
            self._woken = now


_watches: list[_Watch] = []


def watch_for_standstills() -> None:
    """Begin to watch this process; what is measured from now on leaves standstills out."""
    if not _watches:
        _watches.append(_Watch())


def seconds_since(moment: float) -> float:
    """Return how long ago a ``time.time`` is, without what the machine stood still meanwhile.

    Raises:
        IndexError: nobody watches.
    """
    now = time.time()
    return now - moment - _watches[0].within(moment, now)
