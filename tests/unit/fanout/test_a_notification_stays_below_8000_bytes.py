"""Ids and versions only, split below what Postgres takes.  Field case B58."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fanout.hints import MAX_BYTES, THREADS, parse, payloads

pytestmark = pytest.mark.req("SUB-01", "IMP-02")

VERSIONS = st.dictionaries(st.text(max_size=40), st.integers(0, 1 << 53), max_size=400)


@given(versions=VERSIONS)
def test_what_was_said_is_what_is_heard(versions: dict[str, int]) -> None:
    said = payloads(THREADS, versions)

    heard = [hint for payload in said for hint in parse(payload)]

    assert heard == [(THREADS, key, version) for key, version in versions.items()]
    assert all(len(payload.encode()) <= MAX_BYTES for payload in said)


def test_b58_ten_thousand_threads_are_few_notifications() -> None:
    versions = {str(uuid.uuid4()): 1_000_000 + n for n in range(10_000)}

    said = payloads(THREADS, versions)

    assert len(said) < 70
    assert max(len(payload) for payload in said) <= MAX_BYTES


def test_nothing_to_say_is_no_notification() -> None:
    assert payloads(THREADS, {}) == []


def test_an_id_that_fits_into_no_notification_is_left_out() -> None:
    assert payloads(THREADS, {"x" * MAX_BYTES: 1, "short": 2}) == ['{"t":{"short":2}}']
