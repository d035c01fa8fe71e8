"""What the admin UI asks and gets: arguments and rows of the ``agents:admin...`` functions.

All of them are for callers with the role ``admin``, but for what is about overrides and
governance, which other roles may be given (``Permissions``).  The queries are live like any other:
over a socket a new value comes when something that they show has changed.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final, Literal

from pydantic import Field

from app.protocol.rows import ApprovalRecord, RunError, RunStatus, ThreadStatus, UsageView
from app.protocol.wire import Outbound, absent

ADMIN_QUERIES: Final = frozenset(
    f"agents:admin{name}"
    for name in (
        "Runs",
        "Run",
        "Threads",
        "Agents",
        "System",
        "Overrides",
        "Governance",
        "Spend",
        "Audit",
    )
)
"""By which they are asked for; they can be subscribed to like those of the application."""


class RunRow(Outbound):
    """A run in a list."""

    id: str
    key: str = Field(description="of its thread")
    agent: str
    agent_version: str | None
    override: int | None = absent(description="the version over the code that it goes by")
    owner: str | None
    title: str | None
    status: RunStatus
    turn: int
    usage: UsageView
    model: str | None = Field(description="that the start asked for, if any")
    error: RunError | None
    stopped: str | None
    worker: str | None
    attempts: int = Field(description="how often it was claimed")
    crashes: int = Field(description="workers in a row that died while they drove it")
    parent_run_id: str | None
    parent_key: str | None
    pending_approvals: int
    created_at: datetime
    queued_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None = Field(description="from its start to its end, or to now")


class RunPage(Outbound):
    """``agents:adminRuns {agent?, status?, owner?, key?, before?, limit?, ...}``, newest first.

    And ``since?``, ``until?``, ``withinS?``, ``minTokens?``.
    """

    runs: tuple[RunRow, ...]
    next: str | None = Field(description="the `before` of the next page")
    counts: dict[str, int] = Field(description="runs by status, within the filter but status")


class StepRow(Outbound):
    """One finished step of a run."""

    name: str
    kind: str = Field(description="llm, tool, approval, child, timer, event, inject, ...")
    turn: int | None
    started_at: datetime | None = Field(description="null for a fact that somebody else stored")
    finished_at: datetime
    duration_ms: float | None
    attempts: int | None = Field(description="of its body, in the drive that finished it")
    worker: str | None
    epoch: int | None
    value: Any = Field(description="what it returned, shortened above 64 KiB")
    is_error: bool


class RunDetail(Outbound):
    """``agents:adminRun {runId}``; null: there is no such run."""

    run: RunRow
    policy: dict[str, Any]
    waits: tuple[tuple[str, ...], ...] | None = Field(description="facts, one of each group")
    deadline_at: datetime | None
    steps: tuple[StepRow, ...] = Field(description="in the order in which they finished")
    children: tuple[RunRow, ...]
    approvals: tuple[ApprovalRecord, ...]
    messages: tuple[Any, ...] = Field(
        description="of this run, as agents:agentMessages shows them, the newest 500"
    )
    costs: Mapping[str, float] = Field(
        description="estimated dollars by the id of an answer; none where no public price is known"
    )


class ThreadRow(Outbound):
    """A thread in a list."""

    key: str
    agent: str
    owner: str | None
    title: str | None
    status: ThreadStatus
    usage: UsageView
    error: RunError | None
    messages: int
    created_at: datetime
    active_at: datetime


class ThreadPage(Outbound):
    """``agents:adminThreads {agent?, owner?, status?, search?, before?, limit?}``, newest first."""

    threads: tuple[ThreadRow, ...]
    next: str | None


class ToolView(Outbound):
    """A tool as the model is offered it."""

    name: str
    description: str | None
    kind: str = Field(description="inline, function or agent")
    parameters: dict[str, Any]
    asks: str = Field(description="never, always, sometimes (a predicate)")
    approvers: tuple[str, ...]
    editable: bool


class AgentDetail(Outbound):
    """One of ``agents:adminAgents``."""

    slug: str
    name: str
    description: str
    model: str
    instructions: str | None = Field(description="null: computed for each run")
    access: str
    owner: str | None
    autonomy: str
    max_turns: int
    version: str | None
    on_concurrent_run: str
    tools: tuple[ToolView, ...]
    unfinished: dict[str, int] = Field(description="runs by status")


class WorkerRow(Outbound):
    """A worker that is registered."""

    id: str
    agents: tuple[str, ...]
    running: int
    started_at: datetime


class MinuteRow(Outbound):
    """What happened in one minute."""

    minute: datetime
    started: int
    completed: int
    failed: int
    cancelled: int
    recovered: int = Field(description="taken over from a worker that died; its last time counts")


class SystemView(Outbound):
    """``agents:adminSystem``."""

    workers: tuple[WorkerRow, ...]
    unfinished: dict[str, int]
    oldest_queued_s: float | None
    pending_approvals: int
    threads: int
    minutes: tuple[MinuteRow, ...] = Field(description="the last hour, oldest first")
    database_bytes: int
    version: str = absent(description="of the server")


class OverrideContent(Outbound):
    """What stands in place of the code's own word; what is left out is as coded."""

    instructions: str | None = absent()
    model: str | None = absent()
    autonomy: Literal["as_coded", "always_ask"] | None = absent()
    max_turns: int | None = absent()
    tools_off: tuple[str, ...] | None = absent()


