"""Where branches hang and where a copy may end, for whatever tree and whatever messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.branching import (
    Branch,
    Branches,
    Line,
    Place,
    check_cut,
    input_of,
    parent_of,
    with_text,
)
from app.domain.errors import InvalidArgument
from app.domain.message import Part, text_part

ROOT = "root"


@given(st.data())
def test_each_point_at_which_a_tree_divides_is_in_exactly_one_thread(data: st.DataObject) -> None:
    places, lengths = {ROOT: Place(None, 0)}, {ROOT: data.draw(st.integers(0, 6))}
    told: dict[str, list[str]] = {ROOT: [f"{ROOT}-{seq}" for seq in range(lengths[ROOT])]}
    for number in range(data.draw(st.integers(0, 8))):
        source = data.draw(st.sampled_from(sorted(places)))
        shared = data.draw(st.integers(0, len(told[source])))
        name = f"branch-{number}"
        places[name] = Place(parent_of(places, source, shared), shared)
        own = [f"{name}-{seq}" for seq in range(shared, shared + data.draw(st.integers(1, 3)))]
        told[name] = [*told[source][:shared], *own]

    for name, place in places.items():
        if place.parent is None:
            continue
        above = places[place.parent]
        assert above.parent is None or place.shared > above.shared
        assert told[name][: place.shared] == told[place.parent][: place.shared]
        if place.shared:  # the last message that is shared is the parent's own, no copy of a copy
            assert told[name][place.shared - 1].startswith(f"{place.parent}-")


def test_a_branch_that_shares_nothing_hangs_below_the_root() -> None:
    places = {ROOT: Place(None, 0), "a": Place(ROOT, 0), "b": Place("a", 3)}

    assert [parent_of(places, each, 0) for each in places] == [ROOT, ROOT, ROOT]
    assert [parent_of(places, "b", shared) for shared in (1, 3, 4)] == ["a", "a", "b"]


TURN = [
    Line("user", 1),
    Line("asks", 2, calls=("c0", "c1")),
    Line("first", 3, answers="c0"),
    Line("last", 4, answers="c1"),
    Line("said", 5),
]


@pytest.mark.parametrize("last", [0, 1, 4, 5])
def test_a_copy_may_end_where_no_call_is_without_its_result(last: int) -> None:
    check_cut(TURN, last)


@pytest.mark.parametrize("last", [2, 3])
def test_a_cut_between_a_call_and_its_result_says_what_would_do(last: int) -> None:
    with pytest.raises(InvalidArgument, match="before message asks") as refused:
        check_cut(TURN, last)

    assert refused.value.data == {"before": "asks", "after": "last"}


def test_where_results_are_still_to_come_only_the_place_before_the_calls_would_do() -> None:
    waiting = [*TURN[:3], Line("last", 4, answers="c1", is_open=True)]

    for last in (2, 3, 4):
        with pytest.raises(InvalidArgument) as refused:
            check_cut(waiting, last)
        assert refused.value.data == {"before": "asks"}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=5), st.integers(0, 30))
def test_whatever_may_end_there_has_a_result_for_each_call(
    turns: list[tuple[int, bool]], last: int
) -> None:
    lines: list[Line] = []
    for turn, (calls, are_done) in enumerate(turns):
        ids = [f"{turn}.{index}" for index in range(calls)]
        is_newest = turn == len(turns) - 1  # of the others every result is there
        lines.append(Line(f"turn {turn}", len(lines) + 1, calls=ids))
        lines += [
            Line(f"of {id_}", len(lines) + 1 + place, (), id_, is_newest and not are_done)
            for place, id_ in enumerate(ids)
        ]
    kept = [line for line in lines if line.seq <= last]
    asked = {call for line in kept for call in line.calls}
    is_whole = asked == {line.answers for line in kept if line.answers and not line.is_open}

    try:
        check_cut(lines, last)
    except InvalidArgument as refused:
        assert not is_whole
        for edge, id_ in (refused.data or {}).items():
            seq = next(line.seq for line in lines if line.id == id_)
            check_cut(lines, seq - (edge == "before"))
    else:
        assert is_whole


def test_several_messages_that_began_a_run_are_asked_as_one_with_lines_of_their_own() -> None:
    said = [[text_part("[message] a\n")], [text_part("b")], [text_part("c")]]

    joined = "".join(str(part["text"]) for part in input_of(said))

    assert joined == "[message] a\nb\nc"
    assert input_of(said[:1]) == said[0]


def test_another_text_leaves_what_is_no_text() -> None:
    file: Part = {"type": "file", "url": "https://example.org/a.png"}

    assert with_text([text_part("old"), file, text_part("er")], "new") == [text_part("new"), file]


def test_a_thread_of_a_conversation_has_a_key_and_no_thread_has_none() -> None:
    branches = Branches(
        "b", [Branch("a", "key-a", None, 0, None), Branch("b", "key-b", "a", 1, None)]
    )

    assert [branches.key_of(each) for each in ("a", "b", "c", None)] == [
        "key-a",
        "key-b",
        None,
        None,
    ]
