"""A provider's failure is tried again or told in words; what was already seen is kept."""

import pytest
from pydantic_ai.exceptions import (
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import Agent
from app.domain.run import RunStatus
from app.domain.thread import ThreadStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.scripted_model import Says, ScriptedModel

__all__ = ["no_backoff"]

WORDS = " ".join(f"word{n}" for n in range(200))
RATE_LIMITED = ModelRateLimitError("gpt", "slow down")
REFUSED = ModelHTTPError.for_category(
    category=ModelRequestRejectedError,
    status_code=400,
    model_name="gpt",
    body={"error": {"message": "Your request was rejected by our policy.", "type": "policy"}},
)


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_failure_that_passes_is_tried_again_inside_the_step(streaming: bool) -> None:  # noqa: FBT001  # a parameter
    model = ScriptedModel(Says("It works.", error=RATE_LIMITED, failures=4))
    async with AgentWorld(Agent(model=model), streaming=streaming) as world:
        run = await world.answered()

    assert (run.stopped, len(model.requests), run.usage.requests) == ("final", 5, 1)
    assert world.said()[1:] == [("assistant", "complete", "It works.")]


async def test_a_failure_that_does_not_pass_fails_the_run_in_words_on_the_thread() -> None:
    model = ScriptedModel(Says(error=RATE_LIMITED))
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert len(model.requests) == 5
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.code == "MODEL_RATE_LIMITED"
    assert run.error.message == "the model gpt has a rate limit, which was reached: slow down"
    assert (world.thread().status, world.thread().error) == (ThreadStatus.FAILED, run.error)


async def test_a_model_that_breaks_out_fails_its_run_and_not_its_worker() -> None:
    class Outlandish(BaseException):
        pass

    model = ScriptedModel(Says(error=Outlandish("no")))
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.message == "the model request failed: the model broke out with Outlandish: no"


async def test_text_that_was_seen_before_a_refusal_is_kept() -> None:
    model = ScriptedModel(Says(WORDS, error=REFUSED))
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert len(model.requests) == 1
    assert run.error is not None
    assert (run.error.code, run.error.message) == (
        "MODEL_REJECTED",
        "the model gpt rejected the request: Your request was rejected by our policy.",
    )
    assert world.said()[1:] == [("assistant", "interrupted", WORDS)]


async def test_the_next_run_reads_the_text_that_was_cut_off() -> None:
    model = ScriptedModel(Says("Half a sent", error=REFUSED), "Whole.")
    async with AgentWorld(Agent(model=model)) as world:
        await world.answered("go")
        again = await world.answered("go on")

    assert again.stopped == "final"
    assert [type(message).__name__ for message in model.requests[-1]] == [
        "ModelRequest",
        "ModelResponse",
        "ModelRequest",
    ]
    answer = model.requests[-1][1]
    assert isinstance(answer, ModelResponse)
    assert answer.text == "Half a sent"


async def test_a_bug_in_a_model_fails_the_run_and_nothing_else() -> None:
    model = ScriptedModel(Says(error=ZeroDivisionError("division by zero")))
    async with AgentWorld(Agent(model=model)) as world:
        run = await world.answered()

    assert len(model.requests) == 3
    assert run.error is not None
    assert (run.error.code, run.error.message) == (
        "MODEL_FAILED",
        "the model request failed: division by zero",
    )


async def test_a_retry_shows_its_words_instead_of_those_of_the_failed_try() -> None:
    failing = Says("One two three", error=ModelServerError("m", "500"), failures=2)
    model = ScriptedModel(failing)
    shown: list[tuple[int, str]] = []
    async with AgentWorld(Agent(model=model)) as world:
        show = world.journal.show

        def spying(thread_id: str, epoch: int, text: object) -> None:
            shown.append((text.attempt, text.text))  # type: ignore[attr-defined]  # a ShownText
            show(thread_id, epoch, text)  # type: ignore[arg-type]  # a ShownText

        vars(world.journal)["show"] = spying
        await world.answered()

    assert [attempt for attempt, text in shown if text == "One two three"] == [101, 102, 103]


async def test_an_answer_that_was_filtered_away_is_a_failure() -> None:
    async def filtered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        return ModelResponse(parts=[], finish_reason="content_filter")

    async with AgentWorld(Agent(model=FunctionModel(filtered)), streaming=False) as world:
        run = await world.answered()

    assert run.error is not None
    assert run.error.code == "MODEL_FILTERED"


async def test_a_model_that_cannot_stream_is_asked_in_one_piece() -> None:
    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        return ModelResponse(parts=[])

    async with AgentWorld(Agent(model=FunctionModel(whole))) as world:
        run = await world.answered()

    assert run.stopped == "final"
