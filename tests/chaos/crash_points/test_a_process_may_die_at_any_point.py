"""Workers and callers die, freeze and are held at points drawn from a seed; every law holds.

This is the short form of ``make crash-points``, which takes every point and thousands of pairs.
``CRASH_POINTS_SEED`` takes another seed; it is printed.
"""

import os
import time

import pytest

from app.main.embedded import EmbeddedRedis
from tests.chaos.crash_points.stage import play_all
from tests.support.crash_points.campaign import Campaign, Plan
from tests.support.crash_points.report import broken_laws
from tests.support.embedded_stores import Databases

ENOUGH_S = 12.0
"""What is left of the rest of the sample by then is left out: machines differ."""
SINGLES, RESCUES, FREEZES, HOLDS, PAIRS = 24, 4, 10, 12, 12

FOUND = (
    # A beat that was read between the commit of an end and its answer cut the drive off.
    "walk worker/hold/app.engine.durable_run:DurableRun._leave#1:before/1",
    # The beat that renewed the lease of a thawed worker let its parallel calls start.
    "walk worker/freeze/app.engine.bodies:Bodies._may_start#1:after/4",
)
"""Plays that once broke a law."""


@pytest.mark.req("DUR-03", "DUR-06", "DUR-07", "DUR-12", "SUB-08")
def test_every_law_holds_at_points_drawn_from_a_seed(
    databases: Databases, audited: str, redis_server: EmbeddedRedis
) -> None:
    seed = int(os.environ.get("CRASH_POINTS_SEED", "1"))
    print(f"CRASH_POINTS_SEED={seed}")  # noqa: T201  # to repeat it

    async def sample(campaign: Campaign) -> Campaign:
        await campaign.reference()
        await campaign.run("found before", [Plan.parse(each) for each in FOUND])
        await campaign.run("points", campaign.random.sample(campaign.singles(1, 5), SINGLES))
        campaign.until = time.monotonic() + ENOUGH_S
        await campaign.run("points of a rescue", campaign.rescues()[:RESCUES])
        await campaign.run("frozen", campaign.freezes(FREEZES))
        await campaign.run("held", campaign.holds(HOLDS))
        await campaign.run("pairs", campaign.pairs(PAIRS))
        return campaign

    campaign = play_all(databases, audited, redis_server.fast_url, seed, sample)

    assert sum(tally.deaths for tally in campaign.tallies) > SINGLES // 2
    assert broken_laws(campaign) == ""
