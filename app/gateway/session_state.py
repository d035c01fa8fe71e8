"""The states of a socket's session, and what a socket may do.

``app.gateway.session`` moves between them and draws them.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from app.domain.identity import Identity
from app.gateway.session_events import Answer, Effect, HangUp
from app.protocol.client import HELLO_TIMEOUT_S, ClientFrame
from app.protocol.errors import CLOSE_ABUSE
from app.protocol.wire import MAX_CALLS

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one socket may do.  Times are seconds."""

    subscriptions: int = 200
    calls: int = MAX_CALLS
    """In flight."""
    judgements: int = 4
    """Tokens that wait for their verdict."""
    faults: float = 100
    """Malformed frames before the socket is closed; one is forgiven each second."""
    hello_s: float = HELLO_TIMEOUT_S
    heartbeat_s: float = 20.0
    recheck_s: float = 12.0
    """How often the token of a live socket is judged again.  With the grace, and the 5 s for which
    a verdict of the stores is remembered, a token that was taken back is over within 30 s."""
    grace_s: float = 10.0
    """How long a socket whose token ran out may take to bring another."""

    @property
    def held(self) -> int:
        """Frames that may come while a hello is judged."""
        return self.subscriptions + self.calls


@dataclass(frozen=True, slots=True)
class Greeting:
    """Nobody has been accepted yet."""

    deadline: float


@dataclass(frozen=True, slots=True)
class Judging:
    """A hello was said, and its token is being judged."""

    deadline: float
    token: str | None
    held: tuple[ClientFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """A token of a live socket that is being judged."""

    number: int
    token: str
    is_recheck: bool


@dataclass(frozen=True, slots=True)
class Live:
    """The socket speaks for somebody, or for nobody in particular."""

    identity: Identity
    token: str | None
    recheck_at: float
    subscriptions: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    judgements: tuple[Judgement, ...] = ()
    settled: int = 0
    """The newest judgement that this identity came from."""
    grace_until: float = NEVER
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """The socket is closed or about to be; nothing is heard any more."""


Phase: TypeAlias = Greeting | Judging | Live | Over


@dataclass(frozen=True, slots=True)
class Session:
    """A socket's session.

    ``judged`` counts judgements; ``faults`` as of ``faults_at``.
    """

    phase: Phase
    judged: int = 0
    faults: float = 0.0
    faults_at: float = 0.0


Step: TypeAlias = tuple[Session, tuple[Effect, ...]]


def over(session: Session, *effects: Effect) -> Step:
    """End the session."""
    return replace(session, phase=Over()), effects


def fault(session: Session, answer: Answer, now: float, limits: Limits, weight: float = 1) -> Step:
    """Answer a frame that is refused outright; too many of them are abuse.

    One fault is forgiven each second.
    """
    forgiven = max(0.0, session.faults - (now - session.faults_at))
    session = replace(session, faults=forgiven + weight, faults_at=now)
    if session.faults > limits.faults:
        return over(session, HangUp(CLOSE_ABUSE, "too many frames that were refused"))
    return session, (answer,)
