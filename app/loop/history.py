"""What the model reads: the thread's messages as every provider accepts them.

Laws: each call is followed at once by exactly one result, in call order; a call
whose run ended before it did has the result "interrupted"; a text that was cut off
counts as said; an answer without words and calls is left out, since providers
refuse empty messages.  A drive that goes on and one that starts over from the rows
build the same history, because both come through the same methods.
"""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from app.domain.message import INTERRUPTED_OUTPUT, Message, MessageStatus, Part, Role, plain_text
from app.loop.parts import response_from_text

EMPTY_INPUT = "(an empty message)"
EDITED = "A person changed the arguments of this call before it ran; `input` is what it ran with."


class History:
    """A conversation that grows."""

    def __init__(self) -> None:
        self._messages: list[ModelMessage] = []
        self._waiting: dict[str, ToolCallPart] = {}
        self._results: dict[str, ToolReturnPart] = {}
        self.call_ids: set[str] = set()

    @classmethod
    def of(cls, rows: Iterable[Message]) -> "History":
        """Return the history that these rows make, in their order.

        A text that was cut off is left out once its turn was answered after all, by a retry.
        """
        history, rows = cls(), list(rows)
        answered = {
            (row.run_id, row.turn)
            for row in rows
            if row.role is Role.ASSISTANT and row.status is MessageStatus.COMPLETE
        }
        for row in rows:
            is_cut_off = row.status is MessageStatus.INTERRUPTED
            match row.role:
                case Role.ASSISTANT if is_cut_off and (row.run_id, row.turn) in answered:
                    pass
                case Role.USER | Role.SYSTEM:
                    history.add_input(plain_text(row.parts))
                case Role.ASSISTANT:
                    history.add_answer(_answer_in(row))
                case Role.TOOL:
                    history.add_results(row.parts)
        return history

    def to_send(self) -> Sequence[ModelMessage]:
        """Return the messages; calls that still have no result are told to be interrupted."""
        self._close()
        return self._messages

    def add_input(self, text: str) -> None:
        """Append what somebody said."""
        self._close()
        self._append_to_request([UserPromptPart(text or EMPTY_INPUT)])

    def add_answer(self, response: ModelResponse) -> None:
        """Append what the model said, and wait for the results of its calls."""
        self._close()
        calls = response.tool_calls
        self.call_ids.update(call.tool_call_id for call in calls)
        if calls or (response.text or "").strip():
            self._messages.append(response)
            self._waiting = {call.tool_call_id: call for call in calls}

    def add_results(self, parts: Iterable[Part]) -> None:
        """Note results of the last answer's calls, in any order; others are ignored."""
        for part in parts:
            call = self._waiting.get(str(part.get("toolCallId")))
            if call is not None and part.get("type") == "tool_result":
                self._results[call.tool_call_id] = _return_part(call, part)

    def _close(self) -> None:
        if self._waiting:
            self._append_to_request(
                [
                    self._results.get(call_id) or _interrupted(call)
                    for call_id, call in self._waiting.items()
                ]
            )
        self._waiting, self._results = {}, {}

    def _append_to_request(self, parts: Sequence[ModelRequestPart]) -> None:
        last = self._messages[-1] if self._messages else None
        if isinstance(last, ModelRequest):
            self._messages[-1] = ModelRequest(parts=[*last.parts, *parts])
        else:
            self._messages.append(ModelRequest(parts=list(parts)))


def _answer_in(row: Message) -> ModelResponse:
    """Return a stored answer; one that was cut off has only the text that was seen."""
    if row.model is not None:
        return response_from_text(row.model)
    return ModelResponse(parts=[TextPart(plain_text(row.parts))])


def _return_part(call: ToolCallPart, part: Part) -> ToolReturnPart:
    if "isError" not in part:
        return _interrupted(call)
    edited = part.get("editedInput")
    output = part.get("output")
    return ToolReturnPart(
        call.tool_name,
        output if edited is None else {"note": EDITED, "input": edited, "output": output},
        call.tool_call_id,
        outcome="failed" if part["isError"] else "success",
    )


def _interrupted(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(call.tool_name, INTERRUPTED_OUTPUT, call.tool_call_id, outcome="failed")
