"""A thread as the AI SDK's ``UIMessage``s: what ``useChat`` is given to begin with.

Made from the same events as the stream, so a message that was loaded and one that was
streamed are the same message, part for part.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from app.dialects.ai_sdk import error_text, piece_id, shown
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
    StepReset,
)
from app.dialects.said_once import known_as
from app.dialects.story import Story

UIMessage: TypeAlias = dict[str, Any]


def ui_messages(
    rows: Sequence[Row],
    refused: Mapping[str, Refusal],
    pending: Sequence[Mapping[str, Any]] = (),
) -> list[UIMessage]:
    """Return rows, oldest first, as messages.

    Args:
        rows: of a thread.
        refused: failed calls that a person has refused.
        pending: approvals that wait.
    """
    messages: list[UIMessage] = []
    runs: dict[str, list[Row]] = {}
    for row in rows:  # what no run has written stands alone
        runs.setdefault(row["runId"] or row["id"], []).append(row)
    first_run = rows[0]["runId"] if rows else None
    if first_run is not None and len(runs) > 1 and rows[0]["seq"] > 1:
        del runs[first_run]  # its beginning is further up
    for run_id, of_run in runs.items():
        first = of_run[0]
        if first["role"] in {"user", "system"} or first["runId"] is None:
            messages.append(_message(known_as(first), first["role"], user_parts(first)))
        parts = _Parts(run_id)
        story = Story(run_id)
        for event in story.rows(of_run, refused):
            parts.take(event)
        if any(each["runId"] == run_id for each in pending):
            for event in story.approvals(pending):
                parts.take(event)
        if parts.parts:
            messages.append(_message(run_id, "assistant", parts.parts))
    return messages


def user_parts(row: Row) -> list[dict[str, Any]]:
    """Return the parts of what somebody said."""
    return list(_user_parts(row))


def _user_parts(row: Row) -> Iterator[dict[str, Any]]:
    for part in row["parts"]:
        match part["type"]:
            case "text":
                yield {"type": "text", "text": part["text"]}
            case "file" | "data":
                yield shown(part)
            case _:
                pass


def _message(id_: str, role: str, parts: list[dict[str, Any]]) -> UIMessage:
    return {"id": id_, "role": role, "parts": parts}


class _Parts:
    """The parts of one answer."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._step = 0
        self._calls: dict[str, dict[str, Any]] = {}
        self.parts: list[dict[str, Any]] = []

    def take(self, event: Event) -> None:
        """Add what an event says, as the client does with its chunks."""
        match event:
            case StepBegan(index):
                self._step = index
                self.parts.append({"type": "step-start"})
            case Began(number, "thinking"):
                id_ = piece_id(self._run_id, self._step, number)
                self.parts.append({"type": "reasoning", "id": id_, "text": "", "state": "done"})
            case Began():
                self.parts.append({"type": "text", "text": "", "state": "done"})
            case Said(_, _, text):
                self.parts[-1]["text"] += text
            case Called(call_id, name, given):
                part = {"type": f"tool-{name}", "toolCallId": call_id}
                self._calls[call_id] = {**part, "state": "input-available", "input": given}
                self.parts.append(self._calls[call_id])
            case Showed(part):
                self.parts.append(shown(part))
            case Asked(approval):
                found = self._calls[approval["toolCallId"]]
                found |= {"state": "approval-requested", "approval": {"id": approval["id"]}}
            case Answered():
                _answer(self._calls[event.call_id], event)
            case Interjected(id_, text):
                said = [{"type": "text", "text": text}]
                self.parts.append({"type": "steering-message", "id": id_, "parts": said})
            case StepReset() | Ceased() | StepEnded() | Elsewhere():
                pass


def _answer(part: dict[str, Any], result: Answered) -> None:
    if result.edited_input is not None:
        part["input"] = result.edited_input
    if result.refusal is not None:
        why = {"reason": result.refusal.reason} if result.refusal.reason else {}
        approval = {"id": result.refusal.approval_id, "approved": False, **why}
        part |= {"state": "output-denied", "approval": approval}
    elif result.is_error:
        part |= {"state": "output-error", "errorText": error_text(result.output)}
    else:
        part |= {"state": "output-available", "output": result.output}
