"""A process that dies is started at once; one that keeps dying young, ever more slowly."""

from hypothesis import given
from hypothesis import strategies as st

from app.main.dev.child import pause_before_s


def test_the_first_death_costs_no_time() -> None:
    assert pause_before_s(0) == pause_before_s(1) == 0


@given(deaths=st.integers(min_value=0, max_value=10_000))
def test_the_pause_never_shrinks_and_never_exceeds_five_seconds(deaths: int) -> None:
    assert pause_before_s(deaths) <= pause_before_s(deaths + 1) <= 5
