"""A fault that passes is tried again, one that does not fails at once, in words."""

from datetime import timedelta

import pytest
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    UnexpectedModelBehavior,
    UserError,
)

from app.models.failures import LONGEST_WAIT, EmptyAnswer, delay_after, understand

RATE_LIMITED = ModelHTTPError.for_category(
    category=ModelRateLimitError,
    status_code=429,
    model_name="gpt",
    body={"error": {"message": "Rate limit reached for requests"}},
    headers={"Retry-After": "7"},
)


@pytest.mark.parametrize(
    ("error", "code", "attempts"),
    [
        pytest.param(RATE_LIMITED, "MODEL_RATE_LIMITED", 5, id="rate-limit"),
        pytest.param(ModelOverloadedError("m", "busy"), "MODEL_UNAVAILABLE", 5, id="overload"),
        pytest.param(ModelServerError("m", "500"), "MODEL_UNAVAILABLE", 5, id="server"),
        pytest.param(ModelConnectionError("m", "reset"), "MODEL_UNAVAILABLE", 5, id="connection"),
        pytest.param(ModelQuotaExceededError("m", "x"), "MODEL_QUOTA_EXCEEDED", 1, id="quota"),
        pytest.param(ModelAuthenticationError("m", "x"), "MODEL_UNAUTHORIZED", 1, id="key"),
        pytest.param(
            ModelContextWindowExceededError("m", "x"), "MODEL_CONTEXT_EXCEEDED", 1, id="long"
        ),
        pytest.param(ModelRequestRejectedError("m", "x"), "MODEL_REJECTED", 1, id="rejected"),
        pytest.param(UnexpectedModelBehavior("odd"), "MODEL_FAILED", 3, id="odd"),
        pytest.param(UserError("no such tool"), "MODEL_NOT_CONFIGURED", 1, id="configuration"),
        pytest.param(EmptyAnswer(), "MODEL_EMPTY", 2, id="empty"),
        pytest.param(RuntimeError("boom"), "MODEL_FAILED", 3, id="a-bug"),
    ],
)
def test_each_failure_has_a_code_and_a_number_of_attempts(
    error: Exception, code: str, attempts: int
) -> None:
    failure = understand(error)

    assert (failure.code, failure.attempts) == (code, attempts)
    assert delay_after(error, attempts, 0.5) is None
    assert attempts == 1 or delay_after(error, attempts - 1, 0.5) is not None


def test_the_message_quotes_the_provider_not_the_object() -> None:
    assert understand(RATE_LIMITED).message == (
        "the model gpt has a rate limit, which was reached: Rate limit reached for requests"
    )


def test_a_long_message_is_cut() -> None:
    assert len(understand(ModelServerError("m", "x" * 10_000)).message) < 500


def test_retry_after_is_waited_for_and_jittered_upwards() -> None:
    shortest, longest = delay_after(RATE_LIMITED, 1, 0.0), delay_after(RATE_LIMITED, 3, 0.999)

    assert shortest == timedelta(seconds=7)
    assert longest is not None
    assert timedelta(seconds=7) < longest <= timedelta(seconds=8)


def test_a_wait_that_nobody_would_sit_through_is_a_failure() -> None:
    patient = ModelRateLimitError("m", "x", retry_after=LONGEST_WAIT.total_seconds())
    endless = ModelRateLimitError("m", "x", retry_after=LONGEST_WAIT.total_seconds() + 1)

    assert delay_after(patient, 1, 0.0) is not None
    assert delay_after(endless, 1, 0.0) is None


def test_a_provider_that_says_do_not_retry_is_believed() -> None:
    told = ModelHTTPError.for_category(
        category=ModelServerError,
        status_code=500,
        model_name="m",
        headers={"x-should-retry": "false"},
    )

    assert delay_after(told, 1, 0.0) is None


def test_backoff_grows_and_is_capped() -> None:
    error = ModelServerError("m", "500")

    waits = [delay_after(error, attempt, 0.999) for attempt in (1, 2, 3, 4)]

    assert [round(wait.total_seconds()) for wait in waits if wait] == [1, 2, 4, 8]


def test_a_chain_of_models_is_worth_another_try_if_one_of_them_is() -> None:
    chain = FallbackExceptionGroup(
        "all failed", [ModelAuthenticationError("a", "x"), ModelServerError("b", "down")]
    )

    failure = understand(chain)

    assert (failure.code, failure.attempts) == ("MODEL_UNAVAILABLE", 5)
    assert "model a" in failure.message
    assert "model b" in failure.message
