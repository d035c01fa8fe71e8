"""What a run of a storm is to do, drawn from a seed, and so what must come of it.

The plan travels as the user's message: the scripted model plays it turn by turn in whichever
process drives the run, the checkers know every word and every result beforehand.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Literal, TypeAlias

ToolName: TypeAlias = Literal["work", "in_a_thread", "block", "alone", "sign", "remember", "helper"]

WORDS_MS = 6
"""How long the model waits before each word."""
RETRIES = 2
"""How often the storm's agent starts a failing tool again."""


@dataclass(frozen=True, slots=True)
class PlannedTool:
    """One call.

    Attributes:
        fails: attempts that raise, in each drive; above ``RETRIES`` the model gets an error.
        size: characters of the result.
        child: of a call to another agent: the plan of its run.
    """

    name: ToolName
    token: str
    ms: int = 0
    fails: int = 0
    size: int = 0
    child: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the model sends."""
        if self.child:
            return {"message": self.child}
        return {"token": self.token, "ms": self.ms, "fails": self.fails, "size": self.size}


@dataclass(frozen=True, slots=True)
class Fault:
    """A provider's failure: these many requests of a process break off after some words."""

    status: int
    times: int
    after_words: int


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """One answer of the model."""

    words: int
    calls: tuple[PlannedTool, ...] = ()
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One run."""

    id: str
    turns: tuple[PlannedTurn, ...]

    def words(self, turn: int, chance: str) -> list[str]:
        """Return what the model says in a turn; ``chance`` makes each answer another one."""
        # Beyond the plan are turns that somebody's message made: one word each.
        count = self.turns[turn].words if turn < len(self.turns) else 1
        return [f"{self.id}.{turn}.{number}~{chance} " for number in range(count)]

    def is_said(self, turn: int, text: str, *, whole: bool) -> bool:
        """Whether a text is an answer of this turn, or at least how one begins."""
        if not text:
            return not whole or not self.words(turn, "")
        chance = text.split(" ", 1)[0].rpartition("~")[2]
        said = "".join(self.words(turn, chance))
        return text == said if whole else said.startswith(text)

    @property
    def calls(self) -> list[PlannedTool]:
        """All calls, in order."""
        return [call for turn in self.turns for call in turn.calls]

    @property
    def fails(self) -> bool:
        """Whether the provider refuses a turn for good, so that the run has to fail."""
        return any(turn.fault is not None and turn.fault.status == 400 for turn in self.turns)

    @property
    def blocks(self) -> bool:
        """Whether a tool of it holds up its worker's event loop."""
        return any(call.name == "block" for call in self.calls)

    def to_text(self) -> str:
        """Return it as a user's message."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "Plan | None":
        """Return the plan in a message, or nothing if it is none."""
        try:
            found = json.loads(text)
            return cls(found["id"], tuple(_turn(turn) for turn in found["turns"]))
        except (ValueError, TypeError, KeyError):
            return None


def _turn(found: Mapping[str, Any]) -> PlannedTurn:
    fault = found["fault"]
    return PlannedTurn(
        found["words"],
        tuple(PlannedTool(**call) for call in found["calls"]),
        Fault(**fault) if fault else None,
    )


def dice(seed: float | str) -> Random:
    """Return what decides from now on; it guards no secret."""
    return Random(seed)  # noqa: S311


def a_plan(plan_id: str, rng: Random, *, gentle: bool = False) -> Plan:
    """Draw a plan.

    Args:
        plan_id: unique in a storm.
        rng: decides everything.
        gentle: nothing that takes long or holds others up, for phases that are measured.
    """
    turns = [_random_turn(plan_id, number, rng, gentle=gentle) for number in range(_length(rng))]
    turns.append(PlannedTurn(rng.randint(1, 12), fault=None if gentle else _random_fault(rng)))
    return Plan(plan_id, tuple(turns))


def _length(rng: Random) -> int:
    return rng.choices((0, 1, 2, 3, 5), weights=(2, 4, 4, 2, 1))[0]


def _random_turn(plan_id: str, turn: int, rng: Random, *, gentle: bool) -> PlannedTurn:
    count = rng.choices((1, 2, 3, 6), weights=(5, 4, 2, 2))[0]
    # Calls that end in the same moment are recorded in the same moment.
    at_once = rng.randint(0, 300) if rng.random() < 0.4 else None
    return PlannedTurn(
        rng.choice((0, 0, 3, 12, 30)),
        tuple(
            _random_tool(
                f"{plan_id}.{turn}.{number}",
                rng.randint(0, 300) if at_once is None else at_once,
                rng,
                gentle=gentle,
            )
            for number in range(count)
        ),
        None if gentle else _random_fault(rng),
    )


def _random_tool(token: str, ms: int, rng: Random, *, gentle: bool) -> PlannedTool:
    if gentle:
        return PlannedTool("work", token, ms)
    kind = rng.random()
    if kind < 0.03:
        return PlannedTool("block", token, 1000)
    if kind < 0.13:
        return PlannedTool("sign", token)
    if kind < 0.2:
        return PlannedTool("alone", token, ms)
    if kind < 0.28:
        return PlannedTool("remember", token, ms, rng.choice((0, 0, 1)))
    if kind < 0.34 and ":" not in token:
        return PlannedTool("helper", token, child=_a_child(token, rng).to_text())
    if kind < 0.42:
        return PlannedTool("in_a_thread", token, ms)
    fails = rng.choices((0, 1, RETRIES + 1), weights=(18, 3, 1))[0]
    size = rng.choices((0, 2_000, 60_000), weights=(16, 3, 1))[0]
    return PlannedTool("work", token, ms, fails, size)


def _a_child(token: str, rng: Random) -> Plan:
    """Draw what another agent does for a call: nothing that a person would have to decide."""
    works = tuple(PlannedTool("work", f"{token}:{n}", rng.randint(0, 200)) for n in range(2))
    turns = (PlannedTurn(rng.randint(0, 5), works[: rng.randint(1, 2)]),) * rng.randint(0, 1)
    return Plan(f"{token}:", (*turns, PlannedTurn(rng.randint(1, 6))))


def _random_fault(rng: Random) -> Fault | None:
    kind = rng.random()
    if kind < 0.03:
        return Fault(429, 1, rng.randint(0, 5))
    if kind < 0.06:
        return Fault(500, 1, rng.randint(0, 5))
    if kind < 0.075:
        return Fault(400, rng.choice((1, 99)), rng.randint(0, 5))
    return None
