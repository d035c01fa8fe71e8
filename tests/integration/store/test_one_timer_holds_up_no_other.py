"""A timer whose rows are not as the laws want them ends no sweep: the others fire behind it."""

from datetime import timedelta

import pytest

from app.domain.approval import ApprovalRules, approval_step, expiry_fact
from app.domain.facts import NewTimer
from app.domain.ports import ClaimedRun
from app.domain.run import RunStatus, Waits
from app.store.database import Database
from tests.support.store_world import StoreWorld

AT_ONCE = ApprovalRules(expires_after=timedelta(0))


async def expiring(world: StoreWorld) -> ClaimedRun:
    """Return a run that waits for a decision which expires at once."""
    claimed = await world.drive()
    await world.ask(claimed, "c1", gated=["c1"], rules=AT_ONCE)
    wakes = (await world.thread(claimed.thread.id)).wakes
    timers = [NewTimer(expiry_fact("c1"), timedelta(0))]
    waits = Waits.for_all([approval_step("c1")])
    await world.store.park(claimed.fence, wakes, waits, timers)
    return claimed


@pytest.mark.req("DUR-12")
async def test_a_timer_that_cannot_fire_holds_up_no_other(
    world: StoreWorld, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = await expiring(world), await expiring(world)
    async with Database(database_url) as database:
        await database.fetch(
            "INSERT INTO agent_steps (run, name, value, created_at) VALUES ($1, $2, 'null', now())",
            broken.run.id,
            approval_step("c1"),
        )

    await world.store.fire_due(10)

    assert (await world.run(sound.run.id)).status is RunStatus.QUEUED
    assert (await world.run(broken.run.id)).status is RunStatus.AWAITING_INPUT
    assert "cannot fire" in caplog.text
