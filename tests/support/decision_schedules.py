"""Many people decide the calls of one run at once, from three surfaces, and what must come of it.

A schedule is drawn from a seed.  A ``Desk`` plays it, on stores in memory or on real ones; the
laws are looked at from outside: what people were answered, what is stored, and what ran.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from app.domain.approval import Approval, ApprovalStatus, input_hash

OWNER: Final = "alice"
PEOPLE: Final[dict[str, tuple[str, ...]]] = {
    OWNER: (),
    "bob": (),
    "carol": ("admin",),
    "dave": (),
    "erin": ("admin",),
}
"""Who decides, and in which roles.  Bob is a stranger, Dave is named for one tool."""
TOOLS: Final[dict[str, frozenset[str]]] = {
    "pay": frozenset({OWNER, "carol", "erin"}),
    "wire": frozenset({OWNER, "dave"}),
}
"""The gated tools, and who may decide them; arguments of ``pay`` may be changed."""
SURFACES: Final = ("socket", "http", "cli")
PLACES: Final = {"socket": "dashboard", "http": "api", "cli": "cli"}
OPENING_TICKS: Final = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody answers to one call.  ``flaw``: why it must be refused, if it must."""

    call: str
    decision: str
    edited: Mapping[str, Any] | None = None
    shown: str | None = None
    flaw: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request of one person, on one surface, after so many ticks of the loop."""

    id: str
    person: str
    surface: str
    answers: tuple[Answer, ...]
    ticks: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of an attempt: ``OK``, or the word of a refusal, with its data."""

    attempt: Attempt
    code: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run, and all that is tried while it waits.

    Attributes:
        calls: what the model asks for: call id, tool and amount; ``look`` is not gated.
        interruption: ``cancel``, ``restart``, ``words``, or nothing; after so many ticks.
    """

    seed: int
    calls: tuple[tuple[str, str, int], ...]
    attempts: tuple[Attempt, ...]
    interruption: tuple[str, int] | None

    @property
    def gated(self) -> dict[str, tuple[str, int]]:
        """Return tool and amount of each gated call."""
        return {call: (name, amount) for call, name, amount in self.calls if name in TOOLS}


class Desk(Protocol):
    """Where schedules are played."""

    async def begin(self, key: str, schedule: Schedule) -> str:
        """Start the run as the owner's, and return its id once every call waits."""
        ...

    async def send(self, key: str, attempt: Attempt) -> Reply:
        """Let somebody decide."""
        ...

    async def interrupt(self, key: str, run_id: str, kind: str) -> None:
        """Cancel the run, take its worker away, or say something."""
        ...

    async def ended(self, run_id: str) -> None:
        """Return once the run has ended."""
        ...

    async def stored(self, key: str) -> Sequence[Approval]:
        """Return every approval of the thread."""
        ...

    def ran(self, key: str) -> Sequence[tuple[str, int]]:
        """Return call and amount of each gated body that was started."""
        ...

    async def noted(self, key: str) -> Counter[str]:
        """Return how often a decision was written, by call."""
        ...


def drawn(seed: int) -> Schedule:
    """Return the schedule of a seed."""
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    names = [chance.choice(("pay", "pay", "wire")) for _ in range(chance.randint(1, 3))]
    names.insert(chance.randrange(len(names) + 1), "look")
    calls = tuple((f"c{n}", name, n + 1) for n, name in enumerate(names))
    gated = [each for each in calls if each[1] in TOOLS]
    attempts = tuple(
        _attempt(f"attempt-{number}", gated, chance) for number in range(chance.randint(1, 8))
    )
    kind = chance.choice(("cancel", "restart", "words", None, None, None))
    ticks = chance.randrange(OPENING_TICKS)
    return Schedule(seed, calls, attempts, None if kind is None else (kind, ticks))


def _attempt(id_: str, gated: Sequence[tuple[str, str, int]], chance: random.Random) -> Attempt:
    surface = chance.choice(SURFACES)
    many = 1 if surface == "cli" else len(gated)
    chosen = chance.sample(gated, chance.choice((1, 1, 1, many)))
    return Attempt(
        id_,
        chance.choice([OWNER, *PEOPLE]),
        surface,
        tuple(_answer(*call, chance) for call in chosen),
        chance.randrange(OPENING_TICKS),
    )


def _answer(call: str, name: str, amount: int, chance: random.Random) -> Answer:
    seen = input_hash({"amount": amount})
    match chance.randrange(12):
        case 0:
            return Answer(call, "approved", {"amount": "much"}, flaw="INVALID_ARGUMENT")
        case 1:
            return Answer(call, "denied", {"amount": 7}, flaw="INVALID_ARGUMENT")
        case 2:
            return Answer(call, "approved", shown=input_hash({"amount": 99}), flaw="CONFLICT")
        case 3 | 4 | 5:
            flaw = None if name == "pay" else "INVALID_ARGUMENT"
            return Answer(call, "approved", {"amount": chance.choice((0, 7))}, seen, flaw)
        case 6 | 7 | 8:
            return Answer(call, "denied", shown=chance.choice((seen, None)))
        case _:
            return Answer(call, "approved", shown=chance.choice((seen, None)))


