"""The system's time and chance, as the ports that the rings are handed."""

import secrets
import time

from app.domain.ids import uuid7

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's counts suspend; on macOS the monotonic clock is the nearest there is."""


class SystemClock:
    """Implements ``app.domain.ports.Clock``."""

    def boot_s(self) -> float:
        """See ``Clock.boot_s``."""
        return time.clock_gettime(_BOOT)

    def unix_ms(self) -> int:
        """See ``Clock.unix_ms``."""
        return time.time_ns() // 1_000_000


class SystemIds:
    """Implements ``app.domain.ports.Ids``: version 7 UUIDs."""

    def new(self) -> str:
        """See ``Ids.new``."""
        return uuid7(time.time_ns() // 1_000_000, secrets.randbits(74))
