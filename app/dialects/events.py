"""What happens in a run, in the words that all tellings share.

A *step* is one turn: what the model said, the calls that it made, and what they came to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard

from app.domain.storable import Json

Kind: TypeAlias = Literal["text", "thinking"]

Row: TypeAlias = Mapping[str, Any]
"""A message as the wire shows it; see ``app.threads.views.message_view``."""


def is_said(kind: str) -> TypeGuard[Kind]:
    """Return whether parts of this kind are text that is told piece by piece."""
    return kind in {"text", "thinking"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A person's word that a call may not run."""

    approval_id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StepBegan:
    """``index`` counts the steps of the run from 0; ``turn`` may come again after a retry."""

    index: int
    turn: int


@dataclass(frozen=True, slots=True)
class StepReset:
    """All that was told of the open step is void; it is told again."""


@dataclass(frozen=True, slots=True)
class Began:
    """A piece of text begins; ``number`` counts those of the step from 0."""

    number: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Said:
    """The open piece goes on."""

    number: int
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Ceased:
    """The open piece is complete."""

    number: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Called:
    """The model asks for a call."""

    call_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class Showed:
    """The answer holds a file, or a value of the application's own: the part as it is stored."""

    part: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call waits for a person: the approval as the wire shows it."""

    approval: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """A call has its result; ``edited_input``: with which arguments a person let it run."""

    row_id: str
    call_id: str
    name: str
    output: Any
    is_error: bool
    edited_input: Any = None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A run that this one has started waits for a person, or does so no more."""

    approval: Mapping[str, Any]
    is_pending: bool


@dataclass(frozen=True, slots=True)
class Interjected:
    """A message was put into the run while it was at work."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    """The open step is complete."""


Event: TypeAlias = (
    StepBegan
    | StepReset
    | Began
    | Said
    | Ceased
    | Called
    | Showed
    | Asked
    | Answered
    | Elsewhere
    | Interjected
    | StepEnded
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a telling ends.

    ``parked``: the run waits for the people who were asked, and goes on in another telling.
    ``output`` is the answer of a run that was asked for in a form.
    """

    how: Literal["completed", "failed", "cancelled", "parked"]
    code: str = ""
    message: str = ""
    stopped: str | None = None
    approvals: tuple[Mapping[str, Any], ...] = ()
    output: Json = None
