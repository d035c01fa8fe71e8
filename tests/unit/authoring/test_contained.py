"""What code of a team may let out of the place it was called in."""

import asyncio

import pytest

from app.authoring.contained import BrokeOut, contained
from app.domain.errors import FenceLost, RunParked


class Outlandish(BaseException):
    """No failure that anybody expects."""


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("plain"),
        FenceLost(),
        RunParked(),
        BaseExceptionGroup("mixed", [Outlandish(), BaseExceptionGroup("in", [RunParked()])]),
    ],
)
def test_failures_and_what_the_engine_raises_pass_as_they_are(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as caught, contained("it"):
        raise raised
    assert caught.value is raised


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt(1), Outlandish(1)])
def test_what_is_no_failure_becomes_one(raised: BaseException) -> None:
    said = f"^it broke out with {type(raised).__name__}: 1$"
    with pytest.raises(BrokeOut, match=said), contained("it"):
        raise raised


async def test_a_cancellation_that_was_asked_for_passes() -> None:
    async def wait() -> None:
        with contained("it"):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stray_cancellation_is_a_failure() -> None:
    with pytest.raises(RuntimeError, match="was cancelled"), contained("it"):
        raise asyncio.CancelledError
