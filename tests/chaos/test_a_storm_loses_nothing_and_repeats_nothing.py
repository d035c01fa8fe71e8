"""Everything breaks, at random and at once; afterwards the whole history is held against the laws.

This is the short form of ``make chaos SECONDS=600``.  The seed decides what is asked and what
breaks, the machine decides how the two meet; ``CHAOS_SEED`` takes another one.
"""

import os

import pytest

from tests.support.chaos.campaign import storm_for
from tests.support.chaos.report import report
from tests.support.chaos.stores import Stores
from tests.support.chaos.storm import Course
from tests.support.late import LATE_S

GOES_ON_WITHIN_S = 3.0


@pytest.mark.usefixtures("patience")
@pytest.mark.req("DUR-03", "DUR-06", "DUR-07", "DUR-12", "SUB-03", "SUB-07", "SUB-08", "CON-01")
def test_a_storm_loses_nothing_and_repeats_nothing(
    stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = os.environ.get("CHAOS_SEED", "storm")
    course = Course(seed, rage_s=8, calm_s=2, singles=4)

    rounds = storm_for(stores, course)

    with capsys.disabled():
        print(f"\nCHAOS_SEED={seed}\n{report(rounds)}")  # noqa: T201  # to repeat it
    (storm,) = rounds
    assert not storm.violations, "\n".join([f"CHAOS_SEED={seed}", *storm.violations])
    for spans in (storm.meter.takeovers, storm.meter.after_redis, storm.meter.after_postgres):
        assert spans.seconds
        assert max(spans.seconds) < GOES_ON_WITHIN_S + LATE_S
