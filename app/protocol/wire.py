"""What all frames and rows have in common: spelling, strictness, absent fields.

Names are snake_case in Python and camelCase on the wire.  A field declared with
``absent()`` is left out of the JSON while it is ``None``; any other field is always
sent, ``null`` included, so that a reader can tell "nothing" from "not said".
"""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from app.threads.limits import MAX_KEY

MAX_ID = 2048
"""Subscription ids are a query and its arguments in canonical form, so they are long."""

MAX_TOKEN = 16_384

MAX_FRAME = 1024 * 1024
"""Bytes of the largest message that a socket takes; a larger one ends it."""

MAX_CALLS = 64
"""Calls in flight on a socket; one more is refused."""

Cursor: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[^.\s]+\.(0|[1-9][0-9]{0,18})$", max_length=100)
]
"""``TIMELINE.VERSION``: up to here a subscriber has everything."""

WireId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID)]
ThreadKey: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_KEY, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""No control characters: Postgres stores no NUL, and nobody could read the others."""
FunctionRef: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=200)
]
"""``module:name``; the registry resolves both spellings of the name."""


def absent(*, ge: float | None = None, description: str | None = None) -> Any:  # noqa: ANN401
    """Declare an optional field that is left out of the JSON while it is ``None``.

    Typed ``Any`` as ``Field`` itself is, so that it stands for a field of any type.
    """
    return Field(
        default=None,
        ge=ge,
        description=description,
        exclude_if=_is_none,
        json_schema_extra={"absent": True},
    )


def first_fault(error: ValidationError, *, below: int = 0) -> str:
    """Return what is wrong first, as ``field: why``, and nothing of what was sent.

    Args:
        error: of a frame, a body or arguments.
        below: how many steps of the path the sender does not know, such as a union's tag.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"][below:])
    return f"{where}: {first['msg']}" if where else first["msg"]


def _is_none(value: object) -> bool:
    return value is None


class Inbound(BaseModel):
    """Base of what the server takes: camelCase only, nothing unknown."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, serialize_by_alias=True
    )


class Outbound(BaseModel):
    """Base of what the server says: built with Python's names, read with the wire's."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )
