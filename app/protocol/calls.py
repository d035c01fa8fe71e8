"""Arguments and results of the built-in functions, the module ``agents`` of the wire.

Queries can be subscribed to and called; the rest can be called.  ``BUILT_INS`` is the
whole list: what is not in it does not exist for a client (ACC-05).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter

from app.protocol.rows import ApprovalDecision, Message
from app.protocol.wire import Inbound, Outbound, ThreadKey, WireId, absent
from app.threads.limits import (
    INBOX_LIMIT,
    MAX_BATCH,
    MAX_REASON,
    PAGE_LIMIT,
    PAGE_LIMIT_MAX,
)


class AgentMessagesArgs(Inbound):
    """The newest messages of a thread; with ``before``, the page that ends below that seq."""

    key: ThreadKey
    limit: int = Field(default=PAGE_LIMIT, ge=1, le=PAGE_LIMIT_MAX)
    before: int | None = absent(ge=1, description="for calls: a subscription has no pages")
    stream: bool = Field(default=True, description="whether token frames come")


class AgentThreadArgs(Inbound):
    """The thread itself."""

    key: ThreadKey


class AgentStateArgs(Inbound):
    """The synced state of a thread: any JSON, ``null`` while there is none."""

    key: ThreadKey


class AgentRunArgs(Inbound):
    """Starts a run on a new thread (no ``key``) or the next one of an old thread."""

    agent: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    key: ThreadKey | None = absent()
    input: str
    title: str | None = absent()
    mode: str | None = absent()
    model: str | None = absent()
    output_schema: dict[str, Any] | None = absent(
        description="a JSON Schema with type object: the form of the answer"
    )
    goal: str | None = absent()
    attachments: tuple[dict[str, Any], ...] | None = absent()


class AgentRunResult(Outbound):
    """The run that reads the input, and the key of its thread.

    On a busy thread the agent's policy decides: ``steered`` says that it is the running run,
    ``position`` that it is a new one, which waits for that many places.
    """

    id: str
    key: str
    steered: bool | None = absent()
    position: int | None = absent(ge=1)


class AgentCancelArgs(Inbound):
    """Cancels the run that the caller means; without one, the live run."""

    key: ThreadKey
    run_id: WireId | None = absent()


class AgentCancelResult(Outbound):
    """Whether this call ended a run: a finished or another run is left alone."""

    cancelled: bool


class AgentRetryArgs(Inbound):
    """Lets a failed run go on from where it failed; without one, the thread's newest."""

    key: ThreadKey
    run_id: WireId | None = absent()


class AgentRetryResult(Outbound):
    """Whether there was such a run.  One that did not fail answers CONFLICT."""

    retried: bool


class AgentRegenerateArgs(Inbound):
    """Answers again, in a branch: the run of this message, else the last one that is shown."""

    key: ThreadKey = Field(description="of any thread of the conversation")
    message_id: WireId | None = absent()
    model: str | None = absent()


class AgentEditMessageArgs(Inbound):
    """Asks something else instead, in a branch.  The message has to have begun a run."""

    key: ThreadKey = Field(description="of any thread of the conversation")
    message_id: WireId
    input: str


class AgentBranchResult(Outbound):
    """The run in the new branch, which is selected now, and the branch's key."""

    id: str
    key: str


class AgentSelectBranchArgs(Inbound):
    """Shows another thread of a conversation, in every tab."""

    key: ThreadKey = Field(description="of any thread of the conversation")
    branch: ThreadKey = Field(description="of the thread to show; the root's key is one, too")


class AgentForkArgs(Inbound):
    """Begins a conversation of the caller's own with copies: up to a message, else all."""

    key: ThreadKey
    message_id: WireId | None = absent()
    edge: Literal["after", "before"] | None = absent(
        description="whether that message is copied, too: after, unless said otherwise"
    )
    title: str | None = absent()


class AgentForkResult(Outbound):
    """The key of the new conversation."""

    key: str


