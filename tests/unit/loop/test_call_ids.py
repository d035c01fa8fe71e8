"""Ids of calls are unique in a thread, and stay as they are where they can."""

import re

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from app.loop.call_ids import with_unique_ids


def ids_of(response: ModelResponse) -> list[str]:
    return [call.tool_call_id for call in response.tool_calls]


def an_answer(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart("x"), *(ToolCallPart("t", "{}", each) for each in ids)])


def test_a_good_id_stays_and_the_answer_with_it() -> None:
    response = an_answer("call_1", "toolu_01ABC")

    assert ids_of(with_unique_ids(response, {"call_0"})) == ["call_1", "toolu_01ABC"]


def test_a_repeated_id_gets_a_number() -> None:
    assert ids_of(with_unique_ids(an_answer("c", "c"), {"c", "c-2"})) == ["c-3", "c-4"]


def test_an_id_that_another_provider_would_refuse_is_mended() -> None:
    (call_id,) = ids_of(with_unique_ids(an_answer("functions.get:0"), set()))

    assert call_id == "functions_get_0"


@given(st.lists(st.text(max_size=80), max_size=6), st.sets(st.sampled_from(["a", "a-2", "call"])))
def test_ids_are_always_unique_and_always_accepted(ids: list[str], taken: set[str]) -> None:
    made = ids_of(with_unique_ids(an_answer(*ids), taken))

    assert len({*made, *taken}) == len(made) + len(taken)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id) for call_id in made)


def test_the_answer_itself_is_left_alone() -> None:
    response = an_answer("c", "c")

    with_unique_ids(response, set())

    assert ids_of(response) == ["c", "c"]
