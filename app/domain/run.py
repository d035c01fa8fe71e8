"""The life of a run: its states, its events, and the one function that moves it.

    pending -> queued -> running -> completed | failed | cancelled
                 ^  ^       |  \
                 |  |       |   running -> queued   (worker lost, hand-over)
                 |  +-------+-- awaiting_input (approvals) | waiting (child, event, timer)
                 +-- failed (retry)                every unfinished state -> cancelled | failed

The thread's row carries the numbers that fence the writers: ``epoch`` grows at
each claim, take-over, hand-over and end; ``wakes`` grows with every fact that a
parked or parking run may be waiting for.  ``advance`` is the only place that
says by how much; the stores carry it out under the thread's lock.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from app.domain.errors import IllegalTransition
from app.domain.storable import Json


class RunStatus(StrEnum):
    """Where a run is."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_INPUT = "awaiting_input"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


PARKED = frozenset({RunStatus.AWAITING_INPUT, RunStatus.WAITING})
LIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING}) | PARKED
FINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class Claimed:
    """A worker took the run from the queue."""


@dataclass(frozen=True, slots=True)
class Released:
    """The run goes back to the queue: its worker died, or hands over."""


@dataclass(frozen=True, slots=True)
class Parked:
    """The drive ended because the run waits."""

    awaits_input: bool


@dataclass(frozen=True, slots=True)
class FactStored:
    """A decision, child end, event, timer or signal was stored for the thread."""

    condition_met: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is settled, by whomever."""

    status: RunStatus


@dataclass(frozen=True, slots=True)
class Retried:
    """A failed run is to go on from where it failed."""


@dataclass(frozen=True, slots=True)
class Promoted:
    """A held-back run became its thread's live run."""


RunEvent: TypeAlias = Claimed | Released | Parked | FactStored | Ended | Retried | Promoted


@dataclass(frozen=True, slots=True)
class Change:
    """What an event does: the status after it, and by how much the thread's numbers grow."""

    status: RunStatus
    epoch: int = 0
    wakes: int = 0