class AgentApprovalsArgs(Inbound):
    """What waits for the caller, or is his to see; with ``all`` also what was decided."""

    key: ThreadKey | None = absent()
    status: Literal["pending", "all"] | None = absent()
    limit: Annotated[int, Field(ge=1, le=INBOX_LIMIT)] | None = absent()


Surface: TypeAlias = Literal["api", "cli", "dashboard"]
"""Where the person decides, for the record."""


class NewDecision(Inbound):
    """An answer to one call.  ``inputHash`` names the arguments that the person saw."""

    tool_call_id: WireId
    decision: ApprovalDecision
    reason: Annotated[str, StringConstraints(max_length=MAX_REASON)] | None = absent()
    edited_input: dict[str, Any] | None = absent()
    input_hash: str | None = absent()


class AgentResolveApprovalArgs(NewDecision):
    """Decides the tool call that waits; a decided one answers CONFLICT and says by whom."""

    key: ThreadKey
    via: Surface | None = absent()


class AgentResolveApprovalResult(Outbound):
    """The approval and the decision that now stands."""

    approval_id: str
    decision: ApprovalDecision
    decided_by: str | None


class AgentResolveApprovalsArgs(Inbound):
    """Decides several calls of a thread: all of them, or none."""

    key: ThreadKey
    decisions: Annotated[tuple[NewDecision, ...], Field(min_length=1, max_length=MAX_BATCH)]
    via: Surface | None = absent()


class ResolvedApproval(AgentResolveApprovalResult):
    """One of several."""

    tool_call_id: str


agent_messages_args: TypeAdapter[AgentMessagesArgs] = TypeAdapter(AgentMessagesArgs)
agent_thread_args: TypeAdapter[AgentThreadArgs] = TypeAdapter(AgentThreadArgs)
agent_state_args: TypeAdapter[AgentStateArgs] = TypeAdapter(AgentStateArgs)
agent_run_args: TypeAdapter[AgentRunArgs] = TypeAdapter(AgentRunArgs)
agent_cancel_args: TypeAdapter[AgentCancelArgs] = TypeAdapter(AgentCancelArgs)
agent_retry_args: TypeAdapter[AgentRetryArgs] = TypeAdapter(AgentRetryArgs)
agent_resolve_approval_args: TypeAdapter[AgentResolveApprovalArgs] = TypeAdapter(
    AgentResolveApprovalArgs
)
messages_page: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])

AGENT_MESSAGES: Final = "agents:agentMessages"
AGENT_THREAD: Final = "agents:agentThread"
AGENT_STATE: Final = "agents:agentState"
AGENT_RUN: Final = "agents:agentRun"
AGENT_CANCEL: Final = "agents:agentCancel"
AGENT_RETRY: Final = "agents:agentRetry"
AGENT_RESOLVE_APPROVAL: Final = "agents:agentResolveApproval"
AGENT_RESOLVE_APPROVALS: Final = "agents:agentResolveApprovals"
AGENT_APPROVALS: Final = "agents:agentApprovals"
AGENT_REGENERATE: Final = "agents:agentRegenerate"
AGENT_EDIT_MESSAGE: Final = "agents:agentEditMessage"
AGENT_SELECT_BRANCH: Final = "agents:agentSelectBranch"
AGENT_FORK: Final = "agents:agentFork"

BuiltInKind: TypeAlias = Literal["list", "value", "call"]

BUILT_INS: Final[Mapping[str, BuiltInKind]] = MappingProxyType(
    {
        AGENT_MESSAGES: "list",
        AGENT_THREAD: "value",
        AGENT_STATE: "value",
        AGENT_RUN: "call",
        AGENT_CANCEL: "call",
        AGENT_RETRY: "call",
        AGENT_APPROVALS: "value",
        AGENT_RESOLVE_APPROVAL: "call",
        AGENT_RESOLVE_APPROVALS: "call",
        AGENT_REGENERATE: "call",
        AGENT_EDIT_MESSAGE: "call",
        AGENT_SELECT_BRANCH: "call",
        AGENT_FORK: "call",
    }
)
"""``list``: snapshot, then deltas.  ``value``: a new snapshot when it changes."""
