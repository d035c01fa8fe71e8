"""Offsets count UTF-16 code units, wherever a provider cuts its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.utf16 import units_of, whole_characters
from app.fanout.live_part import LivePart

pytestmark = pytest.mark.req("SUB-07")


def code_units(text: str) -> list[str]:
    """Return ``text`` cut into single UTF-16 code units, as a provider might cut it."""
    raw = text.encode("utf-16-le")
    return [raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2)]


@pytest.mark.parametrize(
    ("text", "units"), [("", 0), ("abc", 3), ("né", 2), ("😀", 2), ("👩‍👩‍👧", 8), ("a😀b", 4)]
)
def test_a_character_outside_the_basic_plane_counts_two(text: str, units: int) -> None:
    assert units_of(text) == units


def test_half_a_character_waits_for_its_other_half() -> None:
    part = LivePart("text")

    part.add("smile \ud83d")
    first = part.take()
    part.add("\ude00!")
    second = part.take()

    assert first == (0, "smile ", 6)
    assert second == (6, "😀!", 9)


def test_half_a_character_alone_is_not_worth_a_delta() -> None:
    part = LivePart("text")

    part.add("\ud83d")

    assert not part.has_more


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\ud83db", "a�b"), ("\ude00x", "�x"), ("a\x00b", "a�b"), ("\ud83d\ud83d\ude00", "�😀")],
)
def test_what_postgres_refuses_is_shown_as_it_will_be_stored(text: str, shown: str) -> None:
    assert whole_characters(text) == (shown, "")
    assert units_of(shown) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(
    text=st.text(alphabet=st.sampled_from("ab é😀👩\u200d🏽\n"), max_size=60),
    data=st.data(),
)
def test_deltas_join_to_the_text_however_it_was_cut(text: str, data: st.DataObject) -> None:
    part = LivePart("text")
    joined, units, pieces = "", 0, code_units(text)
    while pieces:
        count = data.draw(st.integers(1, len(pieces)))
        part.add("".join(pieces[:count]))
        pieces = pieces[count:]
        if data.draw(st.booleans()) and part.has_more:
            offset, delta, after = part.take()
            assert offset == units
            joined, units = joined + delta, after
    if part.has_more:
        offset, delta, units = part.take()
        joined += delta

    assert joined == text
    assert units == len(text.encode("utf-16-le")) // 2


@given(chunks=st.lists(st.text(min_size=1, max_size=8), max_size=10), taken=st.integers(0, 10))
def test_taken_back_it_begins_again_with_everything(chunks: list[str], taken: int) -> None:
    part = LivePart("text")
    for number, chunk in enumerate(chunks):
        part.add(chunk)
        if number < taken and part.has_more:
            part.take()

    part.take_back()

    whole = "".join(chunks).replace("\x00", "�")
    assert not part.has_more or part.take() == (0, whole, units_of(whole))
