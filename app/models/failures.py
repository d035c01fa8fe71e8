"""What a provider's failure means: whether to try again, how long to wait, what to tell people.

Rate limits, overload, server faults and broken connections pass: they are tried
again with backoff and jitter, and ``Retry-After`` is honoured.  A rejected request,
an exhausted quota or a wrong key does not: it fails at once, in a sentence that a
person can act on.  The provider's SDK must not retry too (``max_retries=0``), or
the attempts would multiply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)

from app.domain.errors import AgentFault
from app.domain.retry import RetryPolicy, next_delay

BACKOFF: Final = RetryPolicy(attempts=5, base=timedelta(seconds=1), cap=timedelta(seconds=30))
LONGEST_WAIT: Final = timedelta(minutes=2)  # beyond it a person would rather read the error
_SHOWN_CHARACTERS: Final = 400


class ModelNotConfigured(AgentFault):
    """A model cannot be used on this machine: an extra, a key or the model itself is missing."""

    code = "MODEL_NOT_CONFIGURED"


class EmptyAnswer(Exception):
    """The model said nothing at all, and called nothing."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure, understood.

    Attributes:
        code: stable, for programs.
        message: for people.
        attempts: how often a request that fails like this is sent, the first one included.
        retry_after: how long the provider asked to wait.
    """

    code: str
    message: str
    attempts: int = 1
    retry_after: timedelta | None = None


class ModelFailed(AgentFault):
    """A model request failed; ``failure`` says what that means."""

    code = "MODEL_FAILED"

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure

    @classmethod
    def after(cls, error: BaseException) -> "ModelFailed":
        """Return it for whatever the request raised."""
        return cls(understand(error))


_KINDS: Final[tuple[tuple[type[Exception], str, str, int], ...]] = (
    (ModelRateLimitError, "MODEL_RATE_LIMITED", "has a rate limit, which was reached", 5),
    (ModelUnavailableError, "MODEL_UNAVAILABLE", "is overloaded or down", 5),
    (ModelServerError, "MODEL_UNAVAILABLE", "failed on its provider's side", 5),
    (ModelTimeoutError, "MODEL_TIMEOUT", "did not answer in time", 3),
    (ModelRequestTimeout, "MODEL_TIMEOUT", "did not answer in time", 2),
    (ModelConnectionError, "MODEL_UNAVAILABLE", "could not be reached, or broke off", 5),
    (ModelQuotaExceededError, "MODEL_QUOTA_EXCEEDED", "has no quota or credit left", 1),
    (ModelAuthenticationError, "MODEL_UNAUTHORIZED", "refuses the key that is configured", 1),
    (ModelNotFoundError, "MODEL_NOT_FOUND", "is not known to its provider", 1),
    (ModelContextWindowExceededError, "MODEL_CONTEXT_EXCEEDED", "cannot read so much at once", 1),
    (ModelRequestRejectedError, "MODEL_REJECTED", "rejected the request", 1),
    (ContentFilterError, "MODEL_FILTERED", "was stopped by its provider's content filter", 1),
    (ModelAPIError, "MODEL_FAILED", "failed", 3),
    (UnexpectedModelBehavior, "MODEL_FAILED", "answered something that makes no sense", 3),
)
"""Exception, code, what to say of the model, attempts; the first that fits counts."""


def understand(error: BaseException) -> Failure:
    """Return what the failure of a model request means."""
    if isinstance(error, ModelFailed):
        return error.failure
    if isinstance(error, FallbackExceptionGroup):
        return _all_of_them([understand(inner) for inner in error.exceptions])
    if isinstance(error, ModelNotConfigured):
        return Failure(error.code, error.message)
    if isinstance(error, EmptyAnswer):
        return Failure("MODEL_EMPTY", "the model answered nothing", attempts=2)
    if isinstance(error, UserError):
        return Failure("MODEL_NOT_CONFIGURED", error.message)
    for kind, code, happened, attempts in _KINDS:
        if isinstance(error, kind):
            return Failure(
                code,
                f"{_named(error)} {happened}{_in_the_providers_words(error)}",
                1 if _must_not_retry(error) else attempts,
                _retry_after(error),
            )
    return Failure("MODEL_FAILED", f"the model request failed: {_short(str(error))}", attempts=3)


def delay_after(error: Exception, attempt: int, jitter: float) -> timedelta | None:
    """Return how long to wait before the next request, or ``None`` to give up.

    Args:
        error: what the request failed with.
        attempt: the one that failed, counted from 1.
        jitter: in ``[0, 1)``.
    """
    failure = understand(error)
    if attempt >= failure.attempts:
        return None
    backoff = next_delay(BACKOFF, attempt + 1, jitter=jitter)
    if failure.retry_after is None:
        return backoff
    if failure.retry_after > LONGEST_WAIT:
        return None
    # Many runs are told the same second: the jitter keeps them from coming back together.
    return failure.retry_after + min(backoff, timedelta(seconds=1))


def _all_of_them(failures: list[Failure]) -> Failure:
    """Return the failure of a chain of models: worth another try if one of them is."""
    longest = max(failures, key=lambda failure: failure.attempts)
    return Failure(
        longest.code,
        "; ".join(failure.message for failure in failures),
        longest.attempts,
        longest.retry_after,
    )


def _named(error: BaseException) -> str:
    return f"the model {error.model_name}" if isinstance(error, ModelAPIError) else "the model"


def _must_not_retry(error: BaseException) -> bool:
    return isinstance(error, ModelHTTPError) and error.provider_retry_hint is False


def _retry_after(error: BaseException) -> timedelta | None:
    seconds = error.retry_after if isinstance(error, ModelAPIError) else None
    return None if seconds is None else timedelta(seconds=seconds)


def _in_the_providers_words(error: BaseException) -> str:
    body = error.body if isinstance(error, ModelAPIError) else None
    said = _message_in(body)
    if said is None and not isinstance(error, ModelHTTPError):
        said = str(error)
    return f": {_short(said)}" if said else ""


def _message_in(body: object) -> str | None:
    """Return the sentence in a provider's error body, wherever that provider puts it."""
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return None
    message = body.get("message")
    if isinstance(message, str):
        return message
    return _message_in(body.get("error"))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
