"""Frames for one socket alone: answers, errors, greetings.

They are rare beside deltas and tokens, so they are made from the models of
``app.protocol.server``; what came from elsewhere (a call's value, an error's data) is
encoded as everything that is stored, so that no odd character can break a frame.
"""

from collections.abc import Mapping

from app.domain.identity import Identity
from app.domain.storable import Json
from app.gateway.bodies import json_bytes
from app.gateway.wire import encode_text
from app.protocol.errors import ErrorCode
from app.protocol.server import (
    Goodbye,
    IdentityView,
    Pong,
    ServerFrame,
    Welcome,
    encode_server_frame,
)


def _frame(frame: ServerFrame) -> bytes:
    return encode_text(encode_server_frame(frame))


PONG = _frame(Pong())


def welcome(session: str, identity: Identity, heartbeat_s: float) -> bytes:
    """Return a ``welcome`` for this person."""
    view = None
    if identity.user_id is not None:
        view = IdentityView(user_id=identity.user_id, roles=tuple(sorted(identity.roles)))
    return _frame(Welcome(session=session, identity=view, heartbeat=heartbeat_s))


def result(id_: str, value: Json) -> bytes:
    """Return the ``result`` of a call."""
    return encode_text(
        b'{"type":"result","id":%b,"value":%b}' % (json_bytes(id_), json_bytes(value))
    )


def error(
    id_: str | None,
    code: ErrorCode,
    message: str,
    data: Mapping[str, object] | None = None,
    *,
    live: bool = False,
) -> bytes:
    """Return an ``error``, about a call or a subscription, or without an id about the socket.

    ``live``: about a subscription that stands, whose query failed.
    ``data`` that is no JSON is left out: nobody is helped by an error about an error.
    """
    fields: dict[str, object] = {"type": "error", "code": code, "message": message}
    if id_ is not None:
        fields["id"] = id_
    if live:
        fields["live"] = True
    try:
        return encode_text(json_bytes(fields if data is None else {**fields, "data": data}))
    except TypeError:
        return encode_text(json_bytes(fields))


def goodbye(retry_after_s: float) -> bytes:
    """Return a ``goodbye``."""
    return _frame(Goodbye(reason="draining", retry_after=retry_after_s))
