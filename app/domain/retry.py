"""How long to wait before trying again."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a body may be started, and how long to wait in between.

    ``attempts`` counts the first one.
    """

    attempts: int = 3
    base: timedelta = timedelta(milliseconds=500)
    cap: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        """Refuse a policy that could never start a body."""
        if self.attempts < 1:
            raise ValueError(f"attempts counts the first one, got {self.attempts}")
        if self.base <= timedelta(0) or self.cap < self.base:
            raise ValueError("base must be positive and cap not below it")


def next_delay(policy: RetryPolicy, attempt: int, *, jitter: float) -> timedelta:
    """Return how long to wait before ``attempt``.

    Exponential with full jitter: uniform over ``[0, base * 2**(attempt - 2)]``, capped.

    Args:
        policy: the step's policy.
        attempt: the attempt about to be made, counted from 1; the first never waits.
        jitter: in ``[0, 1)``.  The caller draws it, so that this stays pure.

    Raises:
        ValueError: ``attempt`` is below 1.

    Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
    """
    if attempt < 1:
        raise ValueError(f"attempt counts from 1, got {attempt}")
    if attempt == 1:
        return timedelta(0)
    return min(policy.base * (1 << min(attempt - 2, 30)), policy.cap) * jitter
