"""Runs written down as rows and tokens, and clients of other protocols that apply what they get.

The clients do what ``ai`` and ``@ag-ui/client`` do with each chunk and event, and fail where those
fail: at words without a beginning, at an end without a start, at a result without its call.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from app.dialects.telling import Telling
from app.domain.identity import Identity
from app.domain.thread import Thread
from app.domain.utf16 import from_unit, units_of

RUN = "run-1"


@dataclass(frozen=True)
class Turn:
    """What a model says in one request: ``(kind, text)``, and the calls that it makes."""

    said: Sequence[tuple[str, str]]
    calls: int = 0


def call_id(turn: int, index: int) -> str:
    return f"call_{turn}_{index}"


@dataclass
class StoredRun:
    """The rows of a run, as they are written one after the other."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, role: str, parts: list[dict[str, Any]], **more: object) -> dict[str, Any]:
        seq = len(self.rows) + 1
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        row = {
            "id": f"row-{seq}",
            "seq": seq,
            "runId": RUN,
            "role": role,
            "text": text,
            "parts": parts,
            "status": "complete",
            **more,
        }
        self.rows.append(row)
        return row

    def ask(self) -> None:
        self.add("user", [{"type": "text", "text": "go"}], dedupe="said-1")

    def answer(self, number: int, turn: Turn, status: str = "complete") -> list[dict[str, Any]]:
        """Store a turn and its open results."""
        parts: list[dict[str, Any]] = [{"type": kind, "text": text} for kind, text in turn.said]
        ids = [call_id(number, index) for index in range(turn.calls)]
        parts += [{"type": "tool_call", "toolCallId": id_, "name": "t", "input": {}} for id_ in ids]
        made = [self.add("assistant", parts, turn=number, status=status)]
        for id_ in ids:
            part = {"type": "tool_result", "toolCallId": id_, "name": "t"}
            made.append(self.add("tool", [part], turn=number, status="open"))
        return deepcopy(made)

    def fill(self, number: int, index: int, *, is_error: bool) -> list[dict[str, Any]]:
        """Store a result."""
        wanted = call_id(number, index)
        row = next(
            row
            for row in self.rows
            if row["role"] == "tool" and row["parts"][0]["toolCallId"] == wanted
        )
        row["parts"][0] |= {"output": f"of {wanted}", "isError": is_error}
        row["status"] = "complete"
        return [deepcopy(row)]


