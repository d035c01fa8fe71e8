"""A thread has one unfinished run: of many starts at once, one wins and the others are told."""

import asyncio

import pytest

from app.domain.errors import Conflict, InvalidArgument
from app.domain.ports import StartedRun
from app.domain.run import Ending
from tests.support.store_world import StoreWorld, a_start

pytestmark = pytest.mark.req("RUN-13")


async def _starts(world: StoreWorld, key: str) -> tuple[list[StartedRun], list[Conflict]]:
    results = await asyncio.gather(
        *(world.start(thread_key=key) for _ in range(20)), return_exceptions=True
    )
    return (
        [result for result in results if isinstance(result, StartedRun)],
        [result for result in results if isinstance(result, Conflict)],
    )


async def test_twenty_starts_on_a_new_thread(world: StoreWorld) -> None:
    won, lost = await _starts(world, "new")

    (winner,) = won
    assert len(lost) == 19
    assert {conflict.data and conflict.data["runId"] for conflict in lost} == {winner.run_id}
    assert [row.seq for row in await world.store.history(winner.thread_id)] == [1]
    assert world.around.rung == [winner.run_id]


async def test_twenty_starts_on_a_free_thread(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)

    won, lost = await _starts(world, claimed.thread.key)

    assert (len(won), len(lost)) == (1, 19)
    assert [row.seq for row in await world.store.history(claimed.thread.id)] == [1, 2]


async def test_the_same_start_sent_at_once_starts_one_run(world: StoreWorld) -> None:
    for _ in range(20):
        start = a_start()

        answers = await asyncio.gather(*(world.store.start(start) for _ in range(4)))

        assert answers == [answers[0]] * 4
        assert len(await world.store.history(start.thread_id)) == 1


async def test_an_id_is_of_one_thread(world: StoreWorld) -> None:
    started = await world.start()

    with pytest.raises(InvalidArgument, match="another key"):
        await world.start(thread_id=started.thread_id, thread_key="another")