def advance(status: RunStatus, event: RunEvent) -> Change:
    """Return what ``event`` does to a run with this status.

    A fact stored for a run that does not wait changes nothing but ``wakes``: the
    drive compares that number before it parks or completes.

    Raises:
        IllegalTransition: the status has no edge for this event.
    """
    match status, event:
        case RunStatus.PENDING, Promoted():
            return Change(RunStatus.QUEUED)
        case RunStatus.QUEUED, Claimed():
            return Change(RunStatus.RUNNING, epoch=1)
        case RunStatus.RUNNING, Released():
            return Change(RunStatus.QUEUED, epoch=1)
        case RunStatus.RUNNING, Parked(awaits_input):
            return Change(RunStatus.AWAITING_INPUT if awaits_input else RunStatus.WAITING)
        case ((RunStatus.AWAITING_INPUT | RunStatus.WAITING), FactStored(condition_met=True)):
            return Change(RunStatus.QUEUED, wakes=1)
        case _, FactStored() if status in LIVE:
            return Change(status, wakes=1)
        case RunStatus.RUNNING, Ended(RunStatus.COMPLETED):
            return Change(RunStatus.COMPLETED, epoch=1)
        case RunStatus.PENDING, Ended(RunStatus.FAILED | RunStatus.CANCELLED as final):
            return Change(final)
        case _, Ended(RunStatus.FAILED | RunStatus.CANCELLED as final) if status in LIVE:
            return Change(final, epoch=1)
        case RunStatus.FAILED, Retried():
            return Change(RunStatus.QUEUED, epoch=1, wakes=1)
        case _:
            raise IllegalTransition(f"{status} has no edge for {event}")


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run failed, in words a person can act on.  ``code`` is stable."""

    code: str
    message: str

    def to_json(self) -> dict[str, Json]:
        """Return the form that is stored and shown."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends.

    ``stopped`` is ``final``, ``maxTurns``, ``stopCondition``, ``cancelled`` or ``error``;
    ``output`` the JSON of the answer of a run that was asked for one in a certain form.
    """

    status: RunStatus
    stopped: str
    error: RunError | None = None
    output: str | None = None

    @classmethod
    def completed(cls, stopped: str, output: str | None = None) -> "Ending":
        """Return the ending of a run that came to its end."""
        return cls(RunStatus.COMPLETED, stopped, output=output)

    @classmethod
    def failed(cls, code: str, message: str) -> "Ending":
        """Return the ending of a run that cannot go on."""
        return cls(RunStatus.FAILED, "error", RunError(code, message))

    @classmethod
    def cancelled(cls) -> "Ending":
        """Return the ending of a run that somebody stopped."""
        return cls(RunStatus.CANCELLED, "cancelled")


@dataclass(frozen=True, slots=True)
class Waits:
    """What a parked run waits for: one fact of every group.

    A fact is a step of the waiting run that somebody else stores: ``approval:CALL``,
    ``child:CALL``, ``timer:NAME``, ``event:NAME#N``.  So "is the condition met?" is one
    question to the steps, whatever the fact, and replaying finds the answer where it finds
    all others.
    """

    groups: tuple[tuple[str, ...], ...]

    @classmethod
    def for_all(cls, names: Iterable[str]) -> "Waits":
        """Wait for every one of these facts."""
        return cls(tuple((name,) for name in names))

    @property
    def awaits_input(self) -> bool:
        """Whether a person is asked: the thread shows ``awaiting_input``."""
        return any(name.startswith("approval:") for group in self.groups for name in group)

    def is_met(self, facts: Container[str]) -> bool:
        """Whether one fact of every group is there."""
        return all(any(name in facts for name in group) for group in self.groups)

    def to_json(self) -> list[Json]:
        """Return the form that is stored in the run's row."""
        return [list(group) for group in self.groups]


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run is to go, as its start or its agent says.

    Attributes:
        policy: what the start asked for: ``model``, ``maxTurns``, ``outputSchema``.
        agent_version: what the run is pinned to.
        timeout: it fails as ``TIMED_OUT`` this long after it became its thread's live run.
        agent: who answers, if that is not the thread's own.
    """

    policy: Mapping[str, Json] = field(default_factory=dict)
    agent_version: str | None = None
    timeout: timedelta | None = None
    agent: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the form that is stored with what may start a run later."""
        return {
            "policy": dict(self.policy),
            "agentVersion": self.agent_version,
            "timeoutS": None if self.timeout is None else self.timeout.total_seconds(),
            "agent": self.agent,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Terms":
        """Return what ``to_json`` wrote."""
        timeout_s = stored["timeoutS"]
        return cls(
            stored["policy"],
            stored["agentVersion"],
            None if timeout_s is None else timedelta(seconds=timeout_s),
            stored["agent"],
        )


@dataclass(frozen=True, slots=True)
class Fence:
    """What a writer must name to be let through: the live run and exactly its epoch."""

    thread_id: str
    run_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ParentStep:
    """Which step of which run a child run answers; its end is that run's fact ``fact``."""

    thread_id: str
    run_id: str
    fact: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens used, summed.  ``requests`` counts model requests."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum, field by field."""
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the form that is stored and shown."""
        return {
            "requests": self.requests,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cacheReadTokens": self.cache_read_tokens,
            "cacheWriteTokens": self.cache_write_tokens,
        }

    @classmethod
    def from_json(cls, stored: dict[str, int] | None) -> "Usage":
        """Return what ``to_json`` wrote; nothing stored means nothing used."""
        found = stored or {}
        return cls(
            found.get("requests", 0),
            found.get("inputTokens", 0),
            found.get("outputTokens", 0),
            found.get("cacheReadTokens", 0),
            found.get("cacheWriteTokens", 0),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run's row, as a reader sees it."""

    id: str
    thread_id: str
    agent: str
    status: RunStatus
    turn: int = 0
    """The open turn, from 0."""
    usage: Usage = field(default_factory=Usage)
    policy: dict[str, Json] = field(default_factory=dict)
    """What the start asked for, ``model``, ``maxTurns``; ``outputSchema`` may be the agent's."""
    stopped: str | None = None
    error: RunError | None = None
    output: Json = None
    """The answer, if a form was asked for and it was given."""
    worker: str | None = None
    attempts: int = 0
    """How often the run was claimed."""
    crashes: int = 0
    """Takeovers from dead workers since the last finished step."""
    agent_version: str | None = None
    """The version of the agent that the run is pinned to."""
    override: int | None = None
    """The version of what operators say over the agent's code that was in force when the run was
    asked for."""
    parent: ParentStep | None = None
    created_at: datetime | None = None
    queued_at: datetime | None = None
    """When it last became ready to be claimed; a take-over and a hand-over leave it its place."""
    finished_at: datetime | None = None
