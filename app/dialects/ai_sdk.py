"""The UI message stream of the AI SDK (``useChat``), version 1 of its protocol.

A run is one assistant message, whose id is the run's; a turn is a step of it.  Chunks are
written as they go over the wire: the models of ``pydantic_ai.ui.vercel_ai`` leave out a result
that is ``null`` and do not know ``reset-step``; ``tests/unit/dialects`` holds each chunk that
they do know against them.

Source: the AI SDK, ``packages/ai/src/ui-message-stream/ui-message-chunks.ts``, version 7.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from app.dialects.events import (
    Answered,
    Asked,
    Began,
    Called,
    Ceased,
    Elsewhere,
    Ending,
    Event,
    Interjected,
    Kind,
    Refusal,
    Row,
    Said,
    Showed,
    StepBegan,
    StepEnded,
    StepReset,
)
from app.dialects.sse import event_bytes
from app.dialects.story import Seen, Story
from app.domain.storable import encode

Chunk: TypeAlias = dict[str, Any]

HEADERS: Mapping[str, str] = MappingProxyType({"x-vercel-ai-ui-message-stream": "v1"})
DONE = b"data: [DONE]\n\n"

_WORDS: Mapping[Kind, str] = MappingProxyType({"text": "text", "thinking": "reasoning"})


class UIMessageStream:
    """One run, told as chunks (``Telling``)."""

    headers: ClassVar[Mapping[str, str]] = HEADERS
    tells_state: ClassVar[bool] = False

    def __init__(self, run_id: str, seen: Seen | None = None) -> None:
        """Tell a run, from its beginning or from what was seen of it."""
        self._story = Story(run_id, seen)
        self._chunks = Chunks(run_id)

    @property
    def run_id(self) -> str:
        """See ``Telling.run_id``."""
        return self._story.run_id

    @property
    def is_in_question(self) -> bool:
        """See ``Telling.is_in_question``."""
        return self._story.is_in_question

    def begin(self) -> bytes:
        """See ``Telling.begin``."""
        return event_bytes({"type": "start", "messageId": self.run_id})

    def errors_in(self, rows: Iterable[Row]) -> list[str]:
        """See ``Telling.errors_in``."""
        return self._story.errors_in(rows)

    def rows(self, rows: Iterable[Row], refused: Mapping[str, Refusal]) -> bytes:
        """See ``Telling.rows``."""
        return self._told(self._story.rows(rows, refused))

    def token(self, token: Mapping[str, Any]) -> bytes:
        """See ``Telling.token``."""
        return self._told(self._story.token(token))

    def thread(self, view: Mapping[str, Any] | None) -> bytes:
        """See ``Telling.thread``."""
        return self._told(self._story.thread(view))

    def state(self, value: object) -> bytes:
        """Tell nothing: this protocol has no state."""
        del value
        return b""

    def end(self, ending: Ending) -> bytes:
        """See ``Telling.end``."""
        told = self._told(self._story.approvals(ending.approvals)) if ending.approvals else b""
        return told + self._told(self._story.end()) + event_bytes(_last(ending)) + DONE

    def break_off(self, reason: str) -> bytes:
        """See ``Telling.break_off``."""
        return event_bytes({"type": "error", "errorText": reason}) + DONE

    def _told(self, events: Iterable[Event]) -> bytes:
        return b"".join(event_bytes(chunk) for each in events for chunk in self._chunks.of(each))


class Chunks:
    """The chunks of a run's events."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._step = 0
        self._called: set[str] = set()
        self._asked: set[str] = set()

    def of(self, event: Event) -> Iterator[Chunk]:
        """Yield what an event is called here."""
        match event:
            case StepBegan(index):
                self._step = index
                yield {"type": "start-step"}
            case StepEnded():
                yield {"type": "finish-step"}
            case StepReset():
                yield {"type": "reset-step"}
            case Began() | Said() | Ceased():
                yield self._said(event)
            case Called(call_id, name, given):
                self._called.add(call_id)
                yield {"type": "tool-input-start", "toolCallId": call_id, "toolName": name}
                yield _input(call_id, name, given)
            case Showed(part):
                yield shown(part)
            case Asked(approval):
                self._asked.add(approval["toolCallId"])
                yield _request(approval["id"], approval["toolCallId"])
            case Answered():
                yield from self._answered(event)
            case Elsewhere(approval, is_pending):
                data = {**approval, "status": "pending" if is_pending else "decided"}
                part = {"type": "data-approval", "id": approval["id"], "data": data}
                yield {**part, "transient": True}  # it is no part of what was said
            case Interjected(id_, text):
                parts = [{"type": "text", "text": text}]
                yield {"type": "steering-message", "id": id_, "parts": parts}

    def _said(self, event: Began | Said | Ceased) -> Chunk:
        id_, word = piece_id(self._run_id, self._step, event.number), _WORDS[event.kind]
        match event:
            case Began():
                return {"type": f"{word}-start", "id": id_}
            case Said(_, _, text):
                return {"type": f"{word}-delta", "id": id_, "delta": text}
            case Ceased():
                return {"type": f"{word}-end", "id": id_}

    def _answered(self, result: Answered) -> Iterator[Chunk]:
        call_id, refusal = result.call_id, result.refusal
        if refusal is not None:
            # Who has decided knows; any other reader is told who was asked, and what was said.
            if call_id in self._called:
                if call_id not in self._asked:
                    yield _request(refusal.approval_id, call_id)
                said = {"approvalId": refusal.approval_id, "approved": False}
                why = {"reason": refusal.reason} if refusal.reason else {}
                yield {"type": "tool-approval-response", **said, **why}
            yield {"type": "tool-output-denied", "toolCallId": call_id}
            return
        if result.edited_input is not None:
            yield _input(call_id, result.name, result.edited_input)
        if result.is_error:
            text = error_text(result.output)
            yield {"type": "tool-output-error", "toolCallId": call_id, "errorText": text}
        else:
            output = {"toolCallId": call_id, "output": result.output}
            yield {"type": "tool-output-available", **output}


def _last(ending: Ending) -> Chunk:
    match ending.how:
        case "failed":
            return {"type": "error", "errorText": ending.message}
        case "cancelled":
            return {"type": "abort", "reason": "the run was cancelled"}
        case "parked":
            return {"type": "finish", "finishReason": "tool-calls"}
        case "completed":
            return {
                "type": "finish",
                "finishReason": "stop" if ending.stopped == "final" else "other",
            }


def piece_id(run_id: str, step: int, number: int) -> str:
    """Return what a piece of text is called: the same whenever it is told."""
    return f"{run_id}:{step}:{number}"


def error_text(output: object) -> str:
    """Return what a failed call says."""
    return output if isinstance(output, str) else encode(output)


def shown(part: Mapping[str, Any]) -> Chunk:
    """Return a file or a value of the application's, as chunk and as part: they are alike."""
    if part["type"] == "file":
        return {"type": "file", "url": part["url"], "mediaType": part["mediaType"]}
    return {"type": f"data-{part['name']}", "data": part["value"]}


def _input(call_id: str, name: str, given: object) -> Chunk:
    named = {"toolCallId": call_id, "toolName": name}
    return {"type": "tool-input-available", **named, "input": given}


def _request(approval_id: str, call_id: str) -> Chunk:
    return {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call_id}
