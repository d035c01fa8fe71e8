"""What is played while processes die: who says what, and when, and what must come of it.

A new kind of thing that a run can do is added here as an act, and in ``tests/chaos/agents`` as a
turn of the walker or as an agent of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from signal import SIGTERM, Signals
from typing import Any, Final

from tests.support.crash_points.rivals import Does, lose_its_beat, overtake

PARKED: Final = "awaiting_input"
FINAL: Final = frozenset({"completed", "failed", "cancelled"})

THREAD: Final = "walk"
USER: Final = "alice"
IN_FLIGHT: Final = 6
"""Bodies that have started once the first turn's calls are under way."""
STEERED: Final = "by the way"


@dataclass(frozen=True, slots=True)
class State:
    """What a user could know.

    Attributes:
        runs: the status of each run that a user started, oldest first.
        ids: of these runs.
        busy: how many runs are unfinished, those of other agents that were asked included, and
            those that a timer starts.
        asked: calls that wait for a decision.
        askers: the key of each one's thread.
        bodies: how many bodies have started.
        deaths: how many processes have died.
        done: the names of the acts that were done.
    """

    runs: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    busy: int = 0
    asked: tuple[str, ...] = ()
    askers: tuple[str, ...] = ()
    bodies: int = 0
    deaths: int = 0
    done: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does, once, when it is due.

    Attributes:
        name: also of the process that can be made to die while it does it.
        function: a server function, called with ``arguments`` as a client would; or
        signal: what the operator sends to the worker; or
        does: what somebody does to a worker that is held, and lets go on.
        settled: what must be so, once it is done, before a process that is held goes on.
        roles: of who calls.
        is_asked_anew: whether it is done under a new key when its process has died.  Nobody
            knows whether it has taken effect, so it may be refused then.
        may_be_late: whether what it is about may be over by the time it is done, as its time is
            on a slow machine.  It is done again when it is due again.
    """

    name: str
    due: Callable[[State], bool]
    function: str = ""
    arguments: Callable[[State], Mapping[str, Any]] = lambda _: {}
    signal: Signals | None = None
    does: Does | None = None
    settled: Callable[[State], bool] = lambda _: True
    is_asked_anew: bool = False
    may_be_late: bool = False
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A play: each act is done once, the first one that is due; it is over when nothing is.

    Attributes:
        at_hold: what happens while a process is held at a point, whatever else is due.
        at_freeze: what happens to a worker that was frozen, before anybody has noticed.
        thaws: what must be so, once a frozen worker was taken for dead, before it goes on.
        ends: the status of each run at the end, oldest first; none: as it happens.
        last_words: the text of the last message, if that is known.
        answers: how often the agent has answered in the end, if that is known.
        said: what the user is seen to have said, in order, if all was done.
        tallies: what the thread's state counts in the end, if that is known.
        tells: whether another system is told of what happens.
    """

    name: str
    acts: tuple[Act, ...]
    at_hold: Act | None = None
    at_freeze: Does | None = None
    thaws: Callable[[State], bool] = lambda _: True
    ends: tuple[str, ...] | None = ("completed",)
    last_words: str | None = None
    answers: int | None = None
    said: tuple[str, ...] | None = None
    tallies: int | None = None
    tells: bool = False

    def way_in(self, who: str) -> str:
        """Return the function that a process of an act calls; of a worker, who it is."""
        return next((act.function for act in self.acts if act.name == who), who)


def _say(name: str, text: str, due: Callable[[State], bool], agent: str = "walker") -> Act:
    arguments = {"agent": agent, "key": THREAD, "input": text}
    return Act(name, due, "agents:agent_run", lambda _: arguments)


def _approve(due: Callable[[State], bool]) -> Act:
    def arguments(state: State) -> Mapping[str, Any]:
        return {"key": THREAD, "tool_call_id": state.asked[0], "decision": "approved"}

    return Act("approve", due, "agents:agent_resolve_approval", arguments)


