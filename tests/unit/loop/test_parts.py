"""What people see of an answer holds nothing that is the provider's own."""

from pydantic_ai.messages import (
    CompactionPart,
    ModelResponse,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from app.domain.run import Usage
from app.loop.parts import parts_of, response_from_text, response_to_text, usage_of

ANSWER = ModelResponse(
    parts=[
        ThinkingPart(
            "Hm.", signature="SECRET", provider_name="p", provider_details={"raw": "SECRET"}
        ),
        ThinkingPart("", signature="SECRET"),
        TextPart("It is", provider_details={"id": "SECRET"}),
        TextPart(""),
        ToolCallPart("t", '{"a": 1}', "c1", provider_details={"id": "SECRET"}),
        ToolCallPart("t", '{"a": ', "c2"),
        ToolCallPart("t", None, "c3"),
        NativeToolCallPart("web_search", '{"q": "SECRET"}', tool_call_id="n1"),
        CompactionPart(content="SECRET"),
    ],
    provider_details={"raw": "SECRET"},
)


def test_only_text_thinking_and_calls_are_shown() -> None:
    assert parts_of(ANSWER) == [
        {"type": "thinking", "text": "Hm."},
        {"type": "text", "text": "It is"},
        {"type": "tool_call", "toolCallId": "c1", "name": "t", "input": {"a": 1}},
        {"type": "tool_call", "toolCallId": "c2", "name": "t", "input": '{"a": '},
        {"type": "tool_call", "toolCallId": "c3", "name": "t", "input": {}},
    ]


def test_the_stored_answer_comes_back_whole() -> None:
    assert response_from_text(response_to_text(ANSWER)) == ANSWER


def test_the_stored_answer_can_be_stored() -> None:
    text = response_to_text(ModelResponse(parts=[TextPart("a\x00b\ud800")]))

    assert "\x00" not in text
    assert "\\u0000" not in text
    assert response_from_text(text).text == "a\ufffdb\ufffd"


def test_one_request_is_counted_with_its_tokens() -> None:
    usage = RequestUsage(input_tokens=9, output_tokens=4, cache_read_tokens=5, cache_write_tokens=1)

    assert usage_of(usage) == Usage(1, 9, 4, 5, 1)
