"""One part of a turn's live text: what was added, and up to where Redis is thought to have it."""

from app.domain.utf16 import units_of, whole_characters


class LivePart:
    """A text that grows, is taken away in deltas, and can be taken again from the start."""

    __slots__ = ("_half", "_pieces", "_taken", "_taken_units", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._pieces: list[str] = []
        self._taken = 0
        self._taken_units = 0
        self._half = ""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing of it was ever taken: a reader waits for its first word."""
        return self._taken == 0

    @property
    def has_more(self) -> bool:
        """Whether there is text that was not taken."""
        return self._taken < len(self._pieces)

    def add(self, text: str) -> int:
        """Append ``text`` and return by how many characters the part grew."""
        whole, self._half = whole_characters(self._half + text)
        if whole:
            self._pieces.append(whole)
        return len(whole)

    def take(self) -> tuple[int, str, int]:
        """Return offset, text and length afterwards (UTF-16 units) of what was not taken yet."""
        text = "".join(self._pieces[self._taken :])
        self._pieces[self._taken :] = [text]  # one piece a flush, however small the deltas
        self._taken = len(self._pieces)
        offset = self._taken_units
        self._taken_units += units_of(text)
        return offset, text, self._taken_units

    def take_back(self) -> None:
        """Let the next delta be the whole text: nobody knows what arrived."""
        self._taken = 0
        self._taken_units = 0
