"""What each provider's faults become: tried again, or one readable sentence on the thread (B46)."""

import socket
from typing import Any

import pytest

from app import Agent
from app.domain.run import RunStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.provider_servers import Answers, Refuses, a_model, serving

__all__ = ["no_backoff"]

pytestmark = pytest.mark.parametrize("provider", ["openai", "anthropic"])

WORDS = " ".join(f"word{n}" for n in range(200))
FINE = Answers("All is well.")


def fault(kind: str, message: str) -> dict[str, Any]:
    """Return an error body that both providers' clients read."""
    return {"type": "error", "error": {"type": kind, "code": kind, "message": message}}


RATE_LIMIT = Refuses(429, fault("rate_limit_error", "Slow down."), {"retry-after-ms": "1"})


@pytest.mark.parametrize(
    "failing",
    [
        pytest.param(RATE_LIMIT, id="429"),
        pytest.param(Refuses(500, fault("api_error", "Oops.")), id="500"),
        pytest.param(Refuses(503, fault("overloaded_error", "Busy.")), id="503"),
        pytest.param(Answers(WORDS, broken_off=True), id="dropped-mid-stream"),
        pytest.param(
            Answers(WORDS, stream_error={"type": "overloaded_error", "message": "Overloaded"}),
            id="overloaded-mid-stream",
        ),
        pytest.param(
            Answers(
                WORDS,
                stream_error={
                    "type": "rate_limit_error",
                    "code": "rate_limit_exceeded",
                    "message": "Slow down.",
                },
            ),
            id="429-mid-stream",
        ),
    ],
)
async def test_b46_what_passes_is_tried_again(provider: str, failing: Answers | Refuses) -> None:
    async with (
        serving(provider, failing, failing, FINE) as (model, server),
        AgentWorld(Agent(model=model)) as world,
    ):
        run = await world.answered()

    assert (run.status, run.error) == (RunStatus.COMPLETED, None)
    assert len(server.requests) == 3  # the provider's SDK has not tried again by itself
    assert world.said()[1:] == [("assistant", "complete", "All is well.")]


@pytest.mark.parametrize(
    ("failing", "code", "words", "requests"),
    [
        pytest.param(
            Refuses(400, fault("invalid_request_error", "Your prompt was rejected by our policy.")),
            "MODEL_REJECTED",
            "Your prompt was rejected by our policy.",
            1,
            id="400",
        ),
        pytest.param(
            Refuses(401, fault("authentication_error", "Invalid key.")),
            "MODEL_UNAUTHORIZED",
            "Invalid key.",
            1,
            id="401",
        ),
        pytest.param(
            Refuses(404, fault("not_found_error", "No such model.")),
            "MODEL_NOT_FOUND",
            "No such model.",
            1,
            id="404",
        ),
        pytest.param(
            Refuses(402, fault("billing_error", "No credit.")),
            "MODEL_QUOTA_EXCEEDED",
            "No credit.",
            1,
            id="402",
        ),
        pytest.param(RATE_LIMIT, "MODEL_RATE_LIMITED", "Slow down.", 5, id="429-for-ever"),
        pytest.param(
            Refuses(429, fault("rate_limit_error", "Tomorrow."), {"retry-after": "3600"}),
            "MODEL_RATE_LIMITED",
            "Tomorrow.",
            1,
            id="429-for-an-hour",
        ),
    ],
)
async def test_b46_what_does_not_pass_fails_the_run_in_the_providers_words(
    provider: str, failing: Refuses, code: str, words: str, requests: int
) -> None:
    async with (
        serving(provider, failing) as (model, server),
        AgentWorld(Agent(model=model)) as world,
    ):
        run = await world.answered()

    assert len(server.requests) == requests
    assert run.error is not None
    assert run.error.code == code
    assert run.error.message.endswith(words)
    assert "{" not in run.error.message
    assert world.thread().error == run.error


async def test_b46_text_that_was_seen_before_the_end_is_kept(provider: str) -> None:
    async with (
        serving(provider, Answers(WORDS, broken_off=True)) as (model, server),
        AgentWorld(Agent(model=model)) as world,
    ):
        run = await world.answered()

    assert len(server.requests) == 5
    assert run.error is not None
    assert run.error.code == "MODEL_UNAVAILABLE"
    assert world.said()[1:] == [("assistant", "interrupted", WORDS)]


async def test_a_provider_that_is_not_there_is_said_to_be_out_of_reach(provider: str) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}"
        async with a_model(provider, url) as model, AgentWorld(Agent(model=model)) as world:
            run = await world.answered()

    assert run.error is not None
    assert run.error.code == "MODEL_UNAVAILABLE"
    assert "could not be reached" in run.error.message
