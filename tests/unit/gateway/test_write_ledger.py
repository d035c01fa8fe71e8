"""Writes that nobody announced are found by Postgres's counters, whatever was announced beside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateway.write_ledger import EXPLAINS_S, FORGOTTEN_S, LATE_S, WriteLedger

pytestmark = pytest.mark.req("IMP-02")


def a_ledger(counter: int = 100) -> WriteLedger:
    ledger = WriteLedger()
    ledger.keep({"orders"})
    ledger.missed({"orders": counter}, -2 * LATE_S)
    return ledger


def test_the_first_look_at_a_table_tells_of_what_came_before_it() -> None:
    ledger = WriteLedger()
    ledger.keep({"orders"})

    assert ledger.missed({"orders": 100}, 0) == {"orders"}
    assert ledger.missed({"orders": 100}, 2) == set()


def test_what_was_announced_is_explained_when_it_is_counted_later() -> None:
    ledger = a_ledger()
    ledger.heard("orders", 3, 1)

    assert ledger.missed({"orders": 100}, 2) == set()
    assert ledger.missed({"orders": 103}, 4) == set()


def test_a_write_without_a_word_is_found_among_others() -> None:
    ledger = a_ledger()
    ledger.heard("orders", 3, 1)

    assert ledger.missed({"orders": 104}, 2) == {"orders"}


def test_a_writer_who_says_too_much_hides_another_for_a_while_only() -> None:
    ledger = a_ledger()
    ledger.heard("orders", 50, 1)

    assert ledger.missed({"orders": 101}, 2) == set()
    assert ledger.missed({"orders": 101}, 2 + EXPLAINS_S) == set()
    assert ledger.missed({"orders": 102}, 4 + EXPLAINS_S) == {"orders"}


def test_counters_that_began_anew_tell_nothing() -> None:
    ledger = a_ledger()

    assert ledger.missed({"orders": 4}, 2) == {"orders"}
    assert ledger.missed({"orders": 4}, 4) == set()


def test_what_is_told_of_a_table_without_counters_is_not_kept() -> None:
    ledger = WriteLedger()
    ledger.keep({"view"})

    for second in range(100):
        ledger.heard("view", 1, second)
        ledger.missed({}, second)

    assert len(ledger._accounts["view"].heard) <= FORGOTTEN_S + 1


def test_a_table_without_counters_is_left_alone() -> None:
    ledger = a_ledger()

    assert ledger.missed({}, 2) == set()


@pytest.mark.parametrize("is_first_look", [True, False])
def test_a_word_that_comes_after_its_count_hides_nothing_for_long(*, is_first_look: bool) -> None:
    ledger = WriteLedger() if is_first_look else a_ledger()
    ledger.keep({"orders"})
    assert ledger.missed({"orders": 103}, 1) == {"orders"}
    ledger.heard("orders", 3, 1.1)
    assert ledger.missed({"orders": 104}, 3) == set()

    assert ledger.missed({"orders": 104}, 4 + EXPLAINS_S) == {"orders"}
    assert ledger.missed({"orders": 104}, 5 + 2 * EXPLAINS_S) == set()


def test_a_table_that_is_written_all_the_time_is_looked_at_once_in_a_while() -> None:
    ledger, found = a_ledger(0), 0
    for now in range(100):
        ledger.heard("orders", 5, now)
        found += len(ledger.missed({"orders": now * 5}, now + 0.5))

    assert 100 / EXPLAINS_S - 2 < found < 100 / EXPLAINS_S + 1


STEPS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=40
)


@given(steps=STEPS)
def test_every_unannounced_write_is_found_when_all_is_counted_at_once(
    steps: list[tuple[int, int, bool]],
) -> None:
    ledger, counter = a_ledger(0), 0
    for number, (announced, silent, is_silent) in enumerate(steps, 1):
        now = number * 2 * LATE_S
        ledger.heard("orders", announced, now)
        counter += announced + (silent if is_silent else 0)
        found = ledger.missed({"orders": counter}, now)

        assert found == ({"orders"} if is_silent and silent else set())


@given(steps=STEPS)
def test_every_unannounced_write_is_found_in_time_when_words_or_counts_come_late(
    steps: list[tuple[int, int, bool]],
) -> None:
    ledger, counter, silent_since = a_ledger(0), 0, None
    for now, (announced, silent, is_late) in enumerate([*steps, *[(1, 0, False)] * 20], 1):
        silent_since = now if silent and silent_since is None else silent_since
        counter += silent
        if is_late:  # the word
            counter += announced
        else:
            ledger.heard("orders", announced, now)
        found = ledger.missed({"orders": counter}, now)
        if is_late:
            ledger.heard("orders", announced, now + 0.1)
        else:  # the count
            counter += announced
        silent_since = None if found else silent_since

        assert silent_since is None or now - silent_since <= 2 * EXPLAINS_S
