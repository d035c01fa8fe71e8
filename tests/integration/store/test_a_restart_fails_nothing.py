"""An agent is unknown only when no worker has served it for a minute; a deploy takes less."""

from datetime import timedelta

import pytest

from app.domain.run import RunStatus
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld

pytestmark = pytest.mark.req("DUR-07")

MINUTE = timedelta(minutes=1)
AGE = """
UPDATE agent_runs SET queued_at = queued_at - interval '1 hour' WHERE status = 'queued'
"""


async def test_a_worker_that_has_just_left_is_waited_for(world: StoreWorld, rival: Rival) -> None:
    await world.register("stays", ["other"])
    await world.register("leaves", ["lost"])
    await rival.watch.execute("UPDATE agent_workers SET started_at = now() - interval '1 hour'")
    started = await world.start(agent="lost")
    await rival.watch.execute(AGE)
    await world.store.take_over("leaves")

    at_once = await world.store.fail_unknown_agents(MINUTE)
    await rival.watch.execute(
        "UPDATE agent_workers SET gone_at = now() - interval '61 seconds' WHERE id = 'leaves'"
    )
    a_minute_later = await world.store.fail_unknown_agents(MINUTE)

    assert (at_once, a_minute_later) == (0, 1)
    assert (await world.run(started.run_id)).status is RunStatus.FAILED


async def test_after_an_outage_everybody_gets_the_time_to_come_back(
    world: StoreWorld, rival: Rival
) -> None:
    """All workers were gone for an hour; the first to come back serves something else."""
    await world.start(agent="lost")
    await rival.watch.execute(AGE)
    await world.register("first", ["other"])

    at_once = await world.store.fail_unknown_agents(MINUTE)
    await rival.watch.execute("UPDATE agent_workers SET started_at = now() - interval '61 seconds'")
    a_minute_later = await world.store.fail_unknown_agents(MINUTE)

    assert (at_once, a_minute_later) == (0, 1)


async def test_workers_that_left_are_forgotten_after_a_day(world: StoreWorld, rival: Rival) -> None:
    await world.register("long gone", ["a"])
    await world.register("dead", ["a"])
    await rival.watch.execute(
        "UPDATE agent_workers SET gone_at = now() - interval '25 hours' WHERE id = 'long gone'"
    )

    await world.store.take_over("dead")

    rows = await rival.watch.fetch("SELECT id FROM agent_workers")
    assert [row["id"] for row in rows] == ["dead"]
