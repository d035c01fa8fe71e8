"""What the scripted model knows of a conversation: who said what, and what tools answered."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to one call of the current request."""

    name: str
    arguments: dict[str, Any]
    content: Any
    is_error: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, as far as the script cares.

    Attributes:
        user: what the user said, oldest first; the last one is to be answered.
        assistant: what the assistant said before that.
        results: the tools' answers since the user last spoke, in order.
        untold: how many of them came after the assistant's last words.
        calls_so_far: how many calls were ever made.
    """

    user: tuple[str, ...]
    assistant: tuple[str, ...]
    results: tuple[Result, ...]
    calls_so_far: int
    untold: int = 0

    @property
    def asked(self) -> str:
        """What is to be answered."""
        return self.user[-1] if self.user else ""

    @property
    def earlier(self) -> tuple[str, ...]:
        """What the user said before."""
        return self.user[:-1]

    def result_of(self, name: str) -> Result | None:
        """Return the newest answer of this tool to the current request."""
        return next((found for found in reversed(self.results) if found.name == name), None)

    @classmethod
    def of(cls, messages: Sequence[ModelMessage]) -> "Conversation":
        """Read a history."""
        user: list[str] = []
        assistant: list[str] = []
        results: list[Result] = []
        told = 0
        calls: dict[str, ToolCallPart] = {}
        for part in _parts(messages):
            match part:
                case UserPromptPart():
                    user.append(_text(part))
                    results.clear()
                    told = 0
                case TextPart(content=content):
                    assistant.append(content)
                    told = len(results)
                case ToolCallPart():
                    calls[part.tool_call_id] = part
                case ToolReturnPart():
                    results.append(_result(part, calls.get(part.tool_call_id)))
                case _:
                    pass
        return cls(tuple(user), tuple(assistant), tuple(results), len(calls), len(results) - told)


def _parts(messages: Sequence[ModelMessage]) -> Iterator[object]:
    for message in messages:
        match message:
            case ModelRequest(parts=asked):
                yield from asked
            case ModelResponse(parts=answered):
                yield from answered


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return " ".join(piece for piece in part.content if isinstance(piece, str))


def _result(part: ToolReturnPart, call: ToolCallPart | None) -> Result:
    arguments, content = _arguments(call), part.content
    match content:
        # A person changed the call before it ran.
        case {"note": str(), "input": dict(changed), "output": output, **rest} if not rest:
            arguments, content = changed, output
        case _:
            pass
    return Result(part.tool_name, arguments, content, is_error=part.outcome != "success")


def _arguments(call: ToolCallPart | None) -> dict[str, Any]:
    try:
        found = json.loads(call.args_as_json_str()) if call is not None else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
