"""A call that may be repeated: what makes it single, and what is remembered of the first one."""

from dataclasses import dataclass


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

    ``arguments`` is their digest; ``result`` is JSON text, ``None`` while there is none.
    """

    arguments: str
    result: str | None
