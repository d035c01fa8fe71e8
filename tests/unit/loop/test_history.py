"""Every call is followed at once by exactly one result, whatever became of it (B20, B22)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from app.domain.message import (
    Message,
    MessageStatus,
    Part,
    Role,
    interrupted_part,
    open_result_part,
    text_part,
    tool_result_part,
)
from app.loop.history import History
from app.loop.parts import parts_of, response_to_text


def a_row(role: Role, parts: list[Part], *, model: str | None = None) -> Message:
    return Message(
        id="m",
        thread_id="t",
        seq=1,
        version=1,
        run_id="r",
        role=role,
        status=MessageStatus.COMPLETE,
        parts=parts,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        model=model,
    )


def said(text: str) -> Message:
    return a_row(Role.USER, [text_part(text)])


def answered(*parts: ModelResponsePart) -> Message:
    response = ModelResponse(parts=list(parts))
    return a_row(Role.ASSISTANT, parts_of(response), model=response_to_text(response))


def result(call_id: str, output: str, *, is_error: bool = False) -> Message:
    return a_row(Role.TOOL, [tool_result_part(call_id, "t", output, is_error=is_error)])


def call(call_id: str) -> ToolCallPart:
    return ToolCallPart("t", "{}", call_id)


def gist(messages: Sequence[ModelMessage]) -> list[str]:
    lines = []
    for message in messages:
        for part in message.parts:
            match part:
                case UserPromptPart(content=content):
                    lines.append(f"user {content}")
                case ToolReturnPart():
                    lines.append(f"result {part.tool_call_id} {part.outcome} {part.content}")
                case ToolCallPart():
                    lines.append(f"call {part.tool_call_id}")
                case TextPart(content=content):
                    lines.append(f"text {content}")
                case _:
                    lines.append(part.part_kind)
    return lines


INTERRUPTED = "failed interrupted; it may have taken effect"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [said("hi"), answered(TextPart("yes"), call("1")), result("1", "ok")],
            ["user hi", "text yes", "call 1", "result 1 success ok"],
            id="text-and-call",
        ),
        pytest.param(
            [said("hi"), answered(call("1"), call("2")), result("2", "b"), result("1", "a")],
            ["user hi", "call 1", "call 2", "result 1 success a", "result 2 success b"],
            id="results-in-call-order",
        ),
        pytest.param(
            [said("hi"), answered(call("1")), result("1", "no", is_error=True)],
            ["user hi", "call 1", "result 1 failed no"],
            id="tool-error",
        ),
        pytest.param(
            [
                said("hi"),
                answered(call("1")),
                a_row(Role.TOOL, [interrupted_part(open_result_part("1", "t"))]),
                said("again"),
            ],
            ["user hi", "call 1", f"result 1 {INTERRUPTED}", "user again"],
            id="interrupted",
        ),
        pytest.param(
            [
                said("hi"),
                answered(call("1")),
                a_row(Role.TOOL, [open_result_part("1", "t")]),
                said("b"),
            ],
            ["user hi", "call 1", f"result 1 {INTERRUPTED}", "user b"],
            id="open-row-of-a-run-that-is-over",
        ),
        pytest.param(
            [said("hi"), answered(call("1")), said("again")],
            ["user hi", "call 1", f"result 1 {INTERRUPTED}", "user again"],
            id="no-row-at-all",
        ),
        pytest.param(
            [said("hi"), result("9", "lost"), answered(TextPart("yes"))],
            ["user hi", "text yes"],
            id="a-result-without-a-call",
        ),
        pytest.param(
            [said("hi"), a_row(Role.ASSISTANT, [text_part("half a")]), said("go on")],
            ["user hi", "text half a", "user go on"],
            id="cut-off-text",
        ),
        pytest.param(
            [said("hi"), answered(TextPart(" \n")), said("again"), answered(ThinkingPart("hm"))],
            ["user hi", "user again"],
            id="empty-answers",
        ),
        pytest.param([said("")], ["user (an empty message)"], id="empty-input"),
    ],
)
def test_b20_each_shape_of_a_thread_becomes_what_providers_accept(
    rows: list[Message], expected: list[str]
) -> None:
    assert gist(History.of(rows).to_send()) == expected


def test_what_was_sent_does_not_change_when_the_history_grows() -> None:
    history = History.of([said("one"), said("two")])
    before = list(history.to_send())

    history.add_input("three")

    assert len(before) == 1
    assert gist(before) == ["user one", "user two"]
    assert gist(history.to_send()) == ["user one", "user two", "user three"]


ROWS = st.lists(
    st.one_of(
        st.builds(said, st.sampled_from(["", "a"])),
        st.lists(st.sampled_from(["1", "2", "3"]), unique=True, max_size=3).map(
            lambda ids: answered(*[call(i) for i in ids])
        ),
        st.builds(result, st.sampled_from(["1", "2", "3"]), st.just("x")),
        st.just(a_row(Role.ASSISTANT, [text_part("half")])),
    ),
    max_size=12,
)


@given(rows=ROWS)
def test_b22_calls_and_results_always_pair_up(rows: list[Message]) -> None:
    messages = History.of(rows).to_send()

    for first, second in zip_longest(messages, messages[1:]):
        assert first.parts
        if isinstance(first, ModelResponse) and first.tool_calls:
            assert isinstance(second, ModelRequest)
            answers = [part for part in second.parts if isinstance(part, ToolReturnPart)]
            assert [part.tool_call_id for part in answers] == [
                made.tool_call_id for made in first.tool_calls
            ]
            assert list(second.parts[: len(answers)]) == answers
        if isinstance(first, ModelRequest):
            assert not isinstance(second, ModelRequest)
