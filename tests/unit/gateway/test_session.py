"""The session of a socket, as a table and as laws."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.cursor import Cursor
from app.domain.identity import ANONYMOUS, Identity
from app.gateway.live_session import CLOSE_SILENT
from app.gateway.queries import MessagesQuery, ThreadQuery
from app.gateway.session import advance, new_session, next_due
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
from app.gateway.session_state import NEVER, Limits, Live, Over, Session
from app.protocol.client import Call, parse_client_frame
from app.protocol.errors import (
    CLOSE_ABUSE,
    CLOSE_NO_HELLO,
    CLOSE_PROTOCOL,
    CLOSE_UNAUTHENTICATED,
)

pytestmark = pytest.mark.req("IMP-04")

ANN = Identity("ann")
LIMITS = Limits(subscriptions=3, calls=2, faults=5, recheck_s=60)


def came(type_: str, **fields: Any) -> Came:  # noqa: ANN401 - any JSON
    return Came(parse_client_frame(json.dumps({"type": type_, **fields})))


def auth(token: str) -> Came:
    return came("auth", token=token)


GOOD = "t"
HELLO = came("hello", protocol=1, token=GOOD)
SUBSCRIBE = came("subscribe", id="s", query="agents:agentMessages", args={"key": "k"})
CALL_FRAME = Call(id="c", fn="chat:startRun", args={})
CALL = Came(CALL_FRAME)


class Played:
    """A session after some events, each at its moment."""

    def __init__(self, *events: Event, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.session: Session = new_session(0.0, limits)
        self.now = 0.0
        self.effects: tuple[Effect, ...] = ()
        self.take(*events)

    def take(self, *events: Event) -> tuple[Effect, ...]:
        """Return the effects of the last event."""
        for event in events:
            self.session, self.effects = advance(self.session, event, self.now, self.limits)
        return self.effects

    def at(self, now: float, *events: Event) -> tuple[Effect, ...]:
        self.now = now
        return self.take(*events)

    @property
    def live(self) -> Live:
        assert isinstance(self.session.phase, Live)
        return self.session.phase

    @property
    def is_over(self) -> bool:
        return isinstance(self.session.phase, Over)


def live(limits: Limits = LIMITS) -> Played:
    return Played(HELLO, Accepted(1, ANN), limits=limits)


def answers(effects: tuple[Effect, ...]) -> list[tuple[str | None, str]]:
    return [(each.id, each.code) for each in effects if isinstance(each, Answer)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([HELLO], (Judge(1, "t"),), id="hello-is-judged"),
        pytest.param([came("hello", protocol=1)], (Judge(1, None),), id="hello-of-nobody"),
        pytest.param(
            [HELLO, Accepted(1, ANN)], (Become(ANN), Greet(ANN)), id="accepted-is-greeted"
        ),
        pytest.param(
            [HELLO, Refused(1, "UNAUTHENTICATED", "expired")],
            (Answer(None, "UNAUTHENTICATED", "expired"),),
            id="refused-is-told",
        ),
        pytest.param(
            [HELLO, Undecided(1, "later")],
            (Answer(None, "UNAVAILABLE", "later"),),
            id="undecided-is-told",
        ),
        pytest.param(
            [HELLO, Refused(1, "UNAUTHENTICATED", "expired"), HELLO],
            (Judge(2, "t"),),
            id="another-hello-may-follow",
        ),
        pytest.param(
            [HELLO, Refused(1, "UNAUTHENTICATED", "no"), HELLO, Accepted(1, ANN)],
            (),
            id="a-verdict-of-the-hello-before-is-not-heard",
        ),
        pytest.param(
            [HELLO, Accepted(1, ANN), SUBSCRIBE],
            (Watch("s", MessagesQuery("k", 50, stream=True), None),),
            id="subscribe",
        ),
        pytest.param(
            [
                HELLO,
                Accepted(1, ANN),
                came(
                    "subscribe",
                    id="s",
                    query="agents:agent_thread",
                    args={"key": "k"},
                    cursor="a-1.7",
                ),
            ],
            (Watch("s", ThreadQuery("k"), Cursor("a-1", 7)),),
            id="subscribe-in-the-other-spelling-with-a-cursor",
        ),
        pytest.param(
            [HELLO, Accepted(1, ANN), SUBSCRIBE, came("unsubscribe", id="s")],
            (Unwatch("s"),),
            id="unsubscribe",
        ),
        pytest.param(
            [HELLO, Accepted(1, ANN), came("unsubscribe", id="s")], (), id="unsubscribe-unknown"
        ),
        pytest.param([HELLO, Accepted(1, ANN), CALL], (Run(CALL_FRAME, ANN),), id="call"),
        pytest.param([HELLO, Accepted(1, ANN), came("ping")], (Pong(),), id="ping"),
        pytest.param([HELLO, Accepted(1, ANN), auth("u")], (Judge(2, "u"),), id="auth"),
        pytest.param(
            [HELLO, Accepted(1, ANN), auth("u"), Accepted(2, ANONYMOUS)],
            (Become(ANONYMOUS), Greet(ANONYMOUS)),
            id="auth-accepted",
        ),
        pytest.param(
            [HELLO, Accepted(1, ANN), auth("u"), Refused(2, "UNAUTHENTICATED", "no")],
            (Answer(None, "UNAUTHENTICATED", "no"),),
            id="auth-refused-leaves-the-identity",
        ),
    ],
)
def test_what_a_frame_leads_to(events: list[Event], expected: tuple[Effect, ...]) -> None:
    assert Played(*events).effects == expected


@pytest.mark.parametrize(
    ("frame", "refused"),
    [
        pytest.param(came("hello", protocol=1), (None, "INVALID_ARGUMENT"), id="a-second-hello"),
        pytest.param(SUBSCRIBE, ("s", "INVALID_ARGUMENT"), id="an-id-of-a-subscription"),
        pytest.param(
            came("subscribe", id="c", query="agents:agentThread", args={"key": "k"}),
            ("c", "INVALID_ARGUMENT"),
            id="an-id-of-a-call",
        ),
        pytest.param(came("call", id="s", fn="a:b"), ("s", "INVALID_ARGUMENT"), id="a-calls-id"),
        pytest.param(
            came("subscribe", id="x", query="agents:agentRun"), ("x", "NOT_FOUND"), id="no-query"
        ),
        pytest.param(
            came("subscribe", id="x", query="agents:agentMessages", args={}),
            ("x", "INVALID_ARGUMENT"),
            id="arguments-missing",
        ),
        pytest.param(
            came(
                "subscribe", id="x", query="agents:agentMessages", args={"key": "k", "limit": 201}
            ),
            ("x", "INVALID_ARGUMENT"),
            id="limit-above-200",
        ),
        pytest.param(
            came("subscribe", id="x", query="agents:agentMessages", args={"key": "k", "before": 3}),
            ("x", "INVALID_ARGUMENT"),
            id="pages-are-not-subscribed-to",
        ),
        pytest.param(Garbled("g", "what?"), ("g", "INVALID_ARGUMENT"), id="malformed"),
    ],
)
def test_what_is_refused_is_answered_and_the_socket_lives(
    frame: Event, refused: tuple[str | None, str]
) -> None:
    played = live()
    played.take(SUBSCRIBE, CALL)

    assert answers(played.take(frame)) == [refused]
    assert "s" in played.live.subscriptions


def test_an_id_is_free_again_after_its_end() -> None:
    played = live()

    played.take(SUBSCRIBE, came("unsubscribe", id="s"))
    again = played.take(SUBSCRIBE)
    played.take(CALL, CallEnded("c"))
    called_again = played.take(CALL)

    assert isinstance(again[0], Watch)
    assert isinstance(called_again[0], Run)


def test_frames_that_come_before_the_welcome_are_taken_after_it() -> None:
    played = Played(HELLO, SUBSCRIBE, came("ping"))

    effects = played.take(Accepted(1, ANN))

    assert [type(effect) for effect in effects] == [Become, Greet, Watch, Pong]


def test_frames_behind_a_refused_hello_are_refused_one_by_one() -> None:
    played = Played(HELLO, SUBSCRIBE, came("ping"), CALL)

    effects = played.take(Refused(1, "UNAUTHENTICATED", "expired"))

    assert answers(effects) == [
        (None, "UNAUTHENTICATED"),
        ("s", "UNAUTHENTICATED"),
        ("c", "UNAUTHENTICATED"),
    ]


@pytest.mark.parametrize(
    ("played", "code"),
    [
        pytest.param(lambda: Played(came("hello", protocol=2)), CLOSE_PROTOCOL, id="protocol"),
        pytest.param(
            lambda: Played(*[Garbled(None, "?")] * 6), CLOSE_ABUSE, id="garbage-without-end"
        ),
        pytest.param(lambda: Played(*[SUBSCRIBE] * 6), CLOSE_ABUSE, id="frames-without-hello"),
        pytest.param(
            lambda: Played(HELLO, *[came("ping")] * 6),
            CLOSE_ABUSE,
            id="too-many-before-the-welcome",
        ),
    ],
)
def test_what_closes_a_socket_at_once(played: Any, code: int) -> None:  # noqa: ANN401 - a factory
    after = played()

    assert [effect.code for effect in after.effects if isinstance(effect, HangUp)] == [code]
    assert after.is_over


def test_a_call_flood_is_refused_call_by_call_and_in_the_end_closed() -> None:
    played = live(Limits(calls=2, faults=5))
    flood = [came("call", id=f"c{n}", fn="a:b") for n in range(100)]

    seen = [played.take(frame) for frame in flood]

    assert [type(effects[0]) for effects in seen[:3]] == [Run, Run, Answer]
    assert answers(seen[2]) == [("c2", "RATE_LIMITED")]
    assert played.is_over
    assert seen[51] == (Answer("c51", "RATE_LIMITED", "at most 2 calls of a socket at once"),)


def test_faults_are_forgiven_with_time() -> None:
    played = live()

    for second in range(100):
        played.at(float(second), Garbled(None, "?"))

    assert not played.is_over


def test_subscriptions_are_bounded() -> None:
    played = live()

    seen = [
        played.take(came("subscribe", id=f"s{n}", query="agents:agentThread", args={"key": "k"}))
        for n in range(4)
    ]

    assert answers(seen[3]) == [("s3", "RATE_LIMITED")]
    assert len(played.live.subscriptions) == 3


def test_tokens_that_wait_for_their_verdict_are_bounded() -> None:
    played = live()

    seen = [played.take(auth(f"t{n}")) for n in range(5)]

    assert answers(seen[4]) == [(None, "RATE_LIMITED")]


def test_of_two_tokens_the_later_one_holds_however_late_the_first_is_judged() -> None:
    played = live()
    played.take(auth("old"), auth("new"))

    played.take(Accepted(3, Identity("new")))
    late = played.take(Accepted(2, Identity("old")))

    assert late == (Greet(Identity("new")),)
    assert (played.live.identity, played.live.token) == (Identity("new"), "new")


def test_no_hello_in_time_closes() -> None:
    played = Played()

    assert played.at(9.9, Ticked(9.9)) == ()
    assert played.at(10.0, Ticked(9.9)) == (HangUp(CLOSE_NO_HELLO, "no accepted hello in time"),)


def test_a_hello_that_is_never_judged_closes_as_well() -> None:
    played = Played(HELLO)

    assert isinstance(played.at(10.0, Ticked(0.0))[0], HangUp)


def test_a_silent_peer_is_asked_and_then_closed() -> None:
    played = live()

    assert played.at(19.9, Ticked(0.0)) == ()
    assert played.at(20.0, Ticked(0.0)) == (Probe(),)
    assert played.at(39.9, Ticked(0.0)) == (Probe(),)
    assert played.at(40.0, Ticked(0.0)) == (HangUp(CLOSE_SILENT, "no sign of life"),)


def test_a_token_is_judged_again_and_a_revoked_one_ends_the_socket() -> None:
    played = live()

    assert played.at(60.0, Ticked(60.0)) == (Judge(2, "t"),)
    told = played.take(Refused(2, "UNAUTHENTICATED", "revoked"))
    assert told == (Answer(None, "UNAUTHENTICATED", "revoked"),)
    assert played.at(69.9, Ticked(69.9)) == ()
    assert played.at(70.0, Ticked(70.0)) == (HangUp(CLOSE_UNAUTHENTICATED, "the token ran out"),)


def test_a_new_token_within_the_grace_saves_the_socket() -> None:
    played = live()
    played.at(60.0, Ticked(60.0), Refused(2, "UNAUTHENTICATED", "expired"))

    played.at(65.0, auth("fresh"), Accepted(3, ANN))

    assert played.at(71.0, Ticked(71.0)) == ()
    assert played.live.settled == 3


def test_a_recheck_that_nobody_can_make_changes_nothing() -> None:
    played = live()
    played.at(60.0, Ticked(60.0))

    assert played.take(Undecided(2, "the key server is away")) == ()
    assert played.at(120.0, Ticked(120.0)) == (Judge(3, "t"),)


def test_an_old_tokens_recheck_does_not_harm_a_fresh_one() -> None:
    played = live()
    played.at(60.0, Ticked(60.0))
    played.take(auth("fresh"), Accepted(3, ANN))

    assert played.take(Refused(2, "UNAUTHENTICATED", "expired")) == ()
    assert played.live.grace_until == NEVER


@pytest.mark.req("IMP-05")
def test_a_subscription_needs_the_scope_of_its_query() -> None:
    scoped = Identity("ann", scopes=frozenset({"agents:agentThread"}))
    played = Played(HELLO, Accepted(1, scoped))

    refused = played.take(SUBSCRIBE)
    taken = played.take(came("subscribe", id="t", query="agents:agent_thread", args={"key": "k"}))

    assert answers(refused) == [("s", "FORBIDDEN")]
    assert isinstance(taken[0], Watch)


@pytest.mark.req("IMP-05")
def test_a_socket_keeps_the_scopes_that_it_began_with() -> None:
    played = live()
    played.take(SUBSCRIBE)

    told = played.take(auth("narrow"), Accepted(2, Identity("ann", scopes=frozenset())))

    assert answers(told) == [(None, "FORBIDDEN")]
    assert played.live.identity == ANN


@pytest.mark.req("IMP-05")
def test_scopes_that_changed_under_a_token_end_its_socket() -> None:
    played = live()

    told = played.at(60.0, Ticked(60.0), Accepted(2, Identity("ann", scopes=frozenset())))

    assert answers(told) == [(None, "UNAUTHENTICATED")]
    assert isinstance(played.at(70.0, Ticked(70.0))[0], HangUp)


def test_an_anonymous_socket_is_never_judged_again() -> None:
    played = Played(came("hello", protocol=1), Accepted(1, ANONYMOUS))

    assert played.at(10_000.0, Ticked(10_000.0)) == ()


def test_a_server_that_leaves_begins_nothing_new() -> None:
    played = live()
    played.take(SUBSCRIBE, ServerLeft())

    assert answers(played.take(CALL)) == [("c", "UNAVAILABLE")]
    assert played.take(came("ping")) == (Pong(),)


EVENTS = st.one_of(
    st.sampled_from(
        [
            HELLO,
            came("hello", protocol=1),
            SUBSCRIBE,
            CALL,
            came("call", id="s", fn="a:b"),
            came("subscribe", id="c", query="agents:agentThread", args={"key": "k"}),
            came("unsubscribe", id="s"),
            auth("u"),
            came("ping"),
            Garbled(None, "?"),
            CallEnded("c"),
            ServerLeft(),
        ]
    ),
    st.builds(Accepted, st.integers(1, 6), st.sampled_from([ANN, ANONYMOUS])),
    st.builds(Refused, st.integers(1, 6), st.just("UNAUTHENTICATED"), st.just("no")),
    st.builds(Undecided, st.integers(1, 6), st.just("later")),
    st.builds(Ticked, st.floats(0, 200)),
)
TIMED = st.lists(st.tuples(st.floats(0, 30), EVENTS), max_size=40)


@given(TIMED)
def test_no_order_of_events_breaks_a_session(script: list[tuple[float, Event]]) -> None:
    played = Played()
    watched: set[str] = set()
    called: set[str] = set()
    was_over = False
    now = 0.0

    for pause, event in script:
        now += pause
        effects = played.at(now, event)
        assert not (was_over and effects), "nothing follows the end"
        for effect in effects:
            match effect:
                case Watch(id_):
                    assert id_ not in watched | called, "an id is in use once"
                    watched.add(id_)
                case Unwatch(id_):
                    watched.remove(id_)
                case Run(call):
                    assert call.id not in watched | called
                    called.add(call.id)
                case HangUp():
                    assert played.is_over
                case _:
                    pass
        if isinstance(event, CallEnded):
            called.discard(event.id)
        was_over = played.is_over
        due = next_due(played.session, now, now, LIMITS)
        assert due > now or now >= due - 1e-9 or was_over


@given(TIMED)
def test_nobody_speaks_for_somebody_who_was_not_accepted(
    script: list[tuple[float, Event]],
) -> None:
    played = Played()
    accepted: set[Identity] = set()
    now = 0.0

    for pause, event in script:
        now += pause
        if isinstance(event, Accepted):
            accepted.add(event.identity)
        for effect in played.at(now, event):
            if isinstance(effect, Run | Greet | Become):
                assert effect.identity in accepted
