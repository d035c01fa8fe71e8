"""AG-UI, version 1.0, written with the protocol's own models (``ag_ui.core``).

A turn is one assistant message with its calls; a result is a tool message.  The list of
messages begins with a snapshot of what is stored, so whatever a client made up is gone.  A run
that waits for people ends with an interrupt for each; the client's next one takes it up.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)

from app.dialects.ag_ui_messages import content_of, message_id, messages_of, thought_id
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
    Refusal,
    Row,
    Said,
    Showed,
    StepBegan,
    StepEnded,
    StepReset,
)
from app.dialects.json_patch import is_banned, patch
from app.dialects.sse import event_bytes
from app.dialects.story import Story
from app.domain.storable import encode

_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
_EDIT = {"editedArgs": {"type": "object"}}


class AgUiRun:
    """One run, told as AG-UI events (``Telling``)."""

    headers: ClassVar[Mapping[str, str]] = {}
    tells_state: ClassVar[bool] = True

    def __init__(self, run_id: str, *, thread_id: str, called: str, is_new: bool) -> None:
        """Tell a run.

        Args:
            run_id: ours.
            thread_id: what the client calls the thread.
            called: what the client calls the run.
            is_new: whether the client has started it, so that all of it is news.
        """
        self._story = Story(run_id)
        self._thread_id = thread_id
        self._called = called
        self._is_new = is_new
        self._rows: dict[str, Row] = {}
        self._is_begun = False
        self._was_reset = False
        self._turns: Counter[int] = Counter()
        self._message = ""
        self._thought = ""
        self._is_speaking = False
        self._state: Any = None

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
        return _event(
            RunStartedEvent(
                thread_id=self._thread_id, run_id=self._called, protocol_version=PROTOCOL_VERSION
            )
        )

    def errors_in(self, rows: Iterable[Row]) -> list[str]:
        """Ask for nothing: a refusal is a result like others here."""
        del rows
        return []

    def rows(self, rows: Iterable[Row], refused: Mapping[str, Refusal]) -> bytes:
        """See ``Telling.rows``; the first ones are all that is stored."""
        given = list(rows)
        events = self._story.rows(given, refused)
        if self._is_begun:
            told = self._told(events)
            self._rows.update((row["id"], row) for row in given)
            return told
        self._is_begun = True
        self._rows.update((row["id"], row) for row in given if not self._is_news(row))
        told = _event(self._snapshot())
        if self._is_new:
            told += self._told(events)
            self._rows.update((row["id"], row) for row in given)
        else:
            for each in events:
                self._note(each)
        return told

    def token(self, token: Mapping[str, Any]) -> bytes:
        """See ``Telling.token``."""
        return self._told(self._story.token(token))

    def thread(self, view: Mapping[str, Any] | None) -> bytes:
        """See ``Telling.thread``."""
        return self._told(self._story.thread(view))

    def state(self, value: Any) -> bytes:  # noqa: ANN401  # any JSON
        """See ``Telling.state``."""
        before, self._state = self._state, value
        if before is None:
            return b"" if value is None else _event(StateSnapshotEvent(snapshot=value))
        changes = patch(before, value)
        if value is None or any(map(is_banned, changes)):
            return _event(StateSnapshotEvent(snapshot=value))
        return _event(StateDeltaEvent(delta=changes)) if changes else b""

    def end(self, ending: Ending) -> bytes:
        """See ``Telling.end``."""
        told = self._told(self._story.end())
        if self._was_reset:
            told += _event(self._snapshot())
        if ending.how == "failed":
            error = RunErrorEvent(message=ending.message, code=ending.code or None)
            return told + _event(error)
        outcome: (
            RunFinishedSuccessOutcome | RunFinishedInterruptOutcome | RunFinishedCancelledOutcome
        ) = RunFinishedSuccessOutcome()
        if ending.how == "cancelled":
            outcome = RunFinishedCancelledOutcome()
        elif ending.how == "parked":
            asked = [_interrupt(each, self.run_id) for each in ending.approvals]
            outcome = RunFinishedInterruptOutcome(interrupts=asked)
        finished = RunFinishedEvent(
            thread_id=self._thread_id,
            run_id=self._called,
            outcome=outcome,
            result=ending.output,
        )
        return told + _event(finished)

    def break_off(self, reason: str) -> bytes:
        """See ``Telling.break_off``."""
        return _event(RunErrorEvent(message=reason, code="UNAVAILABLE"))

    # ------------------------------------------------------------ what is stored

    def _snapshot(self) -> MessagesSnapshotEvent:
        ordered = sorted(self._rows.values(), key=lambda row: int(row["seq"]))
        return MessagesSnapshotEvent(messages=messages_of(ordered))

    def _is_news(self, row: Row) -> bool:
        """Return whether a row is told as events: of a new run, all but what it was asked."""
        return self._is_new and row["runId"] == self.run_id and row["role"] != "user"

    def _note(self, event: Event) -> None:
        """Keep count of a step that is in the snapshot."""
        if isinstance(event, StepBegan):
            self._message = message_id(self.run_id, event.turn, self._turns[event.turn])
            self._turns[event.turn] += 1

    # ------------------------------------------------------------ what happens

    def _told(self, events: Iterable[Event]) -> bytes:
        return b"".join(_event(event) for each in events for event in self._events(each))

    def _events(self, event: Event) -> Iterator[BaseEvent]:
        match event:
            case StepBegan():
                self._note(event)
            case StepReset():
                yield from self._close()
                self._was_reset = True
                yield self._snapshot()
            case Began() | Said() | Ceased():
                yield from self._said(event)
            case Called(call_id, name, given):
                yield from self._close()
                yield ToolCallStartEvent(
                    tool_call_id=call_id, tool_call_name=name, parent_message_id=self._message
                )
                yield ToolCallArgsEvent(tool_call_id=call_id, delta=encode(given))
                yield ToolCallEndEvent(tool_call_id=call_id)
            case Answered():
                yield ToolCallResultEvent(
                    message_id=event.row_id,
                    tool_call_id=event.call_id,
                    content=content_of(event.output),
                    role="tool",
                )
            case Elsewhere(approval, is_pending):
                status = "pending" if is_pending else "decided"
                yield CustomEvent(name="approval", value={**approval, "status": status})
            case Interjected(id_, text):
                yield from _whole(UserMessage(id=id_, content=text))
            case StepEnded():
                yield from self._close()
            case Asked() | Showed():
                pass  # interrupts tell who is asked; files have no event

    def _said(self, event: Began | Said | Ceased) -> Iterator[BaseEvent]:
        """Tell text: thoughts are messages of their own, the rest is one message a step."""
        thought = thought_id(self._message, event.number)
        match event:
            case Began(_, "thinking"):
                yield from self._close()
                self._thought = thought
                yield ReasoningStartEvent(message_id=thought)
                yield ReasoningMessageStartEvent(message_id=thought)
            case Began() if not self._is_speaking:
                self._is_speaking = True
                yield TextMessageStartEvent(message_id=self._message)
            case Said(_, "thinking", text):
                yield ReasoningMessageContentEvent(message_id=thought, delta=text)
            case Said(_, _, text):
                yield TextMessageContentEvent(message_id=self._message, delta=text)
            case Ceased(_, "thinking"):
                yield from self._close()
            case Began() | Ceased():
                pass

    def _close(self) -> Iterator[BaseEvent]:
        """End whatever is open."""
        thought, self._thought = self._thought, ""
        if thought:
            yield ReasoningMessageEndEvent(message_id=thought)
            yield ReasoningEndEvent(message_id=thought)
        was_speaking, self._is_speaking = self._is_speaking, False
        if was_speaking:
            yield TextMessageEndEvent(message_id=self._message)


def _whole(said: UserMessage) -> Iterator[BaseEvent]:
    yield TextMessageStartEvent(message_id=said.id, role="user")
    yield TextMessageContentEvent(message_id=said.id, delta=str(said.content))
    yield TextMessageEndEvent(message_id=said.id)


def _interrupt(approval: Mapping[str, Any], run_id: str) -> Interrupt:
    is_own = approval["runId"] == run_id
    properties = {**_ANSWER["properties"], **(_EDIT if approval["editable"] else {})}
    return Interrupt(
        id=approval["id"],
        reason="tool_call",
        message=f"{approval['name']} waits for approval",
        tool_call_id=approval["toolCallId"] if is_own else None,
        response_schema={**_ANSWER, "properties": properties},
        expires_at=approval.get("expiresAt"),
        metadata={"ropewalk": dict(approval)},
    )


def _event(event: BaseEvent) -> bytes:
    return event_bytes(event.model_dump(mode="json", by_alias=True))
