"""A reader that joins a thread as DESIGN says: watch, read what is shown, follow by offset."""

from dataclasses import dataclass, field

from app.domain.ports import ShownText
from app.domain.storable import Json


@dataclass
class Screen:
    """What one watcher of one thread sees of its newest turn."""

    texts: dict[int, str] = field(default_factory=dict)
    attempt: int = -1
    gaps: int = 0
    heard: list[dict[str, Json]] = field(default_factory=list)
    _waiting: list[dict[str, Json]] | None = field(default_factory=list)

    def on_token(self, thread_id: str, delta: dict[str, Json]) -> None:
        """Take a delta; before ``join`` it is kept."""
        self.heard.append(delta)
        if self._waiting is not None:
            self._waiting.append(delta)
        else:
            self._apply(delta)

    def join(self, shown: tuple[ShownText, ...]) -> None:
        """Start from the text so far and replay what came meanwhile."""
        for piece in shown:
            self.texts[piece.part] = piece.text
            self.attempt = piece.attempt
        waiting, self._waiting = self._waiting or [], None
        for delta in waiting:
            self._apply(delta)

    def _apply(self, delta: dict[str, Json]) -> None:
        match delta:
            case {
                "part": int(part),
                "offset": int(offset),
                "text": str(text),
                "attempt": int(attempt),
            }:
                self._write(part, offset, text, attempt)
            case _:
                raise AssertionError(f"not a delta: {delta}")

    def _write(self, part: int, offset: int, text: str, attempt: int) -> None:
        if attempt < self.attempt:
            return
        if attempt > self.attempt:
            self.texts.clear()
            self.attempt = attempt
        have = self.texts.get(part, "").encode("utf-16-le")
        if offset * 2 > len(have):
            self.gaps += 1
            return
        after = have[: offset * 2] + text.encode("utf-16-le")
        if offset == 0 or len(after) > len(have):
            self.texts[part] = after.decode("utf-16-le")
