"""A server function that is to be called later: what is stored of it, and who calls it."""

from dataclasses import dataclass, field
from datetime import datetime

from app.domain.identity import Identity


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A call to make.

    Attributes:
        function: the reference, spelled as on the wire.
        arguments: their JSON.
        caller: whom the function sees as ``ctx.auth``: who scheduled it, or nobody.
    """

    function: str
    arguments: str
    caller: Identity = field(default_factory=Identity)


@dataclass(frozen=True, slots=True)
class DueCall:
    """A call that is this process's to make, for as long as it keeps its claim.

    Attributes:
        id: what the call is known by; nobody outside can guess it.
        target: what to call.
        attempts: how often it was claimed, this time included.
        due_at: since when it may be made.
    """

    id: str
    target: CallTarget
    attempts: int
    due_at: datetime
