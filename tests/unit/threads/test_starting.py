"""What a request to start a run becomes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidArgument
from app.testing.world import CountedIds
from app.threads.limits import MAX_INPUT, MAX_KEY
from app.threads.starting import Prompt, start_of, title_of


def test_a_start_without_a_key_gets_a_fresh_one() -> None:
    start = start_of(Prompt("support", "hello"), CountedIds())

    assert start.thread_key == start.thread_id
    assert start.run_id != start.thread_id != start.message_id


def test_the_options_of_a_start_are_its_runs_policy() -> None:
    start = start_of(Prompt("support", "hi", model="openai:gpt-5", max_turns=3), CountedIds())

    assert start.terms.policy == {"model": "openai:gpt-5", "maxTurns": 3}


def test_a_character_that_no_store_takes_is_replaced_in_the_text() -> None:
    start = start_of(Prompt("support", "a\x00b\ud800"), CountedIds())

    assert json.loads(start.parts) == [{"type": "text", "text": "a\ufffdb\ufffd"}]


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        pytest.param(Prompt("a", "  \n"), "empty", id="nothing-said"),
        pytest.param(Prompt("a", "x" * (MAX_INPUT + 1)), "at most", id="too-long"),
        pytest.param(Prompt("a", "x", thread_key=""), "thread key", id="empty-key"),
        pytest.param(Prompt("a", "x", thread_key="k" * (MAX_KEY + 1)), "thread key", id="long-key"),
        pytest.param(Prompt("a", "x", thread_key="a\nb"), "printable", id="line-in-key"),
        pytest.param(Prompt("a", "x", thread_key="a\x00b"), "printable", id="nul-in-key"),
        pytest.param(Prompt("a", "x", title="  "), "title", id="blank-title"),
        pytest.param(Prompt("a", "x", model=" "), "provider:model", id="blank-model"),
        pytest.param(Prompt("a", "x", max_turns=0), "maxTurns", id="no-turn"),
    ],
)
def test_a_value_out_of_its_bounds_is_refused_with_the_bound(prompt: Prompt, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        start_of(prompt, CountedIds())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("Where is my order?", "Where is my order?", id="short"),
        pytest.param("Hello,\n\n  there", "Hello, there", id="lines"),
        pytest.param(
            "Please tell me what has become of the order that I made two weeks ago",
            "Please tell me what has become of the order that I made two…",
            id="cut-at-a-word",
        ),
        pytest.param("x" * 80, "x" * 59 + "…", id="no-word-to-cut-at"),
    ],
)
def test_a_title_is_the_beginning_of_the_first_input(text: str, title: str) -> None:
    assert title_of(text) == title


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_a_title_is_one_line_of_bounded_length(text: str) -> None:
    title = title_of(text)

    assert 0 < len(title) <= 60
    assert title == " ".join(title.split())
