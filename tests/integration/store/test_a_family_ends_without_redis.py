"""A Redis that does not answer holds up an end once, however many children end with it."""

import asyncio

import pytest

from app.domain.errors import JournalUnavailable
from app.domain.ports import Salvage
from app.domain.run import RunStatus
from app.testing.memory_journal import MemoryJournal
from tests.support.store_world import StoreWorld, a_child

CHILDREN = 30

pytestmark = pytest.mark.req("DUR-12")


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A Redis that takes what it is sent and says nothing; what it was asked is kept."""
    asked: list[str] = []

    async def hang(_: MemoryJournal, thread_id: str, epoch: int) -> Salvage:
        asked.append(f"{thread_id} {epoch}")
        await asyncio.sleep(0.25)
        raise JournalUnavailable("Redis did not answer")

    monkeypatch.setattr(MemoryJournal, "close", hang)
    monkeypatch.setattr(MemoryJournal, "drop", hang)
    return asked


async def test_a_family_ends_in_the_time_of_one(world: StoreWorld, hung: list[str]) -> None:
    parent = await world.drive()
    children = [a_child(parent, f"call_{n}") for n in range(CHILDREN)]
    for child in children:
        assert await world.store.spawn(parent.fence, child)

    assert await world.store.cancel(parent.thread.id, parent.run.id)

    assert len(hung) == 2  # once under the lock, once after it
    for child in children:
        assert (await world.run(child.run_id)).status is RunStatus.CANCELLED
