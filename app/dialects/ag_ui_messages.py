"""A thread as AG-UI's messages: the snapshot that a client's list is replaced by."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    ReasoningMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from app.dialects.events import Row
from app.dialects.said_once import known_as
from app.domain.storable import encode

AnyMessage = AssistantMessage | ReasoningMessage | SystemMessage | ToolMessage | UserMessage


def message_id(run_id: str, turn: int, times: int) -> str:
    """Return what a turn's message is called before it is stored; ``times``: told already."""
    return f"{run_id}:assistant:{turn}" + (f":{times + 1}" if times else "")


def thought_id(message: str, number: int) -> str:
    """Return what a thought of a turn is called; ``number`` counts the turn's pieces of text."""
    return f"{message}:thinking:{number}"


def content_of(output: Any) -> str:  # noqa: ANN401  # any JSON
    """Return a result as text."""
    return output if isinstance(output, str) else encode(output)


def messages_of(rows: Sequence[Row]) -> list[AnyMessage]:
    """Return rows, oldest first, as messages."""
    turns: Counter[tuple[str, int]] = Counter()
    opened = {row["runId"] for row in rows if row["role"] == "user"} - {None}
    messages: list[AnyMessage] = []
    for row in rows:
        match row["role"]:
            case "assistant" if row["runId"] is None:  # what no run has written
                messages.append(AssistantMessage(id=row["id"], content=row["text"]))
            case "user":
                messages.append(UserMessage(id=known_as(row), content=row["text"]))
            case "assistant":
                place = (row["runId"], row.get("turn", 0))
                messages += _answer(row, message_id(*place, turns[place]))
                turns[place] += 1
            case "tool":
                messages += _outcome(row)
            case _ if row["runId"] not in opened:  # within a run it was for the model alone
                messages.append(SystemMessage(id=row["id"], content=row["text"]))
            case _:
                pass
    return messages


def _answer(row: Row, id_: str) -> Iterator[AnyMessage]:
    calls: list[ToolCall] = []
    number = 0
    for part in row["parts"]:
        match part["type"]:
            case "thinking":
                yield ReasoningMessage(id=thought_id(id_, number), content=part["text"])
                number += 1
            case "text":
                number += 1
            case "tool_call":
                function = FunctionCall(name=part["name"], arguments=encode(part["input"]))
                calls.append(ToolCall(id=part["toolCallId"], function=function))
            case _:
                pass
    if row["text"] or calls:
        yield AssistantMessage(id=id_, content=row["text"], tool_calls=calls or None)


def _outcome(row: Row) -> Iterator[ToolMessage]:
    part = row["parts"][0]
    if "isError" in part:
        content = content_of(part.get("output"))
        yield ToolMessage(id=row["id"], tool_call_id=part["toolCallId"], content=content)
