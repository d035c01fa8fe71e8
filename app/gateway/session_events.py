"""What a session hears (events) and what it wants done (effects)."""

from dataclasses import dataclass
from typing import TypeAlias

from app.domain.cursor import Cursor
from app.domain.identity import Identity
from app.gateway.queries import Query
from app.protocol.client import Call, ClientFrame
from app.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Came:
    """A well-formed frame came."""

    frame: ClientFrame


@dataclass(frozen=True, slots=True)
class Garbled:
    """A frame came that is none; ``id`` is its own if it has one."""

    id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """Judgement ``number``: the token is this person's."""

    number: int
    identity: Identity


@dataclass(frozen=True, slots=True)
class Refused:
    """Judgement ``number``: the token is not good."""

    number: int
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """Judgement ``number`` could not be made just now."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call with this id was answered."""

    id: str


@dataclass(frozen=True, slots=True)
class Ticked:
    """Time has passed; ``heard_at`` is when the peer last sent anything."""

    heard_at: float


@dataclass(frozen=True, slots=True)
class ServerLeft:
    """The server drains: nothing new is begun."""


@dataclass(frozen=True, slots=True)
class PeerLeft:
    """The socket is closed."""


Event: TypeAlias = (
    Came | Garbled | Accepted | Refused | Undecided | CallEnded | Ticked | ServerLeft | PeerLeft
)


@dataclass(frozen=True, slots=True)
class Judge:
    """Have a token judged."""

    number: int
    token: str | None


@dataclass(frozen=True, slots=True)
class Greet:
    """Say ``welcome``."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class Become:
    """From now on the socket speaks for this person: check its subscriptions again."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class Answer:
    """Send an error."""

    id: str | None
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Begin a subscription."""

    id: str
    query: Query
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class Unwatch:
    """End a subscription."""

    id: str


@dataclass(frozen=True, slots=True)
class Run:
    """Call a function for ``identity``."""

    call: Call
    identity: Identity


@dataclass(frozen=True, slots=True)
class Pong:
    """Answer a ping."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask whether the peer is still there."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the socket."""

    code: int
    reason: str


Effect: TypeAlias = Judge | Greet | Become | Answer | Watch | Unwatch | Run | Pong | Probe | HangUp
