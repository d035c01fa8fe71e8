"""Whoever did something is told so, also when those who watch cannot be told any more."""

import pytest

from app.domain.errors import StoreUnavailable
from app.domain.run import RunStatus
from app.store import transacting
from tests.support.store_world import StoreWorld


@pytest.mark.req("DUR-12")
async def test_a_cancel_is_answered_though_the_top_cannot_be_shown_it(
    world: StoreWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = await world.drive()
    middle = await world.spawn(top)
    below = await world.spawn(middle)
    await world.ask(below, "c1", gated=["c1"])
    tried: list[str] = []

    async def is_away(thread_id: str, *_: object) -> None:
        tried.append(thread_id)
        raise StoreUnavailable("Postgres did not answer")

    monkeypatch.setattr(transacting, "show_in_root", is_away)
    ended = await world.store.cancel(below.thread.id, below.run.id)

    assert tried == [top.thread.id]
    assert ended is not None
    assert ended.status is RunStatus.CANCELLED
