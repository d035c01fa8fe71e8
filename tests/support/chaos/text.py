"""The live text of a thread, put together from tokens exactly as ``live-text.ts`` does.

Laws that every token is held to: within one attempt text only grows; what is shown is what the
model said, from its first word on; nothing is shown of a turn beside its message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

Frame = dict[str, Any]
Turn = tuple[str, int]
"""A run and the number of its turn."""


@dataclass
class LivePart:
    """One part that is being written."""

    kind: str
    text: str


@dataclass
class LiveTurn:
    """One message that is being written."""

    attempt: int
    parts: dict[int, LivePart] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return its plain text."""
        parts = (self.parts[number] for number in sorted(self.parts))
        return "".join(part.text for part in parts if part.kind == "text")


class LiveText:
    """All turns that are being spoken.  Characters are ASCII here, so units are characters."""

    def __init__(self, violated: Callable[[str], None]) -> None:
        self.turns: dict[Turn, LiveTurn] = {}
        self.gaps = 0
        self._closed: dict[Turn, float] = {}
        self._violated = violated

    def hear(self, token: Frame) -> bool:
        """Take a token; return whether something before it is missing."""
        turn = (token["run"], token["turn"])
        attempt = token["attempt"]
        if attempt <= self._closed.get(turn, -1):
            return False
        before = self.turns.get(turn)
        if before is not None and attempt < before.attempt:
            return False
        same = before if before is not None and before.attempt == attempt else None
        known = same.parts.get(token["part"]) if same is not None else None
        text = self._extended(known, token)
        if text is None:
            self.gaps += 1
            return True
        if known is not None and text == known.text:
            return False
        now = same or LiveTurn(attempt)
        now.parts[token["part"]] = LivePart(token["kind"], text)
        self.turns[turn] = now
        return False

    def settle(self, rows: Sequence[Frame]) -> None:
        """Take rows: the turns that they finish are spoken no more."""
        for row in rows:
            if row["role"] != "assistant" or "turn" not in row:
                continue
            turn = (row["runId"], row["turn"])
            spoken = self.turns[turn].attempt if turn in self.turns else -1
            up_to = spoken if row["status"] == "interrupted" else inf
            self._closed[turn] = max(up_to, self._closed.get(turn, -1))
            if turn in self.turns and self.turns[turn].attempt <= self._closed[turn]:
                del self.turns[turn]

    def _extended(self, known: LivePart | None, token: Frame) -> str | None:
        """Return the part's text after a token, or nothing for a gap."""
        offset, text = token["offset"], str(token["text"])
        if known is None or known.kind != token["kind"]:
            if known is not None:
                self._violated(f"a part changes its kind within an attempt: {token}")
            return text if offset == 0 else None
        if offset > len(known.text):
            return None
        if offset == 0:
            if known.text.startswith(text):
                return known.text
            if not text.startswith(known.text):
                self._violated(f"text of one attempt was taken back: {known.text!r} {token}")
            return text
        overlap = known.text[offset : offset + len(text)]
        if not text.startswith(overlap):
            self._violated(f"text of one attempt changed: {known.text!r} {token}")
        return known.text + text[len(known.text) - offset :]
