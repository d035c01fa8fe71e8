"""What one subscription to a thread's messages shows, exactly as the SDK puts it together.

A port of ``subscription.ts`` and ``thread-state.ts``.  Every frame is held to the laws of a
view: no message twice, no gap, nothing finished changes, no text beside the message it became.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tests.support.chaos.plan import Plan
from tests.support.chaos.text import Frame, LiveText, Turn

Send = Callable[..., None]
NewRow = Callable[[Frame], None]


class MessagesView:
    """Rows, cursor and live text of one subscription, across sockets."""

    def __init__(self, name: str, args: dict[str, Any], violated: Callable[[str], None]) -> None:
        self.name = name
        self.args = args
        self.cursor: str | None = None
        self.rows: list[Frame] = []
        self.on_new_row: NewRow = lambda _: None
        self.has_gap = False
        """Something is missing: subscribe again."""
        self.asking = False
        self.frames = 0
        self._violated_by = violated
        self._ids: dict[str, int] = {}
        self._plans: dict[str, Plan] = {}
        self.live = LiveText(self._violated)

    def receive(self, frame: Frame) -> None:
        """Take a frame; afterwards ``has_gap`` says whether to subscribe again."""
        self.frames += 1
        match frame["type"]:
            case "snapshot":
                self.asking = False
                self._snapshot(frame)
            case "delta":
                self._delta(frame)
            case _:
                self._token(frame)

    def shown(self, thread: Frame | None) -> dict[Turn, str]:
        """Return the live texts on the screen, given what the thread's own view says."""
        return {
            turn: live.text
            for turn, live in self.live.turns.items()
            if not self._is_over(turn[0], thread)
        }

    # ------------------------------------------------------------ frames

    def _snapshot(self, frame: Frame) -> None:
        rows: list[Frame] = frame["value"]
        same_history = (
            self.cursor is not None and _split(self.cursor)[0] == _split(frame["cursor"])[0]
        )
        if same_history and self.cursor is not None:
            if _split(frame["cursor"])[1] < _split(self.cursor)[1]:
                self._violated(f"a snapshot of an older version: {self.cursor} {frame['cursor']}")
            self._compare(rows)
            rows = [*_older_than(rows, self.rows), *rows]
        self.rows, self.cursor = list(rows), frame["cursor"]
        self._index()
        self._learned(rows)

    def _delta(self, delta: Frame) -> None:
        if self.cursor is None:
            return
        timeline, mine = _split(self.cursor)
        from_timeline, since = _split(delta["from"])
        to_timeline, until = _split(delta["cursor"])
        if not timeline == from_timeline == to_timeline:
            self.has_gap = not self.asking
        elif until <= mine:
            self.asking = self.asking and delta["from"] != self.cursor
        elif since <= mine:
            was_asking, self.asking = self.asking, False
            self._apply(delta, is_answer=was_asking)
        else:
            if not self.asking:
                self._violated(f"a gap between deltas: I have {mine}, it begins at {since}")
            self.has_gap = not self.asking

    def _apply(self, delta: Frame, *, is_answer: bool) -> None:
        changed = [op["row"] for op in delta["ops"] if op["op"] == "upsert"]
        if len(changed) != len(delta["ops"]):
            self._violated(f"a message was removed: {delta}")
        self._compare(changed)
        fresh = []
        for row in changed:
            place = self._ids.get(row["id"])
            if place is not None:
                self.rows[place] = row
            elif not self.rows or row["seq"] > self.rows[-1]["seq"]:
                fresh.append(row)
                self._ids[row["id"]] = len(self.rows)
                self.rows.append(row)
            elif row["seq"] >= self.rows[0]["seq"]:
                self._violated(f"a row in the middle that was not there: {row}")
        self.cursor = delta["cursor"]
        self._learned(changed)
        if not is_answer:
            for row in fresh:
                self.on_new_row(row)

    def _token(self, token: Frame) -> None:
        gap = self.live.hear(token)
        if gap and not self.asking:
            self.has_gap = True
        turn = (token["run"], token["turn"])
        live = self.live.turns.get(turn)
        plan = self._plans.get(turn[0])
        if live is not None and plan and not plan.is_said(turn[1], live.text, whole=False):
            self._violated(f"live text that was never said: {live.text!r} instead of {plan.id}")

    # ------------------------------------------------------------ laws

    def _learned(self, changed: Sequence[Frame]) -> None:
        for row in changed:
            plan = Plan.from_text(row["text"]) if row["role"] == "user" else None
            if plan is not None:
                self._plans[row["runId"]] = plan
        self.live.settle(changed)
        self._check_whole(changed)

    def _index(self) -> None:
        self._ids = {row["id"]: place for place, row in enumerate(self.rows)}
        if len(self._ids) != len(self.rows):
            self._violated("a message is there twice")

    def _check_whole(self, changed: Sequence[Frame]) -> None:
        seqs = [row["seq"] for row in self.rows]
        if seqs and seqs != list(range(seqs[0], seqs[0] + len(seqs))):
            self._violated(f"a gap or a double in the places: {seqs}")
        answers = [
            (row["runId"], row["turn"])
            for row in self.rows
            if row["role"] == "assistant" and row["status"] != "interrupted"
        ]
        if len(answers) != len(set(answers)):
            self._violated("a turn is answered twice")
        calls = [
            part["toolCallId"] for row in self.rows for part in row["parts"] if _is_result(part)
        ]
        if len(calls) != len(set(calls)):
            self._violated(f"a call has two results: {calls}")
        for row in changed:
            self._check_words(row)

    def _check_words(self, row: Frame) -> None:
        plan = self._plans.get(row["runId"])
        if row["role"] != "assistant" or plan is None:
            return
        if not plan.is_said(row["turn"], row["text"], whole=row["status"] != "interrupted"):
            self._violated(f"a message that was never said: {row}")

    def _compare(self, changed: Sequence[Frame]) -> None:
        """What is finished never changes."""
        for row in changed:
            place = self._ids.get(row["id"])
            old = self.rows[place] if place is not None else None
            if old is None or old == row or old["status"] == "open":
                continue
            reopened = (old["status"], row["status"], row["role"]) == (
                "interrupted",
                "open",
                "tool",
            )
            if not reopened:
                self._violated(f"a finished message changed: {old} {row}")

    def _is_over(self, run: str, thread: Frame | None) -> bool:
        if thread is not None and thread.get("runId") == run:
            return thread["status"] not in {"queued", "running", "awaiting_input"}
        newest = self.rows[-1]["runId"] if self.rows else None
        return newest not in {None, run} and any(row["runId"] == run for row in self.rows)

    def _violated(self, sentence: str) -> None:
        self._violated_by(f"{self.name} {self.args['key']}: {sentence}")


def _is_result(part: Frame) -> bool:
    return bool(part["type"] == "tool_result")


def _older_than(rows: Sequence[Frame], old: Sequence[Frame]) -> list[Frame]:
    """Return the rows of older pages that join the first row of a snapshot without a hole."""
    if not rows:
        return []
    kept: list[Frame] = []
    wanted = rows[0]["seq"] - 1
    for row in reversed(old):
        if row["seq"] > wanted:
            continue
        if row["seq"] < wanted or row["status"] == "open":
            break
        kept.append(row)
        wanted -= 1
    return kept[::-1]


def _split(cursor: str) -> tuple[str, int]:
    timeline, _, version = cursor.rpartition(".")
    return timeline, int(version)