async def play(desk: Desk, schedule: Schedule) -> None:
    """Play a schedule and look at the laws."""
    key = f"s{schedule.seed}"
    run_id = await desk.begin(key, schedule)

    async def sent(attempt: Attempt) -> Reply:
        await _pass(attempt.ticks)
        return await desk.send(key, attempt)

    async def interrupted() -> None:
        if schedule.interruption is not None:
            kind, ticks = schedule.interruption
            await _pass(ticks)
            await desk.interrupt(key, run_id, kind)

    *replies, _ = await asyncio.gather(*map(sent, schedule.attempts), interrupted())
    played = [reply for reply in replies if reply is not None]
    played += await _decide_the_rest(desk, key)
    await desk.ended(run_id)
    laws = _Laws(schedule, played, {each.tool_call_id: each for each in await desk.stored(key)})
    laws.hold(desk.ran(key), await desk.noted(key))


async def _pass(ticks: int) -> None:
    for _ in range(ticks):
        await asyncio.sleep(0)


async def _decide_the_rest(desk: Desk, key: str) -> list[Reply]:
    replies: list[Reply] = []
    for number in itertools.count():
        waiting = [each for each in await desk.stored(key) if each.status is ApprovalStatus.PENDING]
        if not waiting:
            return replies
        decision = ("approved", "denied")[number % 2]
        rest = Attempt(
            f"rest-{number}",
            OWNER,
            SURFACES[number % len(SURFACES)],
            (Answer(waiting[0].tool_call_id, decision),),
            0,
        )
        replies.append(await desk.send(key, rest))
    raise AssertionError


@dataclass(frozen=True, slots=True)
class _Laws:
    schedule: Schedule
    replies: Sequence[Reply]
    stored: Mapping[str, Approval]
    tool_of: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        tools = {call: name for call, (name, _) in self.schedule.gated.items()}
        object.__setattr__(self, "tool_of", tools)

    def hold(self, ran: Sequence[tuple[str, int]], noted: Counter[str]) -> None:
        """Raise ``AssertionError`` unless every law holds."""
        assert set(self.stored) == set(self.schedule.gated)
        for reply in self.replies:
            self._answered_rightly(reply)
        for approval in self.stored.values():
            self._decided_once(approval, noted[approval.tool_call_id])
        self._ran_as_decided(ran)

    def _answered_rightly(self, reply: Reply) -> None:
        attempt = reply.attempt
        may = all(attempt.person in TOOLS[self.tool_of[each.call]] for each in attempt.answers)
        flaws = {each.flaw for each in attempt.answers} - {None}
        match reply.code:
            case "OK":
                assert may, f"{reply} by somebody who may not"
                for answer in attempt.answers:
                    self._is_what_stands(attempt, answer)
            case "FORBIDDEN":
                assert not may, reply
            case "INVALID_ARGUMENT":
                assert "INVALID_ARGUMENT" in flaws, reply
            case "CONFLICT":
                self._names_who_decided(reply)
            case _:
                raise AssertionError(reply)

    def _is_what_stands(self, attempt: Attempt, answer: Answer) -> None:
        """An answer that was taken is the one that is stored, or repeats it."""
        approval = self.stored[answer.call]
        assert approval.decided_by == attempt.person
        assert approval.status.value == answer.decision
        assert approval.edited_input == answer.edited
        assert answer.flaw in {None, "CONFLICT"}, "one on other arguments may repeat"

    def _names_who_decided(self, reply: Reply) -> None:
        approval = self.stored[reply.data["toolCallId"]]
        if "input" in reply.data:
            assert reply.data["input"] == approval.input
            return
        assert reply.data["status"] == approval.status.value
        assert reply.data["decidedBy"] == approval.decided_by

    def _decided_once(self, approval: Approval, times: int) -> None:
        if approval.status is ApprovalStatus.CANCELLED:
            assert (times, approval.decided_by, approval.place) == (0, None, None)
            return
        assert times == 1, f"{approval.tool_call_id} was decided {times} times"
        (winner,) = [each for each in self.replies if each.attempt.id == approval.reason]
        assert winner.code == "OK"
        (answer,) = [each for each in winner.attempt.answers if each.call == approval.tool_call_id]
        assert answer.flaw is None
        assert winner.attempt.person == approval.decided_by
        assert approval.place is not None
        assert PLACES[winner.attempt.surface] == approval.place.value

    def _ran_as_decided(self, ran: Sequence[tuple[str, int]]) -> None:
        kind = None if self.schedule.interruption is None else self.schedule.interruption[0]
        times = Counter(call for call, _ in ran)
        for call, (_, amount) in self.schedule.gated.items():
            approval = self.stored[call]
            edited = approval.edited_input
            wanted = edited["amount"] if isinstance(edited, dict) else amount
            may_run = approval.status is ApprovalStatus.APPROVED
            # One whose worker dies between its return and its record is begun again, under its key.
            most = may_run * (2 if kind == "restart" else 1)
            assert times[call] <= most, f"{call} ran {times[call]} times, {approval.status}"
            assert times[call] >= may_run or kind == "cancel", f"{call} did not run"
            assert {each for name, each in ran if name == call} <= {wanted}
