"""Frames for the wire, put together from pieces that are each encoded once.

The same rows go out under several ids and in several frames, so they are JSON before
they are in a frame.  ``tests/unit/gateway/test_bodies.py`` holds these bytes against the
models in ``app.protocol.server``.
"""

from collections.abc import Sequence

from app.domain.cursor import Cursor
from app.domain.message import Message
from app.domain.ports import ThreadSnapshot
from app.domain.storable import encode
from app.gateway.live_text import Piece
from app.gateway.wire import encode_text
from app.threads.views import message_view, thread_view


def json_bytes(value: object) -> bytes:
    """Return ``value`` as UTF-8 JSON."""
    return encode(value).encode()


def message_bytes(message: Message) -> bytes:
    """Return a row as clients get it."""
    return json_bytes(message_view(message))


def thread_bytes(snapshot: ThreadSnapshot) -> bytes:
    """Return a thread as clients get it."""
    return json_bytes(thread_view(snapshot))


def rows_value(rows: Sequence[bytes]) -> bytes:
    """Return the value of a list query."""
    return b"[%b]" % b",".join(rows)


def upserts(rows: Sequence[bytes]) -> bytes:
    """Return the ``ops`` of a delta that brings these rows."""
    return b"[%b]" % b",".join([b'{"op":"upsert","row":%b}' % row for row in rows])


def snapshot_frame(id_: bytes, cursor: Cursor, value: bytes) -> bytes:
    """Return a whole ``snapshot`` frame.  ``id_`` is JSON."""
    return encode_text(
        b'{"type":"snapshot","id":%b,"cursor":%b,"value":%b}' % (id_, _cursor(cursor), value)
    )


def delta_frame(id_: bytes, since: Cursor, cursor: Cursor, ops: bytes) -> bytes:
    """Return a whole ``delta`` frame."""
    return encode_text(
        b'{"type":"delta","id":%b,"from":%b,"cursor":%b,"ops":%b}'
        % (id_, _cursor(since), _cursor(cursor), ops)
    )


def token_body(piece: Piece) -> bytes:
    """Return what all ``token`` frames of this piece have in common."""
    fields = {
        "run": piece.run,
        "turn": piece.turn,
        "part": piece.part,
        "kind": piece.kind,
        "offset": piece.offset,
        "text": piece.text,
        "attempt": piece.attempt,
    }
    return json_bytes(fields)[1:]


def token_frame(id_: bytes, body: bytes) -> bytes:
    """Return a whole ``token`` frame around ``token_body``."""
    return encode_text(b'{"type":"token","id":%b,%b' % (id_, body))


def _cursor(cursor: Cursor) -> bytes:
    return json_bytes(str(cursor))
