"""A tool's result is stored as finished or as interrupted, never as both and never as neither."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from app.domain.message import MessageStatus
from app.domain.ports import Recorded
from app.domain.run import RunStatus
from tests.support.store_world import StoreWorld, a_result

pytestmark = pytest.mark.req("RUN-03", "DUR-03")

ROUNDS = 48

T = TypeVar("T")


async def test_cancels_race_with_records(world: StoreWorld) -> None:
    async def one_round(number: int) -> None:
        claimed = await world.drive()
        fence = claimed.fence
        await world.ask(claimed, "call_1")
        recorded, run = await asyncio.gather(
            _after(number % 4, world.store.record(fence, a_result(fence, 0, 0, "call_1"))),
            _after(number // 4 % 4, world.store.cancel(claimed.thread.id, claimed.run.id)),
        )
        row = (await world.store.history(claimed.thread.id))[-1]
        expected = MessageStatus.COMPLETE if recorded else MessageStatus.INTERRUPTED
        assert run is not None
        assert run.status is RunStatus.CANCELLED
        assert row.status is expected

    await asyncio.gather(*(one_round(number) for number in range(ROUNDS)))


async def test_what_is_in_the_journal_is_finished_whoever_comes_first(world: StoreWorld) -> None:
    """The drive has journalled a result and is about to record it when somebody cancels."""

    async def one_round(number: int) -> None:
        claimed = await world.drive()
        fence, result = claimed.fence, a_result(claimed.fence, 0, 0, "call_1", "charged")
        await world.ask(claimed, "call_1")
        await world.around.journal.open(fence)
        await world.around.journal.complete(fence, result, [])
        answers = await asyncio.gather(
            _after(number % 4, world.store.record(fence, result)),
            _after(number // 4 % 4, world.store.cancel(claimed.thread.id, claimed.run.id)),
        )
        row = (await world.store.history(claimed.thread.id))[-1]
        assert isinstance(answers[0], Recorded | None)
        assert (row.status, row.parts[0]["output"]) == (MessageStatus.COMPLETE, "charged")

    await asyncio.gather(*(one_round(number) for number in range(ROUNDS)))


async def _after(turns: int, call: Awaitable[T]) -> T:
    """Begin a few turns of the loop later, so that either may come first."""
    for _ in range(turns):
        await asyncio.sleep(0)
    return await call
