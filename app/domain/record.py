"""What a finished step writes: its value, the message rows, the change to the thread.

A record is whole: any process can store it without running the agent's code.
It goes to the journal first, then to Postgres in one statement, under the
writer's fence; storing it twice changes nothing, because the step's row comes
first and the rest happens only if that was new.

All JSON in here is text that ``app.domain.storable.encode`` wrote: encoded once,
then copied.
"""

import json
from dataclasses import dataclass

from app.domain.message import MessageStatus, Role
from app.domain.run import Usage


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A row to append to the thread; it gets the next ``seq``.

    ``parts``, ``model`` and ``usage`` are JSON text.
    """

    id: str
    key: str
    role: Role
    status: MessageStatus
    parts: str
    turn: int | None = None
    model: str | None = None
    model_name: str | None = None
    usage: str | None = None
    author: str | None = None
    dedupe: str | None = None


@dataclass(frozen=True, slots=True)
class FilledMessage:
    """The result for a row that was inserted ``open``, found by its key."""

    key: str
    status: MessageStatus
    parts: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class NewApproval:
    """A decision to ask for.

    ``input`` is the JSON of the arguments that are shown, ``rules`` that of ``ApprovalRules``.
    """

    id: str
    tool_call_id: str
    name: str
    input: str
    rules: str = "{}"


@dataclass(frozen=True, slots=True)
class Writes:
    """Everything a step changes beside its own value.

    ``turn`` becomes the run's open turn.  The usages replace what the run's and
    the thread's rows say: the drive that holds the fence knows both sums.
    """

    messages: tuple[NewMessage, ...] = ()
    filled: FilledMessage | None = None
    approvals: tuple[NewApproval, ...] = ()
    turn: int | None = None
    run_usage: Usage | None = None
    thread_usage: Usage | None = None
    consumed: tuple[str, ...] = ()
    """Ids of the signals whose messages these are: they wait no longer."""


NO_WRITES = Writes()


@dataclass(frozen=True, slots=True)
class Record:
    """A finished step.

    Attributes:
        step: the step's name, unique in its run.
        turn: the turn the step belongs to; ``None`` for one that belongs to the whole run.
        value: JSON text of what the step returned.
        trace: JSON text of how it came about, for people: ``ms`` it took with all its tries,
            ``attempts``, ``worker``, ``epoch``.
    """

    run_id: str
    thread_id: str
    step: str
    turn: int | None
    value: str
    writes: Writes = NO_WRITES
    trace: str | None = None

    def to_json(self) -> str:
        """Return the form that the journal holds."""
        return json.dumps(self, default=_by_slots, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """Return what ``to_json`` wrote."""
        stored = json.loads(text)
        writes = stored.pop("writes")
        return cls(
            **stored,
            writes=Writes(
                messages=tuple(
                    NewMessage(**{**row, "role": Role(row["role"]), **_status(row)})
                    for row in writes["messages"]
                ),
                filled=writes["filled"]
                and FilledMessage(**{**writes["filled"], **_status(writes["filled"])}),
                approvals=tuple(NewApproval(**row) for row in writes["approvals"]),
                turn=writes["turn"],
                run_usage=writes["run_usage"] and Usage(**writes["run_usage"]),
                thread_usage=writes["thread_usage"] and Usage(**writes["thread_usage"]),
                consumed=tuple(writes["consumed"]),
            ),
        )


def _status(row: dict[str, str]) -> dict[str, MessageStatus]:
    return {"status": MessageStatus(row["status"])}


def _by_slots(value: object) -> dict[str, object]:
    """Return a slotted dataclass as a mapping, without the deep copy of ``asdict``."""
    return {name: getattr(value, name) for name in type(value).__slots__}  # type: ignore[attr-defined]  # slots=True
