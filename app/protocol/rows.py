"""The rows that queries answer with: a thread's messages and the thread itself.

Nothing here is private to the server: provider data (signatures, raw requests)
has no field to travel in.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from app.protocol.wire import Outbound, absent


class TextPart(Outbound):
    """What was said."""

    type: Literal["text"] = "text"
    text: str


class ThinkingPart(Outbound):
    """What the model thought before it spoke, where the provider shows it."""

    type: Literal["thinking"] = "thinking"
    text: str


class ToolCallPart(Outbound):
    """A call the model asked for.  Its result is a message of its own."""

    type: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    name: str
    input: Any


class ToolResultPart(Outbound):
    """What a tool answered.  An ``open`` message has neither ``output`` nor ``isError`` yet."""

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    name: str
    output: Any = absent(description="left out while the call is open, and for null")
    is_error: bool | None = absent(description="left out while the call is open")


class FilePart(Outbound):
    """A file by address; the bytes are never on the socket."""

    type: Literal["file"] = "file"
    media_type: str
    url: str
    name: str | None = absent()


class DataPart(Outbound):
    """A value of the application's own, under the application's own name."""

    type: Literal["data"] = "data"
    name: str
    value: Any


Part: TypeAlias = Annotated[
    TextPart | ThinkingPart | ToolCallPart | ToolResultPart | FilePart | DataPart,
    Field(discriminator="type"),
]
part: TypeAdapter[Part] = TypeAdapter(Part)

MessageRole: TypeAlias = Literal["user", "assistant", "tool", "system"]
MessageStatus: TypeAlias = Literal["open", "complete", "interrupted", "failed"]
ThreadStatus: TypeAlias = Literal[
    "queued", "running", "awaiting_input", "completed", "failed", "cancelled"
]
RunStatus: TypeAlias = Literal[
    "pending",
    "queued",
    "running",
    "awaiting_input",
    "waiting",
    "completed",
    "failed",
    "cancelled",
]


class UsageView(Outbound):
    """Tokens and requests spent, summed over a message, a run or a thread."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Message(Outbound):
    """One entry of a thread, ordered by ``seq``.

    ``turn`` is on assistant and tool rows.  ``dedupe`` is on the user's message of a
    run that a call with this key started: the sender finds its own bubble by it.
    """

    id: str
    seq: int = Field(ge=1)
    run_id: str
    turn: int | None = absent(ge=0)
    dedupe: str | None = absent()
    role: MessageRole
    text: str = Field(description="the plain text of the parts")
    parts: tuple[Part, ...]
    status: MessageStatus
    author: str | None = absent()
    model: str | None = absent()
    usage: UsageView | None = absent()
    created_at: datetime


message: TypeAdapter[Message] = TypeAdapter(Message)


ApprovalDecision: TypeAlias = Literal["approved", "denied"]
ApprovalStatus: TypeAlias = Literal["pending", "approved", "denied", "cancelled"]
DecisionPlace: TypeAlias = Literal["api", "cli", "dashboard", "slack", "teams", "system"]


class PendingApproval(Outbound):
    """A tool call that waits for a person."""

    id: str
    key: str = Field(description="the conversation that asks: this one, or that of a child run")
    agent: str
    run_id: str
    tool_call_id: str
    name: str
    input: Any
    input_hash: str = Field(description="names the arguments, for the decision on them")
    editable: bool = Field(description="whether the decider may change the arguments")
    approvers: tuple[str, ...] = Field(description="who may decide, if not whoever usually does")
    requested_at: datetime
    expires_at: datetime | None = absent()
    on_expiry: ApprovalDecision | None = absent(description="what counts as decided then")


class ApprovalRecord(PendingApproval):
    """An approval as inbox and history show it."""

    owner: str | None
    title: str | None = Field(description="of the conversation that asks")
    conversation: str | None = absent(description="the root's key, when a branch asks")
    status: ApprovalStatus
    may_decide: bool = Field(description="whether it waits, and for the caller")
    decided_by: str | None = absent()
    place: DecisionPlace | None = absent()
    reason: str | None = absent()
    edited_input: dict[str, Any] | None = absent()
    decided_at: datetime | None = absent()


WaitingKind: TypeAlias = Literal["run", "signal"]


class WaitingSend(Outbound):
    """A message that was taken and that nobody has read yet.

    Of ``kind`` ``run`` it starts a run of its own (the one with its ``id``) when the thread is
    free; of ``kind`` ``signal`` the running one reads it, and the message has its ``id``.
    Signals that come as one message have that of the first.
    """

    id: str
    kind: WaitingKind
    text: str
    position: int = Field(ge=1, description="its place among those that wait")
    created_at: datetime
    author: str | None = absent()
    dedupe: str | None = absent(description="as the message will have it")


class RunError(Outbound):
    """Why the last run failed.  ``code`` is for programs, ``message`` for people."""

    code: str
    message: str


class BranchView(Outbound):
    """A thread of a conversation: the root, which was first, or a branch of it.

    The first ``shared`` messages of a branch are copies of those of ``parent``.
    """

    key: str
    parent: str | None = Field(description="null: this is the root")
    shared: int = Field(ge=0)
    created_at: datetime


class BranchList(Outbound):
    """The threads of a conversation, the root first, then oldest first."""

    selected: str = Field(description="the key of the one that every tab shows")
    list: tuple[BranchView, ...]


class ThreadView(Outbound):
    """What ``agents:agentThread`` answers; ``null`` for a missing thread.

    ``runId`` is the live run, else the one that ended last: by it a client that was answered
    with a run's id knows that the run has come and gone.  ``runStatus`` knows more words than
    the thread's status.  ``branches`` is there when this is the root of a conversation that has
    some, ``conversation`` when this is a branch: the root's key.
    """

    key: str
    agent: str
    owner: str | None = absent()
    title: str | None
    status: ThreadStatus
    usage: UsageView
    run_id: str | None
    run_status: RunStatus | None = absent()
    error: RunError | None
    stopped: str | None = absent(
        description="why the last run ended before its answer was final, as maxTurns"
    )
    output: Any = absent(
        description="the answer of the run, if a form was asked for and it has ended; left out for"
        " null"
    )
    pending_approvals: tuple[PendingApproval, ...]
    waiting: tuple[WaitingSend, ...] = Field(description="in the order in which they are read")
    branches: BranchList | None = absent()
    conversation: str | None = absent()
    created_at: datetime
    updated_at: datetime


thread_view: TypeAdapter[ThreadView | None] = TypeAdapter(ThreadView | None)
