"""A nudge that is on its way to a worker that leaves is heard by another one at once."""

import asyncio

import pytest

from app.queue import worker as queue_worker
from tests.integration.queue.conftest import House
from tests.support.running import running
from tests.support.wait_until import wait_until


@pytest.mark.req("IMP-31")
@pytest.mark.parametrize("ticks", [0, 1, 2, 4, 8, 16])
async def test_b07_a_ring_in_the_moment_of_a_stop_is_heard_by_another_worker(
    house: House, monkeypatch: pytest.MonkeyPatch, ticks: int
) -> None:
    monkeypatch.setattr(queue_worker, "POLL_S", 3600)  # a ring that is lost stays lost
    leaving = house.worker(lambda: None, has_room=lambda: stays)
    stays = True
    begun = (await house.redis.info("clients"))["blocked_clients"]

    async def wait_for(blocked: int) -> None:
        async def are_blocked() -> bool:
            now = (await house.redis.info("clients"))["blocked_clients"]
            return bool(now == begun + blocked)

        await wait_until(are_blocked, description=f"{blocked} workers wait for a nudge")

    serving = asyncio.create_task(leaving.serve())
    await wait_for(1)
    async with running(house.worker().serve()):
        await wait_for(2)
        stays = False
        await house.bell.ring("handed-over")
        for _ in range(ticks):
            await asyncio.sleep(0)
        serving.cancel()
        await wait_until(lambda: house.heard, description="the other one hears")
    await asyncio.wait([serving])
