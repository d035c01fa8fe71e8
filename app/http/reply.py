"""JSON responses, in the bytes that the socket would use."""

from collections.abc import Mapping

from pydantic_core import to_jsonable_python
from starlette.responses import Response

from app.domain.storable import encode

_ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Answers belong to one caller and are true for a moment."""


def reply(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return ``value`` as a JSON response."""
    return Response(
        encode(to_jsonable_python(value)),
        status_code=status,
        media_type="application/json",
        headers={**_ALWAYS, **(headers or {})},
    )
