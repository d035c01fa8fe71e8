"""What operators say over an agent's code, and who may use it: versions, lists, their audit.

A published version is never changed: whoever knows its number knows what it says.  A run carries
the number that was in force when it was asked for, so nothing changes in the middle of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from app.domain.storable import Json


@dataclass(frozen=True, slots=True)
class Override:
    """What stands in place of the code's own word; ``None``: as coded.

    Attributes:
        instructions: the system prompt; empty text is none at all.
        model: an id.
        autonomy: ``as_coded`` or ``always_ask``.
        max_turns: model requests per run.
        tools_off: tools that the model is not offered.
    """

    instructions: str | None = None
    model: str | None = None
    autonomy: str | None = None
    max_turns: int | None = None
    tools_off: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the form that is stored and shown; what is as coded is left out."""
        said: dict[str, Json] = {
            "instructions": self.instructions,
            "model": self.model,
            "autonomy": self.autonomy,
            "maxTurns": self.max_turns,
            "toolsOff": list(self.tools_off) or None,
        }
        return {name: value for name, value in said.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> "Override":
        """Return what ``to_json`` wrote."""
        turns, off = stored.get("maxTurns"), stored.get("toolsOff")
        return cls(
            _text(stored.get("instructions")),
            _text(stored.get("model")),
            _text(stored.get("autonomy")),
            turns if isinstance(turns, int) else None,
            tuple(map(str, off)) if isinstance(off, list) else (),
        )


def _text(stored: Json) -> str | None:
    return stored if isinstance(stored, str) else None


AS_CODED = Override()
"""Says nothing.  Published, it takes back what was published before."""


@dataclass(frozen=True, slots=True)
class OverrideVersion:
    """Something that was published, or the draft.

    Attributes:
        version: from 1; ``DRAFT`` for the draft.
        at: when it was published, or last saved.
    """

    version: int
    content: Override
    author: str | None
    at: datetime
    note: str | None = None


DRAFT = 0


@dataclass(frozen=True, slots=True)
class Governance:
    """Who may use an agent, and decide what it asks.  People are e-mails and user ids.

    Attributes:
        use: who may prompt it; ``None``: whomever its access lets in.
        approve: who may decide at all; ``None``: the same as ``use``.
        approvers: by tool, in place of those in code.
        manual_minutes: that a person takes for what a completed run does; ``None``: nobody said.
    """

    use: tuple[str, ...] | None = None
    approve: tuple[str, ...] | None = None
    approvers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    manual_minutes: float | None = None


UNGOVERNED = Governance()


@dataclass(frozen=True, slots=True)
class Governed:
    """What is said of agents, and of the whole deployment.

    Attributes:
        agents: by slug; of whom nothing is said is left out.
        models: which may be chosen, as ``provider:model``; ``None``: any.
    """

    agents: Mapping[str, Governance] = field(default_factory=dict)
    models: tuple[str, ...] | None = None

    def of(self, agent: str) -> Governance:
        """Return what is said of an agent."""
        return self.agents.get(agent, UNGOVERNED)


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with an agent at the moment of a change, which nothing else can come into.

    Attributes:
        draft: what is being written.
        newest: the version in force; ``None``: nothing was ever published.
        restorable: the older version that the change is about, if there is one.
        governed: the agent's own lists, and the deployment's.
        models_in_force: the models of the overrides that are in force, by agent.
    """

    draft: OverrideVersion | None
    newest: OverrideVersion | None
    restorable: OverrideVersion | None
    governed: Governed
    models_in_force: Mapping[str, str]

    @property
    def in_force(self) -> Override:
        """What holds for the next prompt."""
        return AS_CODED if self.newest is None else self.newest.content


@dataclass(frozen=True, slots=True)
class SaveDraft:
    """Write the draft."""

    content: Override


@dataclass(frozen=True, slots=True)
class DiscardDraft:
    """Throw the draft away."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Put a new version in force; ``takes_draft``: the draft has become it."""

    content: Override
    note: str | None
    takes_draft: bool = False


@dataclass(frozen=True, slots=True)
class Govern:
    """Say anew who may use the agent and decide."""

    governance: Governance


@dataclass(frozen=True, slots=True)
class AllowModels:
    """Say anew which models may be chosen."""

    models: tuple[str, ...] | None


OverrideChange: TypeAlias = SaveDraft | DiscardDraft | Publish | Govern | AllowModels


@dataclass(frozen=True, slots=True)
class Changed:
    """A change, and what the audit says of it; ``action`` is ``None`` for what needs none."""

    change: OverrideChange
    action: str | None = None
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what, when.  Never changed, never deleted; ``agent`` is empty for the deployment."""

    id: int
    at: datetime
    actor: str | None
    agent: str
    action: str
    detail: Mapping[str, Json]
