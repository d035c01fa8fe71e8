"""What the server sends: one tagged union.

``snapshot`` and ``delta`` carry facts, ordered by their cursors.  ``token`` carries
what a model is saying just now; it promises nothing and is dropped as soon as the
message it grows into is there.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from app.protocol.errors import ErrorCode
from app.protocol.wire import Cursor, Outbound, WireId, absent


class IdentityView(Outbound):
    """Who the socket speaks for, as the token says."""

    user_id: str
    roles: tuple[str, ...] = ()


class Welcome(Outbound):
    """Answers an accepted ``hello``, and each accepted ``auth``."""

    type: Literal["welcome"] = "welcome"
    session: str
    identity: IdentityView | None
    heartbeat: float = Field(
        gt=0, description="seconds; the client pings when it has heard nothing for that long"
    )


class Snapshot(Outbound):
    """The whole value of a subscription; it replaces what the client had."""

    type: Literal["snapshot"] = "snapshot"
    id: WireId
    cursor: Cursor
    value: Any


class Upsert(Outbound):
    """A row that is new, or that replaces the one with its ``id``."""

    op: Literal["upsert"] = "upsert"
    row: Any


class Remove(Outbound):
    """A row that is gone."""

    op: Literal["remove"] = "remove"
    id: str


RowOp: TypeAlias = Annotated[Upsert | Remove, Field(discriminator="op")]


class Delta(Outbound):
    """Changed rows of one list query, from one cursor to the next.

    Applies if ``from <= mine < cursor``, is ignored if ``cursor <= mine``; a client
    behind ``from`` has missed something and resubscribes with its own cursor.
    """

    type: Literal["delta"] = "delta"
    id: WireId
    from_: Cursor = Field(alias="from")
    cursor: Cursor
    ops: tuple[RowOp, ...]


TokenKind: TypeAlias = Literal["text", "thinking", "tool_args"]


class Token(Outbound):
    """A piece of what the model is saying, at its place in UTF-16 code units.

    ``offset`` 0 replaces the part.  A higher ``attempt`` replaces everything of the
    turn, a lower one is dropped.
    """

    type: Literal["token"] = "token"
    id: WireId
    run: str
    turn: int = Field(ge=0)
    part: int = Field(ge=0)
    kind: TokenKind
    offset: int = Field(ge=0)
    text: str
    attempt: int = Field(ge=0)


class Result(Outbound):
    """The value of a call."""

    type: Literal["result"] = "result"
    id: WireId
    value: Any


class ErrorFrame(Outbound):
    """What went wrong with a call, a subscription (by ``id``) or the socket (without).

    ``live`` is said of a subscription that stands: its query failed, the server asks it
    again by itself, and a ``snapshot`` comes when it works.  Without it, a subscription
    that is answered by an error does not exist.

    Not called ``Error``, which is a word of JavaScript's own.
    """

    type: Literal["error"] = "error"
    id: WireId | None = absent()
    code: ErrorCode
    message: str
    data: Any = absent()
    live: bool | None = absent()


class Pong(Outbound):
    """Answers a ``ping``."""

    type: Literal["pong"] = "pong"


class Goodbye(Outbound):
    """The server drains and will close: reconnect elsewhere."""

    type: Literal["goodbye"] = "goodbye"
    reason: str
    retry_after: float | None = absent(ge=0, description="seconds; the client adds its own jitter")


ServerFrame: TypeAlias = Annotated[
    Welcome | Snapshot | Delta | Token | Result | ErrorFrame | Pong | Goodbye,
    Field(discriminator="type"),
]
server_frame: TypeAdapter[ServerFrame] = TypeAdapter(ServerFrame)


def encode_server_frame(frame: ServerFrame) -> bytes:
    """Return ``frame`` as the UTF-8 JSON that goes on the wire."""
    return server_frame.dump_json(frame)
