"""What a server function may raise for its caller: the code and the sentence reach the client.

Anything else that a function raises is a fault of ours: the caller hears ``INTERNAL``,
and the log has the rest.  So it is with ``OutputMismatch``, which is for the function to catch.
"""

from app.domain.errors import (
    Conflict,
    Forbidden,
    InvalidArgument,
    NotFound,
    OutputMismatch,
    Unauthenticated,
)

__all__ = [
    "Conflict",
    "Forbidden",
    "InvalidArgument",
    "NotFound",
    "OutputMismatch",
    "Unauthenticated",
]