class OverrideVersion(Outbound):
    """Something that was published, or the draft."""

    version: int | None = Field(description="from 1; null: the draft")
    content: OverrideContent = Field(description="empty: everything is as coded")
    author: str | None
    at: datetime = Field(description="when it was published, or last saved")
    note: str | None


class CodedTool(Outbound):
    """A tool as the code declares it."""

    name: str
    description: str | None
    approvers: tuple[str, ...]


class CodedAgent(Outbound):
    """What an override stands over."""

    instructions: str | None = Field(description="null: computed for each run")
    model: str
    autonomy: Literal["as_coded", "always_ask"]
    max_turns: int
    tools: tuple[CodedTool, ...]


class May(Outbound):
    """What the caller's roles allow."""

    manage: bool = Field(description="lists, approvers, models")
    deploy: bool = Field(description="publish, reset, restore")


class AuditRow(Outbound):
    """One of ``agents:adminAudit {agent?, limit?}``, newest first: who did what."""

    id: int
    at: datetime
    actor: str | None
    agent: str | None = Field(description="null: the deployment")
    action: str = Field(
        description="published, reset, restored, approvers, lists, minutes or models"
    )
    detail: dict[str, Any]


class OverrideView(Outbound):
    """``agents:adminOverrides {agent}``."""

    agent: str
    code: CodedAgent
    version: int | None = Field(description="in force; null: nothing was ever published")
    in_force: OverrideContent
    draft: OverrideVersion | None
    versions: tuple[OverrideVersion, ...] = Field(description="newest first")
    approvers: dict[str, tuple[str, ...]] = Field(description="picked, by tool")
    models: tuple[str, ...] | None = Field(description="that may be chosen; null: any")
    audit: tuple[AuditRow, ...]
    may: May


class AgentGovernance(Outbound):
    """Who may use an agent, and decide what it asks."""

    agent: str
    name: str
    use: tuple[str, ...] | None = Field(description="null: whomever its access lets in")
    approve: tuple[str, ...] | None = Field(description="null: the same as use")
    approvers: dict[str, tuple[str, ...]] = Field(description="picked, by tool")
    manual_minutes: float | None = Field(
        description="that a person takes for what a completed run does; null: nobody said"
    )


class GovernanceView(Outbound):
    """``agents:adminGovernance``."""

    agents: tuple[AgentGovernance, ...]
    models: tuple[str, ...] | None = Field(description="that may be chosen; null: any")
    may: May


class SpentDay(Outbound):
    """What an agent's runs of one day used.  Days are UTC's."""

    day: date
    runs: int
    completed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="of the models whose price is known")


class AgentSpend(Outbound):
    """What an agent used, and what it saved."""

    agent: str
    name: str
    days: tuple[SpentDay, ...] = Field(description="those on which it ran, the oldest first")
    runs: int
    completed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="null: the price of no model is known")
    unpriced: tuple[str, ...] = Field(description="models whose price is not known")
    manual_minutes: float | None
    hours_saved: float | None = Field(description="completed runs times minutes by hand")


class SpendView(Outbound):
    """``agents:adminSpend {days?}``: of today and the days before, 30 unless told."""

    days: int
    agents: tuple[AgentSpend, ...]
    may: May