START: Final = _say("start", "go", lambda _: True)
STEER: Final = _say("steer", STEERED, lambda state: PARKED in state.runs)
FAREWELL: Final = "".join(f"word{number} " for number in range(12)).strip()


def _is_parked(state: State) -> bool:
    return PARKED in state.runs and bool(state.asked)


def _whole(
    name: str, *acts: Act, approve: Callable[[State], bool] = _is_parked, heard: bool = True
) -> Scenario:
    return Scenario(
        name,
        (START, *acts, _approve(approve)),
        last_words=FAREWELL,
        answers=3,
        said=("go", STEERED) if heard else ("go",),
        tallies=1,
    )


WALK: Final = _whole("walk", STEER)
"""All that a run can do; a message comes, and then the decision, while it is parked."""

EAGER: Final = _whole("eager", approve=lambda state: bool(state.asked), heard=False)
"""The decision comes as soon as it is asked for: before, while or after the run parks."""

LEAVE: Final = _whole(
    "leave",
    Act("stop", lambda state: state.bodies >= IN_FLIGHT, signal=SIGTERM),
    STEER,
)
"""The worker is told to stop while tools are in flight."""

CANCELLED: Final = ("cancelled",)
AGAIN: Final = _say("again", "go again", lambda state: state.runs == CANCELLED)


def _cancel(due: Callable[[State], bool]) -> Act:
    return Act("cancel", due, "agents:agent_cancel", lambda _: {"key": THREAD})


def _cancelled(name: str, due: Callable[[State], bool]) -> Scenario:
    return Scenario(
        name,
        (
            START,
            _cancel(due),
            AGAIN,
            _approve(lambda state: len(state.runs) == 2 and _is_parked(state)),
        ),
        ends=("cancelled", "completed"),
        last_words=FAREWELL,
        said=("go", "go again"),
    )


CANCEL: Final = _cancelled(
    "cancel", lambda state: state.bodies >= IN_FLIGHT or PARKED in state.runs
)
"""The run is cancelled while tools are in flight, and another one starts at once."""

FAMILY: Final = _cancelled("family", lambda state: state.busy >= 3 or PARKED in state.runs)
"""The run is cancelled while it waits for others, which are cancelled with it."""

ORPHAN: Final = _cancelled("orphan", lambda state: state.deaths > 0 or PARKED in state.runs)
"""The run is cancelled when its worker is dead, and before another has noticed."""


def _is_busy(state: State) -> bool:
    return state.busy > 0


def _is_at_work(state: State) -> bool:
    return state.bodies > 0


def _is_third_held_back(state: State) -> bool:
    return state.runs[2:] == ("pending",)


def _of(run: int) -> Callable[[State], Mapping[str, Any]]:
    """Return the arguments of a call about the n-th run, counted from 0."""
    return lambda state: {"key": THREAD, "run_id": state.ids[run]}


DONE: Final = "Done."

QUEUE: Final = Scenario(
    "queue",
    (
        _say("start", "go", lambda _: True, "queueing"),
        _say("behind", "go next", _is_at_work, "queueing"),
        _say("third", "go last", lambda state: "behind" in state.done, "queueing"),
        Act("withdraw", _is_third_held_back, "agents:agent_cancel", _of(2)),
    ),
    ends=None,
)
"""Two sends wait behind a run; the second one is taken back, as it begins or before."""

REPLACE: Final = Scenario(
    "replace",
    (
        _say("start", "go", lambda _: True, "replacing"),
        _say("instead", "go elsewhere", _is_at_work, "replacing"),
    ),
    ends=None,
    last_words=DONE,
    said=("go", "go elsewhere"),
)
"""A send takes the place of the run that is under way, if that has not ended by then."""


def _has_failed(state: State) -> bool:
    return state.runs == ("failed",)


def _has_completed(state: State) -> bool:
    return set(state.runs) == {"completed"}


