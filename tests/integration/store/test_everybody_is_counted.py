"""The census knows every unfinished run by its status, and the workers."""

from collections.abc import AsyncIterator

import pytest

from app.domain.ports import OnBusy
from app.domain.run import Ending
from app.store.census import count_everybody
from app.store.database import Database
from tests.support.store_world import StoreWorld


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url, size=2) as made:
        yield made


@pytest.mark.req("IMP-33")
async def test_unfinished_runs_are_counted_by_status(database: Database, world: StoreWorld) -> None:
    nobody = await count_everybody(database)
    await world.register("worker-1", ["support"])
    await world.drive(thread_key="busy")
    await world.start(thread_key="busy", on_busy=OnBusy.QUEUE)
    parked = await world.drive()
    await world.ask(parked, "call_1", gated=["call_1"])
    await world.park(parked, "call_1")
    ended = await world.drive()
    await world.store.finish(ended.fence, Ending.completed("final"), None)
    for _ in range(2):
        await world.start()

    census = await count_everybody(database)

    assert set(nobody.runs.values()) == {0}
    assert nobody.workers == 0
    assert census.runs == {
        "pending": 1,
        "queued": 2,
        "running": 1,
        "awaiting_input": 1,
        "waiting": 0,
    }
    assert census.workers == 1
