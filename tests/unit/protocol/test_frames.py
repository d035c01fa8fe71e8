"""What the models refuse, and what they never say."""

import json

import pytest
from pydantic import ValidationError

from app.protocol.calls import BUILT_INS, agent_messages_args, agent_resolve_approval_args
from app.protocol.client import MalformedFrame, parse_client_frame
from app.protocol.errors import HTTP_STATUS
from app.protocol.rows import ToolResultPart
from app.protocol.server import Delta, ErrorFrame, Upsert, Welcome, encode_server_frame


def test_a_refused_frame_is_told_why_without_repeating_what_it_said() -> None:
    with pytest.raises(MalformedFrame) as refused:
        parse_client_frame('{"type":"auth","token":["secret-token"]}')

    assert str(refused.value).startswith("token: ")
    assert "secret-token" not in str(refused.value)


def test_an_absent_field_is_left_out_and_a_null_one_is_said() -> None:
    error = json.loads(encode_server_frame(ErrorFrame(code="INTERNAL", message="no")))
    welcome = json.loads(encode_server_frame(Welcome(session="s", identity=None, heartbeat=15)))

    assert error == {"type": "error", "code": "INTERNAL", "message": "no"}
    assert welcome["identity"] is None


def test_null_inside_a_row_is_kept() -> None:
    row = {"id": "x", "parts": [{"type": "data", "name": "d", "value": None}]}
    frame = Delta(id="m", from_="t.1", cursor="t.2", ops=(Upsert(row=row),))

    assert json.loads(encode_server_frame(frame))["ops"][0]["row"] == row


def test_an_open_result_has_no_output() -> None:
    part = ToolResultPart(tool_call_id="call_1", name="refund")

    assert "output" not in part.model_dump(mode="json")


def test_arguments_are_camel_case_only() -> None:
    camel = {"key": "t", "toolCallId": "c", "decision": "approved"}
    snake = {"key": "t", "tool_call_id": "c", "decision": "approved"}

    assert agent_resolve_approval_args.validate_python(camel).tool_call_id == "c"
    with pytest.raises(ValidationError):
        agent_resolve_approval_args.validate_python(snake)


@pytest.mark.parametrize("limit", [0, 201])
def test_a_page_has_one_to_two_hundred_messages(limit: int) -> None:
    with pytest.raises(ValidationError):
        agent_messages_args.validate_python({"key": "t", "limit": limit})


@pytest.mark.req("ACC-05")
def test_no_built_in_writes_a_message_a_thread_or_a_state() -> None:
    assert set(BUILT_INS) == {
        "agents:agentMessages",
        "agents:agentThread",
        "agents:agentState",
        "agents:agentRun",
        "agents:agentCancel",
        "agents:agentRetry",
        "agents:agentApprovals",
        "agents:agentResolveApproval",
        "agents:agentResolveApprovals",
        "agents:agentRegenerate",
        "agents:agentEditMessage",
        "agents:agentSelectBranch",
        "agents:agentFork",
    }


def test_every_code_has_its_own_status() -> None:
    assert len(set(HTTP_STATUS.values())) == len(HTTP_STATUS)
