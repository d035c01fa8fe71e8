"""Text put together from pieces, whatever is lost, doubled or out of order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.ports import ShownText
from app.domain.utf16 import from_unit, units_of
from app.gateway.live_text import LiveText, Marks, Piece, Place

words = st.lists(st.text("aß👋", min_size=1, max_size=3), min_size=1, max_size=8)


def pieces(texts: list[str], *, turn: int = 0, attempt: int = 100) -> list[Piece]:
    made, offset = [], 0
    for text in texts:
        made.append(Piece("run", turn, 0, "text", offset, text, attempt))
        offset += units_of(text)
    return made


def shown(texts: list[str]) -> ShownText:
    text = "".join(texts)
    return ShownText("run", 0, 0, "text", text, 100, units_of(text))


def heard(live: LiveText) -> str:
    live.take_unsent()
    return "".join(piece.text for piece in live.so_far())


@given(words, st.data())
def test_pieces_lost_doubled_and_disordered_end_as_the_text_after_a_refill(
    texts: list[str], data: st.DataObject
) -> None:
    live = LiveText()
    made = pieces(texts)
    order = data.draw(st.lists(st.sampled_from(made), max_size=20))
    cut = data.draw(st.integers(0, len(texts)))

    for piece in order:
        live.hear(piece)
    live.refill([shown(texts[:cut])] if cut else [])
    live.refill([shown(texts)])

    assert heard(live) == "".join(texts)
    assert not live.has_gap


@given(words, st.integers(0, 8))
def test_what_is_sent_piece_by_piece_is_the_text(texts: list[str], cut: int) -> None:
    live = LiveText()
    sent: list[Piece] = []

    for number, piece in enumerate(pieces(texts)):
        live.hear(piece)
        if number % 3 != cut % 3:
            sent += live.take_unsent()
    sent += live.take_unsent()

    assert "".join(piece.text for piece in sent) == "".join(texts)
    offsets = [piece.offset for piece in sent]
    lengths = [units_of(piece.text) for piece in sent]
    assert offsets == [sum(lengths[:place]) for place in range(len(lengths))]


@given(words, st.data())
def test_a_reader_who_fell_behind_gets_what_he_missed_and_no_more(
    texts: list[str], data: st.DataObject
) -> None:
    live = LiveText()
    made = pieces(texts)
    first_missed = data.draw(st.integers(0, len(made) - 1))
    for piece in made:
        live.hear(piece)
    live.take_unsent()
    marks = Marks(made[0].place)
    for piece in made[first_missed:]:
        marks.note(piece)

    missed = live.since(marks)

    assert "".join(piece.text for piece in missed) == "".join(texts[first_missed:])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        pytest.param(Place("r", 0, 100), Place("r", 0, 101), id="another-try"),
        pytest.param(Place("r", 0, 199), Place("r", 1, 100), id="the-next-turn"),
        pytest.param(Place("r", 5, 100), Place("q", 0, 300), id="the-next-run"),
        pytest.param(Place("r", 2, 100), Place("r", 2, 300), id="after-a-takeover"),
    ],
)
def test_what_was_begun_later_replaces_what_was_begun_before(older: Place, newer: Place) -> None:
    live = LiveText()
    old = Piece(older.run, older.turn, 0, "text", 0, "old", older.attempt)
    new = Piece(newer.run, newer.turn, 0, "text", 0, "new", newer.attempt)

    live.hear(old)
    live.hear(new)
    live.hear(old)

    assert heard(live) == "new"


def test_a_part_sent_whole_again_is_not_taken_twice() -> None:
    live = LiveText()
    live.hear(pieces(["one "])[0])
    live.take_unsent()

    live.hear(Piece("run", 0, 0, "text", 0, "one two", 100))

    assert [(piece.offset, piece.text) for piece in live.take_unsent()] == [(4, "two")]


def test_another_text_at_offset_0_replaces_the_part() -> None:
    live = LiveText()
    live.hear(pieces(["one "])[0])
    live.take_unsent()

    live.hear(Piece("run", 0, 0, "text", 0, "other", 100))

    assert [(piece.offset, piece.text) for piece in live.take_unsent()] == [(0, "other")]


@pytest.mark.parametrize(("text", "count"), [("", 0), ("ab", 2), ("ß", 1), ("👋", 2), ("a👋b", 4)])
def test_units_are_counted_as_javascript_does(text: str, count: int) -> None:
    assert units_of(text) == count
    assert from_unit(text, count) == ""
    assert from_unit(text, 0) == text
