"""Frames that are put together from bytes say exactly what the models of the wire say."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.approval import Approval, ApprovalStatus
from app.domain.cursor import Cursor
from app.domain.identity import ANONYMOUS, Identity
from app.domain.message import Message, MessageStatus, Role, text_part
from app.domain.ports import ThreadSnapshot, WaitingSend
from app.domain.run import RunStatus
from app.domain.thread import Thread, ThreadStatus
from app.gateway import replies
from app.gateway.bodies import (
    delta_frame,
    json_bytes,
    message_bytes,
    rows_value,
    snapshot_frame,
    thread_bytes,
    token_body,
    token_frame,
    upserts,
)
from app.gateway.live_text import Piece
from app.gateway.wire import encode_text, payload_of
from app.protocol.rows import message, thread_view
from app.protocol.server import (
    Delta,
    ErrorFrame,
    Goodbye,
    Pong,
    Result,
    ServerFrame,
    Snapshot,
    Token,
    Upsert,
    Welcome,
    encode_server_frame,
    server_frame,
)

ID = 'agents:agentMessages{"key":"ü👋\n"}'
CURSOR = Cursor("7311840091-1", 42)


def parsed(frame: bytes) -> ServerFrame:
    """Return what a strict reader makes of a frame."""
    return server_frame.validate_json(payload_of(frame))


def a_message(text: str = "hé👋") -> Message:
    return Message(
        id="m-1",
        thread_id="t-1",
        seq=1,
        version=1,
        run_id="r-1",
        role=Role.USER,
        status=MessageStatus.COMPLETE,
        parts=[text_part(text)],
        created_at=datetime.now(UTC),
        model='{"private": true}',
    )


def test_a_row_is_what_the_protocol_declares() -> None:
    row = message.validate_json(message_bytes(a_message()))

    assert (row.id, row.text) == ("m-1", "hé👋")


def test_a_thread_is_what_the_protocol_declares() -> None:
    now = datetime.now(UTC)
    thread = Thread("t-1", "key", "support", ThreadStatus.RUNNING, "r-1", 1, 2, 3, 4)
    pending = ApprovalStatus.PENDING
    approval = Approval(
        "a-1", "t-1", "r-1", "call_1", "refund", {"amount": 60}, pending, 3, now, "key", "support"
    )
    waiting = (
        WaitingSend("s-1", is_run=False, text="from outside", created_at=now, author="user:ops"),
        WaitingSend("r-2", is_run=True, text="and then?", created_at=now, dedupe="d-1"),
    )
    snapshot = ThreadSnapshot(
        replace(thread, created_at=now, updated_at=now),
        [],
        [approval],
        waiting=waiting,
        run_id="r-1",
        run_status=RunStatus.WAITING,
    )

    found = thread_view.validate_json(thread_bytes(snapshot))

    assert found is not None
    assert (found.run_id, found.run_status) == ("r-1", "waiting")
    assert [(one.kind, one.position, one.dedupe) for one in found.waiting] == [
        ("signal", 1, None),
        ("run", 2, "d-1"),
    ]


def test_a_snapshot_is_what_the_protocol_declares() -> None:
    frame = snapshot_frame(json_bytes(ID), CURSOR, rows_value([message_bytes(a_message())]))

    found = parsed(frame)

    assert isinstance(found, Snapshot)
    assert (found.id, found.cursor, len(found.value)) == (ID, "7311840091-1.42", 1)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_delta_is_what_the_protocol_declares(count: int) -> None:
    ops = upserts([message_bytes(a_message())] * count)

    found = parsed(delta_frame(json_bytes(ID), Cursor("7311840091-1", 7), CURSOR, ops))

    assert isinstance(found, Delta)
    assert (found.id, found.from_, found.cursor) == (ID, "7311840091-1.7", "7311840091-1.42")
    assert [type(op) for op in found.ops] == [Upsert] * count


@given(st.text(), st.text(min_size=1), st.integers(0, 10**9))
def test_a_token_is_what_the_protocol_declares(text: str, id_: str, offset: int) -> None:
    piece = Piece("r-1", 2, 1, "thinking", offset, text, 301, version=9)

    found = parsed(token_frame(json_bytes(id_[:2000]), token_body(piece)))

    assert isinstance(found, Token)
    assert (found.run, found.turn, found.part, found.kind) == ("r-1", 2, 1, "thinking")
    assert (found.offset, found.attempt) == (offset, 301)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(
            replies.welcome("s", ANONYMOUS, 20.0),
            Welcome(session="s", identity=None, heartbeat=20.0),
            id="welcome-nobody",
        ),
        pytest.param(replies.PONG, Pong(), id="pong"),
        pytest.param(
            replies.result("c", {"id": "r"}), Result(id="c", value={"id": "r"}), id="result"
        ),
        pytest.param(
            replies.error(None, "INTERNAL", "oh"),
            ErrorFrame(code="INTERNAL", message="oh"),
            id="error",
        ),
        pytest.param(
            replies.error("c", "CONFLICT", "busy", {"runId": "r"}),
            ErrorFrame(id="c", code="CONFLICT", message="busy", data={"runId": "r"}),
            id="error-of-a-call",
        ),
        pytest.param(
            replies.goodbye(1.5), Goodbye(reason="draining", retry_after=1.5), id="goodbye"
        ),
    ],
)
def test_replies_are_what_the_protocol_declares(frame: bytes, expected: ServerFrame) -> None:
    assert json.loads(payload_of(frame)) == json.loads(encode_server_frame(expected))


def test_a_welcome_names_the_person_and_the_roles() -> None:
    found = parsed(replies.welcome("s", Identity("ann", frozenset({"b", "a"})), 20.0))

    assert isinstance(found, Welcome)
    assert found.identity is not None
    assert (found.identity.user_id, found.identity.roles) == ("ann", ("a", "b"))


@pytest.mark.parametrize("data", [{"when": datetime.now(UTC)}, {"self": object()}])
def test_an_errors_data_that_is_no_json_is_left_out(data: dict[str, Any]) -> None:
    assert "data" not in json.loads(payload_of(replies.error("c", "CONFLICT", "busy", data)))


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_carries_its_payload_whatever_its_size(size: int) -> None:
    frame = encode_text(b"x" * size)

    assert payload_of(frame) == "x" * size
    assert frame[0] == 0x81
