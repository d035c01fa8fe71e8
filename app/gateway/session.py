r"""The session of one socket: its states, its events, and the one function that moves it.

Nothing here performs I/O or reads a clock; ``app.gateway.connection`` carries out the
effects.

               hello               accepted
    Greeting --------> Judging --------------> Live --+ auth, calls, subscriptions
       ^                  |                     |  ^  |
       |     refused      |                     |  +--+
       +------------------+                     |
       \--- hello too late, wrong protocol ---> Over <--- abuse, token ran out, silence

Laws: a malformed frame is answered and the socket lives; an id is in use once; what a
socket may hold at once (subscriptions, calls) is bounded; a token is judged again from
time to time, so a revoked one ends its socket within ``recheck_s + grace_s``.  Frames
that come while a hello is judged are held and taken after it, so that a client need not
wait for its ``welcome``.
"""

from dataclasses import replace
from typing import assert_never

from app.gateway.live_session import advance_live
from app.gateway.session_events import (
    Accepted,
    Answer,
    Become,
    Came,
    Effect,
    Event,
    Garbled,
    Greet,
    HangUp,
    Judge,
    PeerLeft,
    Refused,
    Ticked,
    Undecided,
)
from app.gateway.session_state import (
    NEVER,
    Greeting,
    Judging,
    Limits,
    Live,
    Over,
    Session,
    Step,
    fault,
    over,
)
from app.protocol.client import PROTOCOL_VERSION, ClientFrame, Hello
from app.protocol.errors import CLOSE_ABUSE, CLOSE_NO_HELLO, CLOSE_PROTOCOL


def new_session(now: float, limits: Limits) -> Session:
    """Return the session of a socket that has just opened."""
    return Session(Greeting(now + limits.hello_s))


def advance(session: Session, event: Event, now: float, limits: Limits) -> Step:
    """Return the session after ``event`` and the effects owed for it, in order.

    An event that comes too late for its phase changes nothing: verdicts and ends of
    calls race with closing.
    """
    if isinstance(event, PeerLeft):
        return over(session)
    match session.phase:
        case Over():
            return session, ()
        case Greeting() as phase:
            return _greeting(session, phase, event, now, limits)
        case Judging() as phase:
            return _judging(session, phase, event, now, limits)
        case Live() as phase:
            return advance_live(session, phase, event, now, limits)
        case _ as never:
            assert_never(never)


def next_due(session: Session, heard_at: float, now: float, limits: Limits) -> float:
    """Return when ``Ticked`` has to come next."""
    match session.phase:
        case Over():
            return NEVER
        case Greeting(deadline) | Judging(deadline):
            return deadline
        case Live() as live:
            probe_at = heard_at + limits.heartbeat_s
            silent_at = probe_at if now < probe_at else probe_at + limits.heartbeat_s
            return min(silent_at, live.recheck_at, live.grace_until)
        case _ as never:
            assert_never(never)


def _greeting(session: Session, phase: Greeting, event: Event, now: float, limits: Limits) -> Step:
    match event:
        case Came(Hello(protocol=version)) if version != PROTOCOL_VERSION:
            reason = f"protocol {version} is not spoken here; {PROTOCOL_VERSION} is"
            return over(session, HangUp(CLOSE_PROTOCOL, reason))
        case Came(Hello(token=token)):
            number = session.judged + 1
            judging = Judging(phase.deadline, token)
            return replace(session, phase=judging, judged=number), (Judge(number, token),)
        case Came(frame):
            answer = Answer(_id_of(frame), "INVALID_ARGUMENT", "say hello first")
            return fault(session, answer, now, limits)
        case Garbled(id_, message):
            return fault(session, Answer(id_, "INVALID_ARGUMENT", message), now, limits)
        case Ticked() if now >= phase.deadline:
            return over(session, HangUp(CLOSE_NO_HELLO, "no accepted hello in time"))
        case _:
            return session, ()


def _judging(session: Session, phase: Judging, event: Event, now: float, limits: Limits) -> Step:
    match event:
        case Accepted(number, identity) if number == session.judged:
            recheck_at = NEVER if phase.token is None else now + limits.recheck_s
            live = Live(identity, phase.token, recheck_at, settled=number)
            return _begin(session, live, phase.held, now, limits)
        case Refused(number, code, message) if number == session.judged:
            return _send_back(session, phase, Answer(None, code, message))
        case Undecided(number, message) if number == session.judged:
            return _send_back(session, phase, Answer(None, "UNAVAILABLE", message))
        case Came() if len(phase.held) >= limits.held:
            return over(session, HangUp(CLOSE_ABUSE, "too many frames before the welcome"))
        case Came(frame):
            return replace(session, phase=replace(phase, held=(*phase.held, frame))), ()
        case Garbled(id_, message):
            return fault(session, Answer(id_, "INVALID_ARGUMENT", message), now, limits)
        case Ticked() if now >= phase.deadline:
            return over(session, HangUp(CLOSE_NO_HELLO, "no accepted hello in time"))
        case _:
            return session, ()


def _begin(
    session: Session, live: Live, held: tuple[ClientFrame, ...], now: float, limits: Limits
) -> Step:
    """Welcome, then take what came in the meantime."""
    session = replace(session, phase=live)
    effects: list[Effect] = [Become(live.identity), Greet(live.identity)]
    for frame in held:
        session, more = advance(session, Came(frame), now, limits)
        effects += more
    return session, tuple(effects)


def _send_back(session: Session, phase: Judging, answer: Answer) -> Step:
    """Return to the greeting: another hello may follow until the same deadline."""
    refused = [
        Answer(id_, "UNAUTHENTICATED", "the hello was not accepted")
        for id_ in map(_id_of, phase.held)
        if id_ is not None
    ]
    return replace(session, phase=Greeting(phase.deadline)), (answer, *refused)


def _id_of(frame: ClientFrame) -> str | None:
    return getattr(frame, "id", None)
