"""One tree of deliberate errors, branched by who can act on them.

``code`` is stable and goes over the wire; the sentence may change.  Drivers'
exceptions are translated in their adapter with ``raise ... from error``, so no
ring above the rim ever names a driver.
"""

from collections.abc import Mapping
from typing import ClassVar


class ChatError(Exception):
    """Base of every deliberate error; catch this only at a process edge."""

    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


class ClientFault(ChatError):
    """The caller sent something we refuse; retrying it unchanged cannot help."""

    code = "INVALID_ARGUMENT"


class InvalidArgument(ClientFault):
    """An argument is missing, malformed, or of the wrong type."""


class Unauthenticated(ClientFault):
    """A token is missing where one is needed, or it does not verify."""

    code = "UNAUTHENTICATED"


class Forbidden(ClientFault):
    """The caller is known and may not do this."""

    code = "FORBIDDEN"


class NotFound(ClientFault):
    """No such thing, or the caller may not see it (we do not say which)."""

    code = "NOT_FOUND"


class Conflict(ClientFault):
    """The thing is in a state that does not allow this now; ``data`` says which."""

    code = "CONFLICT"


class PayloadTooLarge(ClientFault):
    """A frame, body or value is above its limit."""

    code = "PAYLOAD_TOO_LARGE"


class RateLimited(ClientFault):
    """Too many calls; ``data`` carries ``retryAfter`` in seconds."""

    code = "RATE_LIMITED"


class AgentFault(ChatError):
    """The author of an agent, tool or function has to mend something."""


class DeclarationError(AgentFault):
    """A declaration under ``agents/`` is wrong; the message names the place and the fix."""


class RecordRefused(AgentFault):
    """Postgres refused a step's record for good (data error, constraint); never retried."""


class OutputMismatch(AgentFault):
    """A run's output is no instance of the type that it is read as."""


class TransientFault(ChatError):
    """A dependency failed; the same call may succeed a moment later."""

    code = "UNAVAILABLE"


class JournalUnavailable(TransientFault):
    """Redis did not answer.  Postgres alone is enough to go on."""


class StoreUnavailable(TransientFault):
    """Postgres did not answer.  Nothing can be recorded until it does."""


class Contended(TransientFault):
    """Two transactions ran into each other; nothing of this one is there.  Run it again whole."""


class IllegalTransition(ChatError):
    """A state has no edge for an event: our bug, never expected."""


class RunInterrupt(BaseException):
    """Control flow out of a program, not failure.

    Derives from ``BaseException`` so that ``except Exception`` in a user's tool
    cannot swallow it.  Only the engine raises and catches these.
    """


class FenceLost(RunInterrupt):
    """The thread has another live run or another epoch: stop at once and write nothing."""


class RunParked(RunInterrupt):
    """The run waits for a fact and holds nothing; this drive is over."""


class RunEnded(RunInterrupt):
    """The run is settled; this drive is over."""
