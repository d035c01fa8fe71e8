"""A turn as its model step recorded it: which calls there are, and what the gate said.

The value of a step only names the draft that was recorded; what was said stands
once, in the message's row.  When another worker's record was adopted instead of
ours, the name differs from that of our draft, and the row is read again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelResponse, ToolCallPart

from app.domain.run import Usage
from app.domain.storable import Json
from app.loop.gate import Gate, Passage


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a turn.

    Attributes:
        index: its place among the turn's calls, from 0.
        passage: the recorded word of the gate.
    """

    index: int
    call: ToolCallPart
    passage: Passage

    @property
    def gate(self) -> Gate:
        """Whether the call runs at once, waits, or cannot be made."""
        return self.passage.gate

    @property
    def id(self) -> str:
        """The call's id, unique in the thread."""
        return self.call.tool_call_id

    def with_arguments(self, arguments: dict[str, Json]) -> "PlannedCall":
        """Return the same call with the arguments that a person put in place of the model's."""
        return replace(self, call=replace(self.call, args=arguments))

    @property
    def step(self) -> str:
        """The name of the step that answers the call."""
        return f"tool:{self.call.tool_name}:{self.id}"


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What the step ``llm:turn:N`` holds.

    Attributes:
        message: id of the answer's row.
        passages: by call id.
        tools: the names that were offered; the passages were decided on them (B13).
        run_usage: the run's sum, this turn included.
        thread_usage: the thread's sum, this turn included.
        feedback: what the model is told about an answer that does not have the form asked for.
        misses: how many answers of the run did not have it, this one included.
    """

    message: str
    passages: Mapping[str, Passage]
    tools: tuple[str, ...]
    run_usage: Usage
    thread_usage: Usage
    feedback: str | None = None
    misses: int = 0

    def calls_of(self, response: ModelResponse) -> list[PlannedCall]:
        """Return the answer's calls with the gate's word on each."""
        return [
            PlannedCall(index, call, self.passages[call.tool_call_id])
            for index, call in enumerate(response.tool_calls)
        ]

    def to_json(self) -> dict[str, Json]:
        """Return the step's value."""
        value: dict[str, Json] = {
            "message": self.message,
            "gates": {call_id: gated.to_json() for call_id, gated in self.passages.items()},
            "tools": list(self.tools),
            "runUsage": self.run_usage.to_json(),
            "threadUsage": self.thread_usage.to_json(),
        }
        if self.misses:
            value["misses"] = [self.misses, self.feedback]
        return value

    @classmethod
    def from_json(cls, value: Json) -> "RecordedTurn":
        """Return what ``to_json`` wrote."""
        match value:
            case {
                "message": str(message),
                "gates": dict(gates),
                "tools": list(tools),
                "runUsage": dict(run_usage),
                "threadUsage": dict(thread_usage),
                **more,
            }:
                misses, feedback = _misses(more.get("misses"))
                return cls(
                    feedback=feedback,
                    misses=misses,
                    message=message,
                    passages={call_id: Passage.from_json(it) for call_id, it in gates.items()},
                    tools=tuple(str(name) for name in tools),
                    run_usage=Usage.from_json(_counts(run_usage)),
                    thread_usage=Usage.from_json(_counts(thread_usage)),
                )
            case _:
                raise ValueError(f"not the record of a turn: {value!r}")


def _counts(stored: Mapping[str, Json]) -> dict[str, int]:
    return {name: count for name, count in stored.items() if isinstance(count, int)}


def _misses(stored: object) -> tuple[int, str | None]:
    match stored:
        case [int(misses), str() | None as feedback]:
            return misses, feedback
        case _:
            return 0, None


def turn_step(turn: int) -> str:
    """Return the name of the step that makes a turn's model request."""
    return f"llm:turn:{turn}"
