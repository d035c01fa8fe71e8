"""The live phase of a session: frames, verdicts and time, once somebody was accepted."""

from dataclasses import replace
from typing import assert_never

from app.domain.cursor import Cursor
from app.domain.errors import ClientFault
from app.gateway.queries import parse_query
from app.gateway.session_events import (
    Accepted,
    Answer,
    Become,
    CallEnded,
    Came,
    Effect,
    Event,
    Garbled,
    Greet,
    HangUp,
    Judge,
    PeerLeft,
    Pong,
    Probe,
    Refused,
    Run,
    ServerLeft,
    Ticked,
    Undecided,
    Unwatch,
    Watch,
)
from app.gateway.session_state import (
    NEVER,
    Judgement,
    Limits,
    Live,
    Session,
    Step,
    fault,
    over,
)
from app.protocol.client import Auth, Call, ClientFrame, Hello, Ping, Subscribe, Unsubscribe
from app.protocol.errors import CLOSE_UNAUTHENTICATED
from app.protocol.faults import fault_of
from app.threads.scopes import check_scope

CLOSE_SILENT = 1011
"""The peer gave no sign of life; it will hardly read this."""

_OTHER_SCOPES = "a socket keeps the scopes that it began with; open another one for this token"
"""So that no subscription outlives the scope that let it begin."""

_REFUSED_CALL = 0.1
"""Weight of a call too many, in faults: a burst from a busy page is no abuse, a flood is."""


def advance_live(session: Session, live: Live, event: Event, now: float, limits: Limits) -> Step:
    """Return what ``event`` does to a live session; see ``app.gateway.session.advance``."""
    match event:
        case Came(frame):
            return _frame(session, live, frame, now, limits)
        case Garbled(id_, message):
            return fault(session, Answer(id_, "INVALID_ARGUMENT", message), now, limits)
        case CallEnded(id_):
            return _stay(session, replace(live, calls=live.calls - {id_}))
        case Accepted() | Refused() | Undecided():
            return _verdict(session, live, event, now, limits)
        case Ticked(heard_at):
            return _tick(session, live, heard_at, now, limits)
        case PeerLeft():
            return over(session)
        case ServerLeft():
            return _stay(session, replace(live, is_leaving=True))
        case _ as never:
            assert_never(never)


def _frame(session: Session, live: Live, frame: ClientFrame, now: float, limits: Limits) -> Step:
    match frame:
        case Ping():
            return session, (Pong(),)
        case Hello():
            return session, (Answer(None, "INVALID_ARGUMENT", "hello was said already"),)
        case Auth(token=token):
            if len(live.judgements) >= limits.judgements:
                answer = Answer(None, "RATE_LIMITED", "too many tokens at once")
                return fault(session, answer, now, limits)
            return _judge(session, live, token, is_recheck=False)
        case Subscribe():
            return _subscribe(session, live, frame, limits)
        case Unsubscribe(id=id_):
            if id_ not in live.subscriptions:
                return session, ()
            rest = replace(live, subscriptions=live.subscriptions - {id_})
            return _stay(session, rest, Unwatch(id_))
        case Call():
            return _call(session, live, frame, now, limits)
        case _ as never:
            assert_never(never)


def _subscribe(session: Session, live: Live, frame: Subscribe, limits: Limits) -> Step:
    refusal = _refusal(live, frame.id)
    if refusal is None and len(live.subscriptions) >= limits.subscriptions:
        sentence = f"at most {limits.subscriptions} subscriptions a socket"
        refusal = Answer(frame.id, "RATE_LIMITED", sentence)
    if refusal is not None:
        return session, (refusal,)
    try:
        check_scope(live.identity, frame.query)
        query = parse_query(frame.query, frame.args)
        cursor = Cursor.parse(frame.cursor) if frame.cursor is not None else None
    except ClientFault as error:
        return session, (Answer(frame.id, fault_of(error).code, error.message),)
    grown = replace(live, subscriptions=live.subscriptions | {frame.id})
    return _stay(session, grown, Watch(frame.id, query, cursor))


def _call(session: Session, live: Live, frame: Call, now: float, limits: Limits) -> Step:
    refusal = _refusal(live, frame.id)
    if refusal is not None:
        return session, (refusal,)
    if len(live.calls) >= limits.calls:
        sentence = f"at most {limits.calls} calls of a socket at once"
        answer = Answer(frame.id, "RATE_LIMITED", sentence)
        return fault(session, answer, now, limits, weight=_REFUSED_CALL)
    grown = replace(live, calls=live.calls | {frame.id})
    return _stay(session, grown, Run(frame, live.identity))


def _refusal(live: Live, id_: str) -> Answer | None:
    if live.is_leaving:
        return Answer(id_, "UNAVAILABLE", "the server is going away; reconnect")
    if id_ in live.subscriptions or id_ in live.calls:
        return Answer(id_, "INVALID_ARGUMENT", "this id is in use")
    return None


def _judge(session: Session, live: Live, token: str, *, is_recheck: bool) -> Step:
    number = session.judged + 1
    waiting = (*live.judgements, Judgement(number, token, is_recheck))
    moved = replace(session, judged=number, phase=replace(live, judgements=waiting))
    return moved, (Judge(number, token),)


def _verdict(
    session: Session,
    live: Live,
    verdict: Accepted | Refused | Undecided,
    now: float,
    limits: Limits,
) -> Step:
    asked = next((each for each in live.judgements if each.number == verdict.number), None)
    if asked is None:
        return session, ()
    rest = tuple(each for each in live.judgements if each is not asked)
    live = replace(live, judgements=rest)
    is_late = asked.number < live.settled
    if isinstance(verdict, Accepted) and verdict.identity.scopes != live.identity.scopes:
        verdict = Refused(verdict.number, "FORBIDDEN", _OTHER_SCOPES)
    match verdict:
        case Accepted(number, identity):
            if not is_late:
                live = replace(
                    live,
                    identity=identity,
                    token=asked.token,
                    settled=number,
                    recheck_at=now + limits.recheck_s,
                    grace_until=NEVER,
                )
            become = () if is_late else (Become(identity),)
            greet = () if asked.is_recheck else (Greet(live.identity),)
            return _stay(session, live, *become, *greet)
        case Refused(_, code, message):
            if not asked.is_recheck:
                return _stay(session, live, Answer(None, code, message))
            if is_late:
                return _stay(session, live)
            graced = replace(live, grace_until=min(live.grace_until, now + limits.grace_s))
            return _stay(session, graced, Answer(None, "UNAUTHENTICATED", message))
        case Undecided(_, message):
            if asked.is_recheck:
                return _stay(session, live)
            return _stay(session, live, Answer(None, "UNAVAILABLE", message))
        case _ as never:
            assert_never(never)


def _tick(session: Session, live: Live, heard_at: float, now: float, limits: Limits) -> Step:
    silence = now - heard_at
    if silence >= 2 * limits.heartbeat_s:
        return over(session, HangUp(CLOSE_SILENT, "no sign of life"))
    if now >= live.grace_until:
        return over(session, HangUp(CLOSE_UNAUTHENTICATED, "the token ran out"))
    effects: tuple[Effect, ...] = (Probe(),) if silence >= limits.heartbeat_s else ()
    if now >= live.recheck_at and live.token is not None:
        later = replace(live, recheck_at=now + limits.recheck_s)
        session, judge = _judge(session, later, live.token, is_recheck=True)
        effects += judge
    return session, effects


def _stay(session: Session, live: Live, *effects: Effect) -> Step:
    return replace(session, phase=live), effects
