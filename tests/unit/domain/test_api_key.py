"""A key is written in one way, and its secret appears nowhere else."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.api_key import PresentedKey

pytestmark = pytest.mark.req("IMP-05")


def test_what_is_written_is_read_back() -> None:
    key = PresentedKey("abc123abc123", secrets.token_urlsafe(32))

    assert PresentedKey.parse(str(key)) == key


def test_the_secret_is_in_no_repr() -> None:
    key = PresentedKey("abc123abc123", secrets.token_urlsafe(32))

    assert key.secret not in repr(key)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "rw_",
        "rw_abc_def",
        "rw_abc123abc123_" + "s" * 42,
        "rw_ABC123abc123_" + "s" * 43,
        "a.b.c",
    ],
)
def test_what_is_no_key_is_left_to_others(token: str) -> None:
    assert PresentedKey.parse(token) is None


@given(st.text(max_size=80))
def test_no_text_breaks_the_reading_of_a_key(text: str) -> None:
    assert PresentedKey.parse(text) is None
