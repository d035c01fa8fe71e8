"""Builds that are broken on purpose: storms notice, so that a quiet storm means something."""

import pytest

from tests.support.chaos.campaign import storm_for
from tests.support.chaos.stores import Stores
from tests.support.chaos.storm import Course

SEED = "broken on purpose"

pytestmark = pytest.mark.long


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    "breaks",
    [
        "hints are lost, nothing is reconciled",
        "attempts are counted per drive",
        "start without the lock",
        "fence without the lock",
    ],
)
def test_a_broken_build_is_noticed(stores: Stores, breaks: str) -> None:
    course = Course(SEED, rage_s=6, calm_s=3, singles=0, hands=("processes",), stops_at_once=True)

    rounds = storm_for(stores, course, breaks=breaks)

    assert rounds[-1].violations


@pytest.mark.usefixtures("patience")
def test_lost_hints_alone_break_no_law(stores: Stores) -> None:
    course = Course(SEED, rage_s=3, calm_s=4, singles=0, hands=("processes",))

    rounds = storm_for(stores, course, breaks="hints are lost")

    assert rounds[-1].violations == []
