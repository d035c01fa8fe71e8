"""What an exception looks like to a client, on a socket and over HTTP alike.

Deliberate errors that a caller can act on go out as they are.  Anything else, and any
deliberate error that is about us (``INTERNAL``), becomes one sentence without content:
the details are in the log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from app.domain.errors import ChatError
from app.protocol.errors import HTTP_STATUS, ErrorCode

_OURS = "something went wrong on our side"


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as clients get it."""

    code: ErrorCode
    message: str
    data: Mapping[str, object] | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it has to be logged, because the client is not told what it was."""
        return self.code == "INTERNAL"


def fault_of(error: Exception) -> Fault:
    """Return what the client is told of ``error``."""
    if isinstance(error, ChatError) and error.code in HTTP_STATUS and error.code != "INTERNAL":
        return Fault(cast(ErrorCode, error.code), error.message, error.data)
    return Fault("INTERNAL", _OURS)
