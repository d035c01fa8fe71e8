"""Ids, numbers and hashes only, split below what Postgres takes.  Field case B58."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.tables import MAX_WRITTEN_KEYS, TableWrite, both_writes, row_key
from app.fanout.hints import MAX_BYTES, parse, probe_payload, thread_payloads, write_payloads

pytestmark = pytest.mark.req("SUB-01", "IMP-02")

VERSIONS = st.dictionaries(st.text(max_size=40), st.integers(0, 1 << 53), max_size=400)
KEYS = st.none() | st.frozensets(st.integers().map(lambda n: row_key("id", n)), max_size=32)
WRITES = st.dictionaries(
    st.text(max_size=63), st.builds(TableWrite, st.integers(0, 1 << 31), KEYS), max_size=60
)


@given(versions=VERSIONS)
def test_what_was_said_of_threads_is_what_is_heard(versions: dict[str, int]) -> None:
    said = thread_payloads(versions)

    heard = [item for payload in said for item in parse(payload).threads.items()]

    assert heard == list(versions.items())
    assert all(len(payload.encode()) <= MAX_BYTES for payload in said)


@given(writes=WRITES)
def test_what_was_said_of_tables_is_what_is_heard(writes: dict[str, TableWrite]) -> None:
    said = write_payloads("me", writes)

    heard: dict[str, TableWrite] = {}
    for payload in said:
        heard |= parse(payload).writes["me"]

    assert heard == writes
    assert all(len(payload.encode()) <= MAX_BYTES for payload in said)


def test_many_rows_of_a_table_are_any_row() -> None:
    one = {"orders": TableWrite(20, frozenset(row_key("id", n) for n in range(20)))}
    other = {"orders": TableWrite(20, frozenset(row_key("id", n) for n in range(20, 40)))}

    merged = both_writes(one, other)

    assert MAX_WRITTEN_KEYS < 40
    assert merged == {"orders": TableWrite(40, None)}


def test_b58_ten_thousand_threads_are_few_notifications() -> None:
    versions = {str(uuid.uuid4()): 1_000_000 + n for n in range(10_000)}

    said = thread_payloads(versions)

    assert len(said) < 70
    assert max(len(payload) for payload in said) <= MAX_BYTES


def test_nothing_to_say_is_no_notification() -> None:
    assert thread_payloads({}) == []
    assert write_payloads("me", {}) == []


def test_an_id_that_fits_into_no_notification_is_left_out() -> None:
    assert thread_payloads({"x" * MAX_BYTES: 1, "short": 2}) == ['{"t":{"short":2}}']


def test_a_listener_tells_its_own_probe_from_others() -> None:
    assert parse(probe_payload("me")).probes == {"me"}


@pytest.mark.parametrize("payload", ["", "[]", '{"t": 3}', '{"w": {"a": {"orders": 3}}}'])
def test_what_is_not_ours_is_told(payload: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(payload)
