"""Live text, from the model to the screen.  It is never a step and never the only copy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.run import Fence, Usage


@dataclass(frozen=True, slots=True)
class ShownText:
    """Text of a turn that was streamed but not recorded."""

    run_id: str
    turn: int
    part: int
    kind: str
    """``text``, ``thinking`` or ``tool_args``."""
    text: str
    attempt: int
    units: int
    """Length of ``text`` in UTF-16 code units."""
    cost: Usage | None = None
    """Of the request so far, as its provider reports it."""


class TokenStream(Protocol):
    """The live text of one model request.  Never raises into the loop, never waits."""

    def add(self, part: int, kind: str, text: str) -> None:
        """Append a delta to a part."""
        ...

    def costs(self, so_far: Callable[[], Usage]) -> None:
        """Let each delta carry what the request has cost by then, for when it is cut off."""
        ...

    async def close(self) -> None:
        """Forget what is not yet sent; the turn's message says it all."""
        ...


class TokenSink(Protocol):
    """Where live text goes."""

    def open(self, fence: Fence, turn: int, attempt: int, version: int) -> TokenStream:
        """Begin a model request's text.

        ``attempt`` grows over retries and takeovers; a higher one replaces the text of a
        lower one when its first delta comes.  ``version`` is the thread's, as the drive knows it.
        """
        ...


class TokenSource(Protocol):
    """Where a gateway hears live text.

    It is built with a callback ``on_token(thread_id, payload)``; the payload is the JSON
    object ``{run, turn, part, kind, offset, text, attempt, version}``, offsets in UTF-16 units.
    """

    async def watch(self, thread_id: str) -> None:
        """Hear this thread from when the call returns; survives reconnects by itself."""
        ...

    async def unwatch(self, thread_id: str) -> None:
        """Stop hearing it."""
        ...

    async def shown(self, thread_id: str) -> Sequence[ShownText]:
        """Return the text so far of the thread's open turn; empty when Redis is away."""
        ...