def _again_if_failed(name: str) -> Act:
    return Act(
        name, _has_failed, "agents:agent_retry", lambda _: {"key": THREAD}, is_asked_anew=True
    )


RETRY: Final = Scenario(
    "retry",
    (
        _say("start", "go", lambda _: True, "hasty"),
        *(_again_if_failed(f"retry {number}") for number in range(1, 7)),
        replace(
            _approve(lambda state: "retry 1" in state.done and _is_parked(state)),
            may_be_late=True,
        ),
    ),
    last_words=DONE,
    answers=2,
    said=("go",),
)
"""A run fails when its time is over, with a card open, and goes on when it is told to."""


def _reach(name: str, due: Callable[[State], bool], **arguments: str) -> Act:
    given = {"key": THREAD, **arguments}
    is_action = name.endswith("_at_once")
    return Act(name, due, f"neighbours:{name}", lambda _: given, is_asked_anew=is_action)


def _poke(name: str) -> Act:
    return Act(
        name,
        _is_at_work,
        f"neighbours:{name}",
        lambda state: {"run_id": state.ids[0]},
        is_asked_anew=name.endswith("_at_once"),
    )


TOLD: Final = Scenario(
    "told",
    (
        _say("start", "go", lambda _: True, "queueing"),
        _reach("remind", _is_at_work),
        _reach("tell", _is_at_work, text="psst"),
        _poke("poke"),
        _poke("poke_at_once"),
        _reach("tell_at_once", _has_completed, text="are you there"),
    ),
    ends=None,
    last_words=DONE,
)
"""Others reach a run while it works: messages, events, a start that is set for later."""

TELL: Final = replace(_whole("tell", heard=False), tells=True)
"""Another system, which is down at first, is told of the question, the decision and the end."""

LATE: Final = Scenario(
    "late",
    (
        _reach("remind_a_stranger", lambda _: True),
        _say("start", "go", lambda state: "remind_a_stranger" in state.done, "queueing"),
    ),
    last_words=DONE,
    said=("go",),
)
"""A start that is due belongs to somebody else's conversation by then, and is refused."""


def _rule(name: str, after: str, function: str, **arguments: object) -> Act:
    """Return what an operator does when something else is done, or is at work."""

    def due(state: State) -> bool:
        return _is_at_work(state) if after == "work" else after in {"", *state.done}

    roles = frozenset({"admin"})
    way_in = f"agents:admin_{function}"
    return Act(name, due, way_in, lambda _: arguments, is_asked_anew=True, roles=roles)


RULED: Final = {"agent": "queueing"}
OVERRULE: Final = Scenario(
    "overrule",
    (
        _rule("draft", "", "save_draft", **RULED, content={"maxTurns": 4}),
        _rule("discard", "draft", "discard_draft", **RULED),
        _rule("redraft", "discard", "save_draft", **RULED, content={"maxTurns": 5}),
        _rule("publish", "redraft", "publish", **RULED),
        _rule("minutes", "publish", "set_minutes", **RULED, minutes=3),
        _rule("models", "minutes", "set_models", models=["openai:gpt-5"]),
        _say("start", "go", lambda state: "models" in state.done, "queueing"),
        _rule("reset", "work", "reset", **RULED),
        _rule("restore", "reset", "restore", **RULED, version=1),
        _say("again", "go again", lambda state: state.runs == ("completed",), "queueing"),
    ),
    ends=("completed", "completed"),
    last_words=DONE,
    said=("go", "go again"),
)
"""An operator publishes something over the code, and takes it back while a run goes by it."""

TOGETHER: Final = frozenset({"call_a", "call_b"})
BELOW: Final = "call_stamp"


def _decide_together(state: State) -> Mapping[str, Any]:
    del state
    edited = {"tool_call_id": "call_a", "decision": "approved", "edited_input": {"amount": 0}}
    denied = {"tool_call_id": "call_b", "decision": "denied", "reason": "no"}
    return {"key": THREAD, "decisions": [edited, denied]}


