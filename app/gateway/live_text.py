"""What the model of a thread is saying just now, as far as this gateway has heard it.

Pure, and linear in the number of deltas: a part keeps its pieces and joins them only for
a reader who joins or who fell behind.

Laws: a piece is appended only at its place (``offset``, in UTF-16 code units); what
overlaps adds only what is beyond; what begins beyond is a gap, and waits until the text
so far was read again.  A newer turn, or a higher attempt of the same turn, begins anew
with its first piece; an older one is dropped.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.domain.ports import ShownText
from app.domain.utf16 import from_unit, units_of

_MAX_WAITING = 256
"""Pieces that wait behind a gap; the oldest are given up first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of one part of a turn.  ``version`` is the thread's, as the speaker knew it."""

    run: str
    turn: int
    part: int
    kind: str
    offset: int
    text: str
    attempt: int
    version: int = 0

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "Piece":
        """Return the piece in a message of the token channel.

        Raises:
            KeyError: a field is missing.
        """
        return cls(**{name: payload[name] for name in cls.__slots__})

    @property
    def place(self) -> "Place":
        """Whose words these are."""
        return Place(self.run, self.turn, self.attempt)


@dataclass(frozen=True, slots=True)
class Place:
    """One attempt of one turn."""

    run: str
    turn: int
    attempt: int

    def is_before(self, other: "Place") -> bool:
        """Return whether ``other`` was begun later.

        Attempts grow over the runs of a thread; within a run its turns come first, because
        an attempt at a turn says nothing about the next turn's.
        """
        if self.run == other.run:
            return (self.turn, self.attempt) < (other.turn, other.attempt)
        return self.attempt < other.attempt


@dataclass(slots=True)
class _Part:
    kind: str
    units: int = 0
    sent: int = 0
    pieces: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)

    def append(self, text: str) -> None:
        self.unsent.append(text)
        self.units += units_of(text)

    @property
    def text(self) -> str:
        return "".join(self.pieces) + "".join(self.unsent)


@dataclass(slots=True)
class Marks:
    """Where a reader fell behind: the first offset of each part that it did not get."""

    place: Place
    offsets: dict[int, int] = field(default_factory=dict)

    def note(self, piece: Piece) -> None:
        """Note a piece that was not sent."""
        if piece.place != self.place:
            self.place, self.offsets = piece.place, {}
        known = self.offsets.get(piece.part, piece.offset)
        self.offsets[piece.part] = min(known, piece.offset)


class LiveText:
    """The newest attempt of the newest turn."""

    __slots__ = ("_parts", "_waiting", "place", "version")

    def __init__(self) -> None:
        self.place: Place | None = None
        self.version = 0
        """The thread's version that the speaker knew, at its highest."""
        self._parts: dict[int, _Part] = {}
        self._waiting: deque[Piece] = deque(maxlen=_MAX_WAITING)

    @property
    def has_gap(self) -> bool:
        """Whether something before what was heard is missing."""
        return bool(self._waiting)

    def clear(self) -> None:
        """Forget the words; what was dropped stays dropped."""
        self._parts.clear()
        self._waiting.clear()

    def hear(self, piece: Piece) -> None:
        """Take a piece."""
        self.version = max(self.version, piece.version)
        if not self._turn_to(piece.place):
            return
        part = self._parts.get(piece.part)
        if piece.offset == 0:
            self._restart(piece, part)
        elif part is None or piece.offset > part.units:
            self._waiting.append(piece)
        else:
            beyond = from_unit(piece.text, part.units - piece.offset)
            if beyond:
                part.append(beyond)

    def refill(self, shown: Iterable[ShownText]) -> None:
        """Take the text so far, then what waited for it."""
        for text in shown:
            piece = Piece(text.run_id, text.turn, text.part, text.kind, 0, text.text, text.attempt)
            self.hear(piece)
        waiting, self._waiting = self._waiting, deque(maxlen=_MAX_WAITING)
        for piece in waiting:
            self.hear(piece)

    def take_unsent(self) -> list[Piece]:
        """Return what nobody has been sent, in order of parts; from now on it counts as sent."""
        taken = []
        for number, part in sorted(self._parts.items()):
            if part.unsent:
                text = "".join(part.unsent)
                taken.append(self._piece(number, part, part.sent, text))
                part.pieces += part.unsent
                part.unsent = []
                part.sent = part.units
        return taken

    def so_far(self) -> list[Piece]:
        """Return all that was sent, one piece a part; what is unsent joins on."""
        return [
            self._piece(number, part, 0, "".join(part.pieces))
            for number, part in sorted(self._parts.items())
            if part.sent
        ]

    def since(self, marks: Marks) -> list[Piece]:
        """Return what a reader who fell behind has to get."""
        if marks.place != self.place:
            return self.so_far()
        return [
            replace(piece, offset=offset, text=from_unit(piece.text, offset))
            for piece in self.so_far()
            if (offset := marks.offsets.get(piece.part)) is not None
        ]

    def _turn_to(self, place: Place) -> bool:
        """Make ``place`` the current one; false if it is an old one."""
        if place == self.place:
            return True
        if self.place is not None and place.is_before(self.place):
            return False
        self.place = place
        self.clear()
        return True

    def _restart(self, piece: Piece, part: _Part | None) -> None:
        """Take a part from its beginning; the same words again only add what is beyond."""
        if part is not None:
            known = part.text
            if known.startswith(piece.text):
                return
            if piece.text.startswith(known):
                part.append(piece.text[len(known) :])
                return
        self._parts[piece.part] = fresh = _Part(piece.kind)
        fresh.append(piece.text)

    def _piece(self, number: int, part: _Part, offset: int, text: str) -> Piece:
        assert self.place is not None  # noqa: S101 - parts exist only in a place
        run, turn, attempt = self.place.run, self.place.turn, self.place.attempt
        return Piece(run, turn, number, part.kind, offset, text, attempt)
