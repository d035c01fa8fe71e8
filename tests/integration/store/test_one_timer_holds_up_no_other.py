"""A timer whose rows are not as the laws want them ends no sweep: the others fire behind it."""

from datetime import UTC, datetime, timedelta

import pytest
from psycopg import AsyncConnection

from app.domain.approval import ApprovalRules, approval_step, expiry_fact
from app.domain.facts import NewTimer
from app.domain.ports import ClaimedRun
from app.domain.run import RunStatus, Waits
from app.store.database import Database
from tests.support.store_world import IDS, StoreWorld, a_start

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


@pytest.mark.req("SCH-04")
async def test_a_start_on_a_thread_that_somebody_is_making_holds_up_no_other(
    world: StoreWorld, database_url: str
) -> None:
    past = datetime.now(UTC) - timedelta(minutes=1)
    for key in ("in the making", "there"):
        start = a_start(run_id=IDS.new(), thread_key=key)
        await world.store.schedule(key, start, past)
        past += timedelta(seconds=1)

    async with await AsyncConnection.connect(database_url) as mutation:
        await mutation.execute(
            "INSERT INTO agent_threads (id, key, agent, state, status)"
            " VALUES ('new', 'in the making', 'support', '{}', 'queued')"
        )
        fired = await world.store.fire_due(10)
        await mutation.rollback()
    later = await world.store.fire_due(10)

    assert (fired, later) == (1, 1)
