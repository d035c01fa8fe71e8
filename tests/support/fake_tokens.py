"""A ``TokenSource`` without Redis: what is said is stored, and published to who watches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.domain.ports import ShownText
from app.domain.storable import Json
from app.domain.utf16 import units_of


class FakeTokens:
    """Says what a worker would say.  ``is_deaf`` loses what is published."""

    def __init__(self) -> None:
        self.watched: set[str] = set()
        self.is_deaf = False
        self.on_token: Callable[[str, Mapping[str, Any]], None] = lambda thread_id, payload: None
        self.on_gap: Callable[[], None] = lambda: None
        self._shown: dict[str, dict[int, ShownText]] = {}

    def connect(
        self, on_token: Callable[[str, Mapping[str, Any]], None], on_gap: Callable[[], None]
    ) -> "FakeTokens":
        """Return this source; the factory that a gateway wants."""
        self.on_token, self.on_gap = on_token, on_gap
        return self

    def say(
        self,
        thread_id: str,
        run: str,
        text: str,
        *,
        turn: int = 0,
        part: int = 0,
        attempt: int = 100,
        version: int = 0,
        kind: str = "text",
    ) -> None:
        """Append a delta."""
        parts = self._shown.setdefault(thread_id, {})
        if any(
            (one.run_id, one.turn, one.attempt) != (run, turn, attempt) for one in parts.values()
        ):
            parts.clear()
        before = parts.get(part) or ShownText(run, turn, part, kind, "", attempt, 0)
        units = before.units + units_of(text)
        parts[part] = ShownText(run, turn, part, kind, before.text + text, attempt, units)
        payload: dict[str, Json] = {
            "run": run,
            "turn": turn,
            "part": part,
            "kind": kind,
            "offset": before.units,
            "text": text,
            "attempt": attempt,
            "version": version,
        }
        if thread_id in self.watched and not self.is_deaf:
            self.on_token(thread_id, payload)

    def forget(self, thread_id: str) -> None:
        """Lose what is stored."""
        self._shown.pop(thread_id, None)

    async def watch(self, thread_id: str) -> None:
        """See ``TokenSource.watch``."""
        self.watched.add(thread_id)

    async def unwatch(self, thread_id: str) -> None:
        """See ``TokenSource.unwatch``."""
        self.watched.discard(thread_id)

    async def shown(self, thread_id: str) -> Sequence[ShownText]:
        """See ``TokenSource.shown``."""
        return tuple(self._shown.get(thread_id, {}).values())