def tokens_of(number: int, attempt: int, said: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what is streamed of a turn, cut after every second unit."""
    made = []
    for part, (kind, text) in enumerate(said):
        total = units_of(text)
        for offset in range(0, total, 2):
            piece = from_unit(text, offset)[: 2 if offset + 2 < total else None]
            place = {"run": RUN, "turn": number, "part": part, "attempt": attempt}
            made.append({**place, "kind": kind, "offset": offset, "text": piece})
    return made


def told_so_far(
    telling: Telling, opening: bytes, thread: Thread, caller: Identity, token: str | None
) -> ASGIApp:
    """Answer with what is stored, and end there (``Retell``)."""
    del thread, caller, token
    headers = [(name.encode(), value.encode()) for name, value in telling.headers.items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": opening})

    return answer


def events_in(stream: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON of a stream of events."""
    for event in stream.decode().split("\n\n"):
        data = event.removeprefix("data: ")
        if data and data != "[DONE]":
            yield json.loads(data)


class ChatClient:
    """The message that ``useChat`` builds."""

    def __init__(self, parts: Sequence[Mapping[str, Any]] = ()) -> None:
        self.parts: list[dict[str, Any]] = [dict(part) for part in parts]
        self.id: str | None = None
        self.last: dict[str, Any] = {}
        self._open: dict[str, dict[str, Any]] = {}

    def take(self, stream: bytes) -> None:
        for chunk in events_in(stream):
            self.last = chunk
            self._apply(chunk)

    def _apply(self, chunk: dict[str, Any]) -> None:  # noqa: C901, PLR0912  # one case a chunk
        match chunk["type"]:
            case "start":
                self.id = chunk["messageId"]
            case "start-step":
                self.parts.append({"type": "step-start"})
            case "reset-step":
                while self.parts[-1]["type"] != "step-start":
                    self.parts.pop()
                self._open.clear()
            case "text-start" | "reasoning-start" as kind:
                part = {"type": kind.removesuffix("-start"), "text": "", "state": "streaming"}
                part |= {"id": chunk["id"]} if part["type"] == "reasoning" else {}
                assert chunk["id"] not in self._open
                self._open[chunk["id"]] = part
                self.parts.append(part)
            case "text-delta" | "reasoning-delta":
                assert chunk["delta"]
                self._open[chunk["id"]]["text"] += chunk["delta"]
            case "text-end" | "reasoning-end":
                self._open.pop(chunk["id"])["state"] = "done"
            case "tool-input-available":
                self._called(chunk)
            case "tool-approval-request":
                approval = {"id": chunk["approvalId"]}
                self._call(chunk).update(state="approval-requested", approval=approval)
            case "tool-approval-response":
                part = next(each for each in self.parts if self._asks(each, chunk["approvalId"]))
                part["approval"] |= {"approved": chunk["approved"]}
            case "tool-output-available":
                self._call(chunk).update(state="output-available", output=chunk["output"])
            case "tool-output-error":
                self._call(chunk).update(state="output-error", errorText=chunk["errorText"])
            case "tool-output-denied":
                self._call(chunk).update(state="output-denied")
            case "steering-message":
                self.parts.append(dict(chunk))
            case "finish" | "abort" | "error" | "finish-step" | "tool-input-start":
                pass
            case other:
                raise AssertionError(other)

    def _called(self, chunk: dict[str, Any]) -> None:
        part = {"type": f"tool-{chunk['toolName']}", "toolCallId": chunk["toolCallId"]}
        self.parts.append({**part, "state": "input-available", "input": chunk["input"]})

    def _call(self, chunk: dict[str, Any]) -> dict[str, Any]:
        return next(part for part in self.parts if part.get("toolCallId") == chunk["toolCallId"])

    @staticmethod
    def _asks(part: Mapping[str, Any], approval_id: str) -> bool:
        return bool(part.get("approval", {}).get("id") == approval_id)


class AgentClient:
    """The messages and the state that ``HttpAgent`` keeps."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.last: dict[str, Any] = {}
        self._open: set[str] = set()

    def take(self, stream: bytes) -> None:
        for event in events_in(stream):
            self.last = event
            self._apply(event)

    def _apply(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "MESSAGES_SNAPSHOT":
                self.messages = deepcopy(event["messages"])
            case "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" as kind:
                role = "reasoning" if kind.startswith("R") else event.get("role", "assistant")
                assert event["messageId"] not in self._open
                self._open.add(event["messageId"])
                self._message(event["messageId"], role).setdefault("content", "")
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                assert event["messageId"] in self._open
                assert event["delta"]
                self._message(event["messageId"])["content"] += event["delta"]
            case "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END":
                self._open.remove(event["messageId"])
            case "TOOL_CALL_START":
                function = {"name": event["toolCallName"], "arguments": ""}
                call = {"id": event["toolCallId"], "type": "function", "function": function}
                owner = self._message(event["parentMessageId"], "assistant")
                owner.setdefault("toolCalls", []).append(call)
            case "TOOL_CALL_ARGS":
                self._call(event["toolCallId"])["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_END":
                self._call(event["toolCallId"])
            case "TOOL_CALL_RESULT":
                self._call(event["toolCallId"])
                told = {"id": event["messageId"], "role": "tool", "content": event["content"]}
                self.messages.append({**told, "toolCallId": event["toolCallId"]})
            case "RUN_FINISHED":
                assert not self._open
            case "RUN_STARTED" | "REASONING_START" | "REASONING_END":
                pass
            case other:
                raise AssertionError(other)

    def _message(self, id_: str, role: str = "") -> dict[str, Any]:
        found = next((each for each in self.messages if each["id"] == id_), None)
        if found is None:
            assert role, f"words of {id_} before it began"
            found = {"id": id_, "role": role}
            self.messages.append(found)
        return found

    def _call(self, id_: str) -> dict[str, Any]:
        calls = [call for each in self.messages for call in each.get("toolCalls", ())]
        return next(call for call in calls if call["id"] == id_)
