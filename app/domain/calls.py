"""A call that may be repeated: what makes it single, and what is remembered of the first one."""

from dataclasses import dataclass, field

from app.domain.tables import TableWrites


@dataclass(frozen=True, slots=True)
class CallKey:
    """Who calls what under which key.

    ``identity`` is empty for an anonymous caller; ``function`` is the reference as it
    is spelled on the wire.
    """

    identity: str
    function: str
    dedupe: str


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """An earlier call under the same key.

    ``arguments`` is their digest; ``result`` is JSON text, ``None`` while there is none;
    ``writes`` is what it wrote of the team's tables.
    """

    arguments: str
    result: str | None
    writes: TableWrites = field(default_factory=dict)
