"""One entry of a thread, and the keys that make writing it twice harmless.

A message is identified by ``RUN:ROLE:POSITION``: the run's user message is at
``0``, an assistant message at its turn, a tool result at ``TURN.INDEX``, an
interrupted text at ``TURN.EPOCH``,
what the model was told about a turn's answer at that turn.  ``parts`` is what the wire shows;
``model`` is the model library's own message, private to the server, from which
the history is built.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from app.domain.storable import Json

Part: TypeAlias = dict[str, Json]

INTERRUPTED_OUTPUT = "interrupted; it may have taken effect"


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class MessageStatus(StrEnum):
    """``open`` is a call without its result yet."""

    OPEN = "open"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message, as a reader sees it."""

    id: str
    thread_id: str
    seq: int
    version: int
    run_id: str
    role: Role
    status: MessageStatus
    parts: list[Part]
    created_at: datetime
    turn: int | None = None
    model: str | None = None
    """JSON of the model library's message; never leaves the server."""
    model_name: str | None = None
    usage: dict[str, Json] | None = None
    author: str | None = None
    dedupe: str | None = None


def user_key(run_id: str) -> str:
    """Return the key of the message that started a run."""
    return f"{run_id}:user:0"


def assistant_key(run_id: str, turn: int) -> str:
    """Return the key of a turn's answer."""
    return f"{run_id}:assistant:{turn}"


def feedback_key(run_id: str, turn: int) -> str:
    """Return the key of what the model was told about a turn's answer that did not do."""
    return f"{run_id}:system:{turn}"


def result_key(run_id: str, turn: int, index: int) -> str:
    """Return the key of the result of a turn's call; ``index`` counts calls from 0."""
    return f"{run_id}:tool:{turn}.{index}"


def interrupted_key(run_id: str, turn: int, epoch: int) -> str:
    """Return the key of the text that a turn had shown when its run was ended."""
    return f"{run_id}:interrupted:{turn}.{epoch}"


def text_part(text: str) -> Part:
    """Return a part of plain text."""
    return {"type": "text", "text": text}


def thinking_part(text: str) -> Part:
    """Return a part of the model's visible thinking."""
    return {"type": "thinking", "text": text}


def tool_call_part(call_id: str, name: str, arguments: Json) -> Part:
    """Return a call that the model asks for."""
    return {"type": "tool_call", "toolCallId": call_id, "name": name, "input": arguments}


def open_result_part(call_id: str, name: str) -> Part:
    """Return the result of a call that has not finished: a ``tool_result`` without output."""
    return {"type": "tool_result", "toolCallId": call_id, "name": name}


def tool_result_part(
    call_id: str, name: str, output: Json, *, is_error: bool, edited_input: Json = None
) -> Part:
    """Return the result of a call; ``edited_input``: with which arguments a person let it run."""
    part: Part = {**open_result_part(call_id, name), "output": output, "isError": is_error}
    return part if edited_input is None else {**part, "editedInput": edited_input}


def interrupted_part(part: Part) -> Part:
    """Return an open result as it stands when its run ends before the call did."""
    return {**part, "output": INTERRUPTED_OUTPUT, "isError": True}


def plain_text(parts: list[Part]) -> str:
    """Return the text parts, joined; what a screen reader or a title would use."""
    return "".join(str(part["text"]) for part in parts if part.get("type") == "text")
