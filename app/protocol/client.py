"""What a client may send: one tagged union, parsed strictly and in one place.

A malformed frame is the sender's fault and never the end of the socket: parsing
answers ``MalformedFrame`` with a sentence, and with the frame's ``id`` where one
can be made out, so that the gateway's ``error`` reaches the request it belongs to.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from app.protocol.wire import (
    MAX_ID,
    MAX_TOKEN,
    Cursor,
    FunctionRef,
    Inbound,
    WireId,
    absent,
    first_fault,
)
from app.threads.limits import MAX_DEDUPE

PROTOCOL_VERSION = 1
SUBPROTOCOL = "ropewalk.v1"
HELLO_TIMEOUT_S = 10.0

Token: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TOKEN)]


class Hello(Inbound):
    """The first frame.  ``protocol`` is judged by the gateway, which closes on another."""

    type: Literal["hello"] = "hello"
    protocol: int
    token: Token | None = absent(description="a bearer token; without one the socket is anonymous")


class Auth(Inbound):
    """Refreshes the identity of a live socket; its subscriptions are checked again."""

    type: Literal["auth"] = "auth"
    token: Token


class Subscribe(Inbound):
    """Asks for a query's value now and for every change of it."""

    type: Literal["subscribe"] = "subscribe"
    id: WireId = Field(description="named by the client; in use once per socket")
    query: FunctionRef
    args: dict[str, Any] = Field(default_factory=dict)
    cursor: Cursor | None = absent(description="what the client has; only later changes are sent")


class Unsubscribe(Inbound):
    """Ends a subscription.  One that does not exist is no error."""

    type: Literal["unsubscribe"] = "unsubscribe"
    id: WireId


class Call(Inbound):
    """Calls a function; ``result`` or ``error`` with the same id answers."""

    type: Literal["call"] = "call"
    id: WireId
    fn: FunctionRef
    args: dict[str, Any] = Field(default_factory=dict)
    dedupe: Annotated[str, StringConstraints(min_length=1, max_length=MAX_DEDUPE)] | None = absent(
        description="a call repeated under this key takes effect once"
    )


class Ping(Inbound):
    """Asks for a ``pong``."""

    type: Literal["ping"] = "ping"


ClientFrame: TypeAlias = Annotated[
    Hello | Auth | Subscribe | Unsubscribe | Call | Ping, Field(discriminator="type")
]
client_frame: TypeAdapter[ClientFrame] = TypeAdapter(ClientFrame)


class MalformedFrame(ValueError):
    """The sender's fault: not JSON, no known ``type``, or fields that do not fit.

    ``id`` is the frame's own id when it has a usable one, else ``None``.
    """

    def __init__(self, message: str, *, id: str | None) -> None:  # noqa: A002 - the wire's word
        self.id = id
        super().__init__(message)


def parse_client_frame(raw: str | bytes) -> ClientFrame:
    """Return the frame in ``raw``.

    Raises:
        MalformedFrame: with a sentence that names the field and repeats nothing of
            the content, tokens least of all.
    """
    try:
        frame: object = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise MalformedFrame(f"not JSON: {error}", id=None) from None
    try:
        return client_frame.validate_python(frame, strict=True)
    except ValidationError as error:
        raise MalformedFrame(_sentence(error), id=_id_of(frame)) from None


def _sentence(error: ValidationError) -> str:
    kind = error.errors(include_url=False, include_context=False, include_input=False)[0]["type"]
    if kind in {"union_tag_not_found", "union_tag_invalid"}:
        return "type: must be one of hello, auth, subscribe, unsubscribe, call, ping"
    return first_fault(error, below=1)  # the first step is the union's tag


def _id_of(frame: object) -> str | None:
    found = frame.get("id") if isinstance(frame, dict) else None
    return found if isinstance(found, str) and 0 < len(found) <= MAX_ID else None
