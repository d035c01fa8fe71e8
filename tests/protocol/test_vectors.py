"""The golden messages of the wire, read by this suite and by the SDK's own.

What is here is promised: a change that breaks a vector breaks clients that are
already out there.
"""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from app.protocol.client import ClientFrame, MalformedFrame, client_frame, parse_client_frame
from app.protocol.rows import message, thread_view
from app.protocol.server import ServerFrame, encode_server_frame, server_frame

VECTORS = Path(__file__).parent / "vectors"


def _load(name: str) -> list[Any]:
    vectors = json.loads((VECTORS / name).read_text(encoding="utf-8"))
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


def _tags(union: object) -> set[str]:
    options, *_ = get_args(union)
    return {option.model_fields["type"].default for option in get_args(options)}


@pytest.mark.req("IMP-04")
@pytest.mark.parametrize("vector", _load("client_frames.json"))
def test_a_client_frame_is_understood_and_written_back_as_it_came(vector: dict[str, Any]) -> None:
    frame = parse_client_frame(json.dumps(vector["frame"]))

    assert json.loads(client_frame.dump_json(frame)) == vector["frame"]


@pytest.mark.req("IMP-04")
@pytest.mark.parametrize("vector", _load("malformed_frames.json"))
def test_a_malformed_frame_is_refused_with_the_id_it_had(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedFrame) as refused:
        parse_client_frame(vector["raw"])

    assert refused.value.id == vector["id"]


@pytest.mark.parametrize("vector", _load("server_frames.json"))
def test_a_server_frame_survives_the_way_through_the_model(vector: dict[str, Any]) -> None:
    frame = server_frame.validate_python(vector["frame"])

    assert json.loads(encode_server_frame(frame)) == vector["frame"]


@pytest.mark.parametrize("vector", _load("messages.json"))
def test_a_message_survives_the_way_through_the_model(vector: dict[str, Any]) -> None:
    row = message.validate_python(vector["row"])

    assert json.loads(message.dump_json(row)) == vector["row"]


@pytest.mark.parametrize("vector", _load("threads.json"))
def test_a_thread_survives_the_way_through_the_model(vector: dict[str, Any]) -> None:
    view = thread_view.validate_python(vector["value"])

    assert json.loads(thread_view.dump_json(view)) == vector["value"]


@pytest.mark.parametrize(
    ("union", "vectors"),
    [
        pytest.param(ClientFrame, "client_frames.json", id="client"),
        pytest.param(ServerFrame, "server_frames.json", id="server"),
    ],
)
def test_every_frame_has_a_vector(union: object, vectors: str) -> None:
    seen = {vector["frame"]["type"] for (vector,) in (p.values for p in _load(vectors))}

    assert seen == _tags(union)