def _key_below(state: State) -> str:
    return state.askers[state.asked.index(BELOW)]


def _asks_below(state: State) -> bool:
    return BELOW in state.asked


def _signing(name: str, below: Act, *, ends: str = "completed") -> Scenario:
    """Return a play: two calls are decided together, and ``below`` ends what is asked below."""
    together = Act(
        "decide together",
        lambda state: set(state.asked) >= TOGETHER,
        "agents:agent_resolve_approvals",
        _decide_together,
    )
    return Scenario(
        name,
        (_say("start", "go", lambda _: True, "signer"), below, together),
        ends=(ends,),
        last_words=DONE if ends == "completed" else None,
        said=("go",),
    )


def _decide_below(state: State) -> Mapping[str, Any]:
    return {"key": _key_below(state), "tool_call_id": BELOW, "decision": "approved"}


SIGN: Final = _signing(
    "sign", Act("decide below", _asks_below, "agents:agent_resolve_approval", _decide_below)
)
"""Two decisions come together, one of them an edit; one comes by itself, and one from the top."""

DISMISS: Final = _signing(
    "dismiss",
    Act("dismiss", _asks_below, "agents:agent_cancel", lambda state: {"key": _key_below(state)}),
)
"""The run at the bottom is cancelled while its card is shown at the top."""

UNSIGNED: Final = _signing("unsigned", _cancel(_asks_below), ends="cancelled")
"""The run at the top is cancelled while it and those below wait for people."""

STEER_AT: Final = replace(
    _whole("steer-at"), at_hold=replace(STEER, due=_is_busy), ends=None, answers=None
)
"""A message comes while the worker is held at a point."""

CANCEL_AT: Final = Scenario(
    "cancel-at",
    (START, _approve(_is_parked), AGAIN, replace(_approve(_is_parked), name="approve again")),
    at_hold=_cancel(_is_busy),
    ends=None,
    last_words=FAREWELL,
)
"""The run is cancelled while the worker is held at a point; then another one is started."""

APPROVE_AT: Final = replace(
    _whole("approve-at", heard=False),
    at_hold=_approve(lambda state: bool(state.asked)),
)
"""The decision comes while the worker is held at a point, if it is asked for by then."""


TAKEN_AT: Final = replace(
    _whole("taken-at", heard=False),
    at_hold=Act("take over", _is_busy, does=overtake),
)
"""Somebody takes the run over in a transaction that the held worker runs into."""

UNHEARD: Final = replace(
    WALK,
    name="unheard",
    at_freeze=lose_its_beat,
    thaws=lambda state: state.runs == ("running",),
)
"""A walk whose worker thaws between two beats, wherever in one it was frozen, and when another has
its run: the first that it hears is a beat that says so."""

BOTH: Final = Scenario(
    "both",
    (
        START,
        _approve(_is_parked),
        _say("again", "go again", lambda state: state.runs == ("completed",)),
        replace(_approve(_is_parked), name="approve again"),
    ),
    at_hold=replace(
        _say("both", STEERED, lambda _: True), settled=lambda state: not _is_busy(state)
    ),
    ends=("completed", "completed"),
    last_words=FAREWELL,
    said=("go", "go again", STEERED),
)
"""Two sends to an idle thread at once: one starts a run, the other waits for it and is read by
that.  If it did not wait, its own run would be over before the first send has done anything."""

SCENARIOS: Final = (
    *(WALK, EAGER, LEAVE, CANCEL, FAMILY, ORPHAN),
    *(QUEUE, REPLACE, RETRY, TOLD),
    *(TELL, LATE, OVERRULE),
    *(SIGN, DISMISS, UNSIGNED),
)
AT_HOLD: Final = (STEER_AT, CANCEL_AT, APPROVE_AT)
OTHERS: Final = (TAKEN_AT, UNHEARD, BOTH)
