"""What the routes answer with: ``/openapi.json`` is made from these, and tests hold both to it."""

from datetime import datetime
from typing import Any

from pydantic import Field

from app.protocol.calls import ResolvedApproval
from app.protocol.rows import (
    ApprovalRecord,
    Message,
    PendingApproval,
    RunError,
    RunStatus,
    ThreadStatus,
    UsageView,
    WaitingSend,
)
from app.protocol.wire import Outbound, absent
from app.threads.access import Access


class Fault(Outbound):
    """What went wrong.  ``code`` is for programs, ``message`` for people, and may change."""

    code: str
    message: str
    data: dict[str, Any] | None = absent()


class AgentCard(Outbound):
    """An agent that the caller may know of."""

    slug: str
    name: str
    description: str
    access: Access


class AgentList(Outbound):
    """All of them."""

    agents: tuple[AgentCard, ...]


class Accepted(Outbound):
    """A prompt that was taken.  On a busy session the agent's policy says what becomes of it."""

    session_id: str
    run_id: str = Field(description="the run that reads the prompt")
    steered: bool | None = absent(description="true: the run was at work already")
    position: int | None = absent(ge=1, description="the run waits for that many places")


class Forked(Outbound):
    """The new session."""

    session_id: str


class SessionSummary(Outbound):
    """A session in a list."""

    session_id: str
    key: str = Field(description="the same as sessionId: a session is a thread")
    agent: str
    owner: str | None
    title: str | None
    status: ThreadStatus
    usage: UsageView
    error: RunError | None
    created_at: datetime
    updated_at: datetime


class SessionList(Outbound):
    """A page of sessions, newest activity first."""

    sessions: tuple[SessionSummary, ...]
    next: str | None = Field(description="the ``before`` of the next page; null: there is none")


class Session(SessionSummary):
    """A session.  One that waits for a person is ``running``, and says what it waits for."""

    run_id: str | None = Field(description="the unfinished run")
    stopped: str | None = Field(description="how the newest run ended")
    goal: None
    output: Any = Field(
        description="the newest run's answer, if a form was asked for; null until it has ended"
    )
    messages: tuple[Message, ...]
    pending_approvals: tuple[PendingApproval, ...]
    waiting: tuple[WaitingSend, ...]


class ApprovalList(Outbound):
    """Approvals: those that wait, oldest first; then, newest first, those that were decided."""

    approvals: tuple[ApprovalRecord, ...]


class ResolvedList(Outbound):
    """The decisions that now stand."""

    decisions: tuple[ResolvedApproval, ...]


class Cancelled(Outbound):
    """Whether this ended the run that was meant."""

    cancelled: bool


class Retried(Outbound):
    """Whether there was such a run.  One that did not fail answers CONFLICT."""

    retried: bool


class Signalled(Outbound):
    """Whether the session was idle and has begun to answer, and the run that will read it."""

    woke: bool
    run_id: str | None = absent()


class Delivered(Outbound):
    """Whether the run was unfinished, and so got the event."""

    delivered: bool


class RunView(Outbound):
    """One run."""

    id: str
    agent: str
    status: RunStatus
    turn: int
    usage: UsageView
    stopped: str | None
    error: RunError | None
    output: Any = Field(description="the answer, if a form was asked for and it was given")
    created_at: datetime | None
    finished_at: datetime | None
    session_id: str


class Health(Outbound):
    """The process is up."""

    status: str


class Readiness(Outbound):
    """Whether traffic may come; each check is ``ok`` or says what is wrong."""

    ready: bool
    checks: dict[str, str]


class FindingView(Outbound):
    """Something that the laws do not allow."""

    kind: str
    sentence: str
    mended: bool


class Findings(Outbound):
    """What the doctor found: nothing, when all is well."""

    findings: tuple[FindingView, ...]


class UIMessages(Outbound):
    """A session as the AI SDK's ``UIMessage``s, oldest first."""

    messages: tuple[dict[str, Any], ...]
    seen: int = Field(ge=0, description="for the stream: up to here the page knows the session")
