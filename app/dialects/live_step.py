"""The step that is being said: what was told of it, before its message is stored.

Laws: a token is told only at its place (``offset``, in UTF-16 code units); what overlaps adds
only what is beyond; behind a gap nothing more is told, the message brings the rest.  A higher
attempt voids what was told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.dialects.events import Began, Ceased, Event, Kind, Said, StepReset, is_said
from app.domain.utf16 import from_unit, units_of


@dataclass(slots=True)
class Piece:
    """One piece of text, as far as it was told."""

    source: int
    """The part of the model's answer that it is."""
    kind: Kind
    said: list[str] = field(default_factory=list)
    units: int = 0

    @property
    def text(self) -> str:
        """Return all of it."""
        return "".join(self.said)


class LiveStep:
    """What was told of one turn."""

    def __init__(self, turn: int, attempt: int) -> None:
        self.turn = turn
        self._attempt = attempt
        self._is_broken = False
        """Something is missing; the message will tell."""
        self.pieces: list[Piece] = []
        """In order; the last one is open."""

    def hear(self, token: Mapping[str, Any]) -> list[Event]:
        """Take a token of this turn."""
        attempt: int = token["attempt"]
        kind: str = token["kind"]
        if attempt < self._attempt or not is_said(kind):
            return []
        events: list[Event] = []
        if attempt > self._attempt:
            self._attempt, self._is_broken = attempt, False
            events += self.reset()
        piece = self.pieces[-1] if self.pieces else None
        offset: int = token["offset"]
        if piece is None or token["part"] > piece.source:
            if offset > 0 or self._is_broken:
                self._is_broken = True
                return events
            events += self._cease()
            piece = Piece(token["part"], kind)
            self.pieces.append(piece)
            events.append(Began(len(self.pieces) - 1, kind))
        if piece.source != token["part"] or offset > piece.units:
            self._is_broken = True
        if self._is_broken:
            return events
        return events + self._append(piece, offset, token["text"])

    def reset(self) -> list[Event]:
        """Take back what was told."""
        was_told, self.pieces = bool(self.pieces), []
        return [StepReset()] if was_told else []

    def agrees_with(self, parts: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether what was told is how the stored answer begins."""
        if len(self.pieces) > len(parts):
            return False
        last = len(self.pieces) - 1
        return all(
            part["type"] == piece.kind
            and (part["text"].startswith if number == last else part["text"].__eq__)(piece.text)
            for number, (piece, part) in enumerate(zip(self.pieces, parts, strict=False))
        )

    def _append(self, piece: Piece, offset: int, text: str) -> list[Event]:
        if offset == 0 and piece.units and not text.startswith(piece.text):
            self._is_broken = not piece.text.startswith(text)  # other words than before
            return []
        beyond = from_unit(text, piece.units - offset)
        if not beyond:
            return []
        piece.said.append(beyond)
        piece.units += units_of(beyond)
        return [Said(len(self.pieces) - 1, piece.kind, beyond)]

    def _cease(self) -> list[Event]:
        if not self.pieces:
            return []
        return [Ceased(len(self.pieces) - 1, self.pieces[-1].kind)]
