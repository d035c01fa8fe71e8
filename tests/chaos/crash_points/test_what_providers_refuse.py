"""The rules for a history refuse what the providers refuse, and nothing that is right."""

from typing import Any

import pytest

from tests.support.law_histories import anthropic_faults, chat_faults, responses_faults

Sent = list[dict[str, Any]]

USER: dict[str, Any] = {"role": "user", "content": "go"}
CALL: dict[str, Any] = {"id": "c1", "function": {"name": "t", "arguments": "{}"}}
ASKS: dict[str, Any] = {"role": "assistant", "tool_calls": [CALL]}
TOLD: dict[str, Any] = {"role": "tool", "tool_call_id": "c1", "content": "done"}
SAYS: dict[str, Any] = {"role": "assistant", "content": "so"}


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        pytest.param([USER, ASKS, TOLD, SAYS], 0, id="right"),
        pytest.param([USER, ASKS], 1, id="no-result"),
        pytest.param([USER, ASKS, USER, TOLD], 2, id="late-result"),
        pytest.param([USER, ASKS, TOLD, TOLD], 1, id="two-results"),
        pytest.param([USER, {"role": "assistant", "content": ""}], 1, id="empty"),
        pytest.param(
            [USER, {"role": "assistant", "tool_calls": [CALL, CALL]}, TOLD, TOLD],
            1,
            id="one-id-twice",
        ),
    ],
)
def test_chat_completions(messages: Sent, faults: int) -> None:
    assert len(chat_faults(messages)) == faults


USED: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "c1", "content": []}
TEXT: dict[str, Any] = {"type": "text", "text": "so"}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        pytest.param([user(TEXT), assistant(USED), user(RESULT, TEXT)], 0, id="right"),
        pytest.param([user(TEXT), assistant(USED)], 1, id="no-result"),
        pytest.param([user(TEXT), assistant(USED), user(TEXT, RESULT)], 1, id="text-before-result"),
        pytest.param([user(TEXT), assistant(TEXT), user(RESULT)], 1, id="result-of-nothing"),
        pytest.param([assistant(TEXT)], 1, id="no-user-first"),
        pytest.param([user({"type": "text", "text": " "})], 1, id="blank"),
    ],
)
def test_messages(messages: Sent, faults: int) -> None:
    assert len(anthropic_faults(messages)) == faults


ASKED: dict[str, Any] = {"type": "function_call", "call_id": "c1"}
GIVEN: dict[str, Any] = {"type": "function_call_output", "call_id": "c1"}


@pytest.mark.parametrize(
    ("items", "faults"),
    [
        pytest.param([USER, ASKED, GIVEN], 0, id="right"),
        pytest.param([USER, ASKED], 1, id="no-result"),
        pytest.param([USER, GIVEN, ASKED], 1, id="result-first"),
    ],
)
def test_responses(items: Sent, faults: int) -> None:
    assert len(responses_faults(items)) == faults
