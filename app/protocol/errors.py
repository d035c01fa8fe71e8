"""The error codes of the wire and their HTTP status: one table for socket and HTTP.

A code is stable and what programs test; the sentence beside it is for people and
may change.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

ErrorCode: TypeAlias = Literal[
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "NOT_FOUND",
    "CONFLICT",
    "INVALID_ARGUMENT",
    "RATE_LIMITED",
    "PAYLOAD_TOO_LARGE",
    "UNAVAILABLE",
    "INTERNAL",
]

HTTP_STATUS: Final[Mapping[ErrorCode, int]] = MappingProxyType(
    {
        "UNAUTHENTICATED": 401,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "CONFLICT": 409,
        "INVALID_ARGUMENT": 400,
        "RATE_LIMITED": 429,
        "PAYLOAD_TOO_LARGE": 413,
        "UNAVAILABLE": 503,
        "INTERNAL": 500,
    }
)

CLOSE_GOING_AWAY: Final = 1001
"""The server drains; a ``goodbye`` came first.  Reconnect, it may be elsewhere."""

CLOSE_ABUSE: Final = 1008
"""Frames that keep being malformed, or far too many of them."""

CLOSE_TOO_LARGE: Final = 1009
"""One frame above the limit."""

CLOSE_SLOW: Final = 1013
"""The reader did not keep up.  Reconnect with cursors."""

CLOSE_PROTOCOL: Final = 4400
"""The protocol version is not spoken here.  Reconnecting cannot help."""

CLOSE_UNAUTHENTICATED: Final = 4401
"""The token ran out or was revoked and no good one came in time."""

CLOSE_NO_HELLO: Final = 4408
"""No accepted ``hello`` within 10 s."""
