"""A step: one named unit, started at least once and completed at most once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final, Literal, TypeAlias

from app.domain.errors import AgentFault
from app.domain.record import NO_WRITES, Writes
from app.domain.retry import RetryPolicy, next_delay
from app.domain.run import Fence


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""What ``DurableRun.recorded`` answers for a step that has not finished."""

Missing: TypeAlias = Literal[_Missing.MISSING]


class StepTimedOut(AgentFault):
    """A body took longer than its step's ``timeout``."""

    def __init__(self, step: str, after: timedelta) -> None:
        super().__init__(f"{step} took longer than {after.total_seconds():g} s")


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a body may know of the step that it is.

    Attributes:
        attempt: counted from 1 within this drive.
        idempotency_key: ``RUN/STEP``; the same across attempts and takeovers,
            different across runs.  Give it to whatever has a side effect.
    """

    name: str
    attempt: int
    idempotency_key: str
    fence: Fence


@dataclass(frozen=True, slots=True)
class Tried:
    """What a body came to, after how many attempts and seconds."""

    result: "StepResult"
    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a body returns: a JSON-able value, and what else is stored with it."""

    value: object
    writes: Writes = NO_WRITES


Body: TypeAlias = Callable[[StepContext], Awaitable[StepResult]]
DelayAfter: TypeAlias = Callable[[Exception, int, float], timedelta | None]


def retry_any(policy: RetryPolicy) -> DelayAfter:
    """Return a rule that retries every failure until the policy's attempts are used up."""

    def delay_after(error: Exception, attempt: int, jitter: float) -> timedelta | None:
        del error
        return next_delay(policy, attempt + 1, jitter=jitter) if attempt < policy.attempts else None

    return delay_after


def never_retry(error: Exception, attempt: int, jitter: float) -> timedelta | None:
    """Give up after the first failure."""
    del error, attempt, jitter
    return None


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """How a step is tried.

    Attributes:
        delay_after: asked with (error, the attempt that failed, jitter in ``[0, 1)``);
            answers how long to wait before the next attempt, or ``None`` for no more.
        timeout: bound of one attempt.
        releasable: whether a shutdown may cut the body off at once (a model request);
            otherwise it gets the drain time (a tool).
        exhausted: turns the last failure into a value, which is then recorded like any
            other.  Without it the failure is not a step: it fails the run.
    """

    delay_after: DelayAfter = never_retry
    timeout: timedelta | None = None
    releasable: bool = False
    exhausted: Callable[[Exception], StepResult] | None = None


DEFAULT_POLICY = StepPolicy()
