"""One run, told once: rows, tokens and the thread go in, events come out in their order.

A row is told when it is stored, whatever was told of it live: what agrees goes on from there,
what does not is taken back first.  So a row may come twice, late, or in a whole snapshot, and
a call's result is told exactly once.

Who was told a part already says what it has (``Seen``): a client that goes on with a message
after a person's decision is told only the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dialects.events import (
    Answered,
    Asked,
    Began,
    Called,
    Ceased,
    Elsewhere,
    Event,
    Interjected,
    Refusal,
    Row,
    Said,
    Showed,
    StepBegan,
    StepEnded,
    is_said,
)
from app.dialects.live_step import LiveStep
from app.dialects.said_once import known_as
from app.domain.run import FINAL, RunStatus

_RESTING = frozenset({*(each.value for each in FINAL), RunStatus.AWAITING_INPUT.value})
_NOBODY: Mapping[str, Refusal] = {}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the other side has of the run.

    Attributes:
        steps: how many.
        asked: calls of which it knows that they wait for a person.
        answered: calls whose result it has.
        interjected: ids of messages that were put in.
    """

    steps: int = 0
    asked: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    interjected: frozenset[str] = frozenset()


class Story:
    """What was told of a run so far."""

    def __init__(self, run_id: str, seen: Seen | None = None) -> None:
        self.run_id = run_id
        self.is_in_question = False
        """Whether the run may be over, or wait: somebody should look."""
        self._seen = seen or Seen()
        self._told: set[str] = set()
        self._turns: set[int] = set()
        self._opening: str | None = None
        self._steps = 0
        self._is_open = False
        self._live: LiveStep | None = None
        self._waiting: set[str] = set()
        """Calls that were told and have no result yet."""
        self._asked: set[str] = set(self._seen.asked)
        self._elsewhere: dict[str, Mapping[str, Any]] = {}

    # ------------------------------------------------------------ what is stored

    def errors_in(self, rows: Iterable[Row]) -> list[str]:
        """Return the calls in ``rows`` that failed, and were not told yet: a person may know."""
        results = (_result(row) for row in rows if self._is_ours(row) and row["role"] == "tool")
        return [
            part["toolCallId"]
            for part in results
            if part.get("isError") and part["toolCallId"] not in self._seen.answered
        ]

    def rows(
        self, rows: Iterable[Row], refused: Mapping[str, Refusal] = _NOBODY
    ) -> Iterator[Event]:
        """Tell rows; ``refused`` says which failed calls a person has refused."""
        for row in sorted(filter(self._is_ours, rows), key=lambda row: int(row["seq"])):
            match row["role"]:
                case "assistant":
                    yield from self._answer(row)
                case "tool":
                    yield from self._outcome(row, refused)
                case "user":
                    yield from self._words(row)
                case _:
                    pass  # what the model was told is not said to people

    def _is_ours(self, row: Row) -> bool:
        return row["runId"] == self.run_id and row["id"] not in self._told

    def _answer(self, row: Row) -> Iterator[Event]:
        self._told.add(row["id"])
        if row["status"] != "interrupted":  # after a retry that turn is spoken again
            self._turns.add(row.get("turn", 0))
        calls = [part["toolCallId"] for part in row["parts"] if part["type"] == "tool_call"]
        self._waiting.update(set(calls) - self._seen.answered)
        if self._steps < self._seen.steps:
            self._steps += 1
            self._is_open = True
            return
        yield from self._whole(row)

    def _whole(self, row: Row) -> Iterator[Event]:
        """Tell an answer, as far as it was not told live."""
        live, self._live = self._live, None
        if live is None:
            yield from self._begin(row.get("turn", 0))
            live = LiveStep(row.get("turn", 0), 0)
        elif live.turn != row.get("turn") or not live.agrees_with(row["parts"]):
            yield from live.reset()
        said, last, number = len(live.pieces), len(live.pieces) - 1, 0
        for place, part in enumerate(row["parts"]):
            kind: str = part["type"]
            if is_said(kind):
                begun = live.pieces[place].text if place < said else ""
                if place >= said:
                    yield Began(number, kind)
                if place >= last:
                    rest = part["text"][len(begun) :]
                    if rest:
                        yield Said(number, kind, rest)
                    yield Ceased(number, kind)
                number += 1
            elif kind == "tool_call":
                yield Called(part["toolCallId"], part["name"], part["input"])
            else:
                yield Showed(part)

    def _outcome(self, row: Row, refused: Mapping[str, Refusal]) -> Iterator[Event]:
        part = _result(row)
        call_id: str = part["toolCallId"]
        if "isError" not in part:
            return
        self._told.add(row["id"])
        if call_id not in self._waiting:
            return
        self._waiting.remove(call_id)
        yield Answered(
            row_id=row["id"],
            call_id=call_id,
            name=part["name"],
            output=part.get("output"),
            is_error=bool(part["isError"]),
            edited_input=part.get("editedInput"),
            refusal=refused.get(call_id),
        )

    def _words(self, row: Row) -> Iterator[Event]:
        self._told.add(row["id"])
        if self._opening is None:  # what the run was asked: whoever asked knows
            self._opening = row["id"]
            return
        if known_as(row) not in self._seen.interjected:
            yield from self._end_step()
            yield Interjected(known_as(row), row["text"])

    # ------------------------------------------------------------ what is said

    def token(self, token: Mapping[str, Any]) -> Iterator[Event]:
        """Tell a piece of live text."""
        turn: int = token["turn"]
        if token["run"] != self.run_id or turn in self._turns:
            return
        if self._live is not None and turn < self._live.turn:
            return
        if token["kind"] == "tool_args":
            return  # a call is told with its name and id, which only its row has
        if self._live is None:
            yield from self._begin(turn)
            self._live = LiveStep(turn, token["attempt"])
        elif turn > self._live.turn:
            yield from self._live.reset()
            self._live = LiveStep(turn, token["attempt"])
        yield from self._live.hear(token)

    # ------------------------------------------------------------ the thread

    def thread(self, view: Mapping[str, Any] | None) -> Iterator[Event]:
        """Tell who is asked, and note whether the run may be over."""
        if view is None:
            self.is_in_question = True
            return
        queued = {each["id"] for each in view["waiting"]}
        is_ours = view["runId"] == self.run_id
        self.is_in_question = (
            view["runStatus"] in _RESTING if is_ours else self.run_id not in queued
        )
        if is_ours:
            yield from self.approvals(view["pendingApprovals"])

    def approvals(self, pending: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
        """Tell who is asked now."""
        elsewhere = {}
        for approval in pending:
            call_id = approval["toolCallId"]
            if approval["runId"] != self.run_id:
                elsewhere[approval["id"]] = approval
            elif call_id in self._waiting and call_id not in self._asked:
                self._asked.add(call_id)
                yield Asked(approval)
        for id_, approval in self._elsewhere.items():
            if id_ not in elsewhere:
                yield Elsewhere(approval, is_pending=False)
        for id_, approval in elsewhere.items():
            if id_ not in self._elsewhere:
                yield Elsewhere(approval, is_pending=True)
        self._elsewhere = elsewhere

    def end(self) -> Iterator[Event]:
        """Close what is open."""
        live, self._live = self._live, None
        if live is not None and live.pieces:
            yield Ceased(len(live.pieces) - 1, live.pieces[-1].kind)
        yield from self._end_step()

    # ------------------------------------------------------------ steps

    def _begin(self, turn: int) -> Iterator[Event]:
        yield from self._end_step()
        yield StepBegan(self._steps, turn)
        self._steps += 1
        self._is_open = True

    def _end_step(self) -> Iterator[Event]:
        if self._is_open:
            self._is_open = False
            yield StepEnded()


def _result(row: Row) -> Mapping[str, Any]:
    part: Mapping[str, Any] = row["parts"][0]
    return part
