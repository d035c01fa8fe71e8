"""What a client knows of one subscription, put together from frames as the SDK does.

It is strict where the SDK is forgiving: a gap between deltas, a token out of place, or a
message's text spoken again after the message came is an error of the gateway.
"""

from dataclasses import dataclass, field
from typing import Any

Frame = dict[str, Any]


@dataclass
class Spoken:
    """The live text of one attempt of one turn, by part."""

    run: str
    turn: int
    attempt: int
    parts: dict[int, str] = field(default_factory=dict)


class ClientView:
    """Rows (or a value), the cursor up to which they are known, and the live text."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.rows: dict[str, Frame] = {}
        self.value: Any = None
        self.live: Spoken | None = None
        self.frames: list[Frame] = []
        self.history: list[list[tuple[int, str]]] = []
        """After each frame: seq and status of every row."""

    def resumed(self) -> "ClientView":
        """Return a view that begins with what this one has, as on a new socket."""
        view = ClientView()
        view.cursor, view.rows, view.value = self.cursor, dict(self.rows), self.value
        return view

    @property
    def texts(self) -> list[str]:
        """The messages' texts, in order."""
        return [row["text"] for row in self.ordered]

    @property
    def ordered(self) -> list[Frame]:
        """The rows, in order."""
        return sorted(self.rows.values(), key=lambda row: int(row["seq"]))

    @property
    def spoken(self) -> str:
        """The plain text of the turn that is being spoken."""
        return "".join(self.live.parts.values()) if self.live else ""

    def apply(self, frame: Frame) -> None:
        """Take a frame."""
        self.frames.append(frame)
        match frame["type"]:
            case "snapshot":
                self._take_snapshot(frame)
            case "delta":
                self._take_delta(frame)
            case "token":
                self._take_token(frame)
            case other:
                raise AssertionError(f"not about a subscription: {other}")
        self.history.append([(row["seq"], row["status"]) for row in self.ordered])

    def _take_snapshot(self, frame: Frame) -> None:
        self.cursor = frame["cursor"]
        self.value = frame["value"]
        if isinstance(self.value, list):
            self.rows = {row["id"]: row for row in self.value}
            self._close_live(self.value)

    def _take_delta(self, frame: Frame) -> None:
        assert self.cursor is not None, "a delta before any answer"
        timeline, mine = _split(self.cursor)
        from_timeline, since = _split(frame["from"])
        to_timeline, until = _split(frame["cursor"])
        assert (timeline, timeline) == (from_timeline, to_timeline)
        assert since <= mine, f"a gap: I have {mine}, the delta begins at {since}"
        if until <= mine:
            return
        rows = [op["row"] for op in frame["ops"]]
        self.rows |= {row["id"]: row for row in rows}
        self.cursor = frame["cursor"]
        self._close_live(rows)

    def _take_token(self, frame: Frame) -> None:
        run, turn, attempt = frame["run"], frame["turn"], frame["attempt"]
        said = [
            row
            for row in self.rows.values()
            if (row["runId"], row["role"], row.get("turn")) == (run, "assistant", turn)
            and row["status"] != "interrupted"
        ]
        assert not said, f"turn {turn} is spoken again after its message: {frame}"
        live = self.live
        if live is None or (live.run, live.turn, live.attempt) != (run, turn, attempt):
            assert frame["offset"] == 0, f"a turn begins in the middle: {frame}"
            self.live = live = Spoken(run, turn, attempt)
        known = live.parts.get(frame["part"], "")
        place = frame["offset"] * 2
        units = known.encode("utf-16-le")
        assert place <= len(units), f"a gap in the text: {frame}"
        new = frame["text"].encode("utf-16-le")
        text = new if place == 0 else units[:place] + new
        live.parts[frame["part"]] = text.decode("utf-16-le")

    def _close_live(self, rows: list[Frame]) -> None:
        if self.live is None:
            return
        for row in rows:
            if row["role"] == "assistant" and row["runId"] == self.live.run:
                self.live = None if row.get("turn") == self.live.turn else self.live
                return


def _split(cursor: str) -> tuple[str, int]:
    timeline, _, version = cursor.rpartition(".")
    return timeline, int(version)
