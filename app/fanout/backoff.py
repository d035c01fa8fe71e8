"""How long to wait before connecting again."""

import random
from datetime import timedelta

from app.domain.retry import RetryPolicy, next_delay

_RECONNECT = RetryPolicy(base=timedelta(milliseconds=50), cap=timedelta(seconds=1))


def reconnect_after_s(failures: int) -> float:
    """Return seconds to wait after this many failures in a row, at most 1."""
    jitter = random.random()  # noqa: S311 - spreads processes out, guards no secret
    return next_delay(_RECONNECT, failures + 1, jitter=jitter).total_seconds()
