"""The tables, all prefixed ``agent_`` so that a team's own tables cannot clash with them.

They live in ``SQLModel.metadata`` beside the team's, and change only by migrations
(``tests/migrations`` compares both).  Three choices deserve their reason:

* No foreign keys: the thread's lock already serialises every writer, and a key check
  per row would be paid by the hottest statement of the system.
* JSON that is only ever copied is ``json``: Postgres keeps the bytes as they were encoded.
  What a statement looks into (``waits``) is ``jsonb``.
* No column that ``record`` changes is indexed, and the rows have room: its updates of the
  thread and the run are HOT, whatever the length of a conversation.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Identity,
    Index,
    Integer,
    Interval,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB
from sqlmodel import Field, SQLModel

_TIME = DateTime(timezone=True)
_JSON = JSON(none_as_null=True)
_ZERO = {"server_default": text("0")}
_NOW = {"server_default": func.now()}
_ROOM = {"fillfactor": 70}

_OPEN = "AND finished_at IS NULL"

LIVE = "status IN ('queued', 'running', 'awaiting_input', 'waiting')"
PENDING = "status = 'pending'"


class ThreadRow(SQLModel, table=True):
    """One conversation, and the one row that everything about it locks."""

    __tablename__ = "agent_threads"
    __table_args__ = (
        UniqueConstraint("key", name="agent_threads_key"),
        Index("agent_threads_by_agent", "agent", "active_at", "id"),
        Index("agent_threads_by_owner", "agent", "owner", "active_at", "id"),
        Index("agent_threads_active", "active_at", "id"),
        Index("agent_threads_busy", "id", postgresql_where=text("live_run IS NOT NULL")),
        {"postgresql_with": _ROOM},
    )

    id: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(sa_type=Text)
    agent: str = Field(sa_type=Text)
    owner: str | None = Field(default=None, sa_type=Text)
    title: str | None = Field(default=None, sa_type=Text)
    status: str = Field(sa_type=Text)
    live_run: str | None = Field(default=None, sa_type=Text)
    epoch: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=_ZERO)
    seq: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=_ZERO)
    version: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=_ZERO)
    wakes: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=_ZERO)
    usage: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    error: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    state: Any | None = Field(default=None, sa_type=_JSON)
    """SQL null until it is seeded or set; JSON null is a state."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    updated_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    active_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    """When its newest run was asked for: the order of lists.  ``updated_at`` cannot be
    indexed, since every record changes it."""


class RunRow(SQLModel, table=True):
    """One durable execution.  Its row saying ``queued`` is what makes it start."""

    __tablename__ = "agent_runs"
    __table_args__ = (
        # A tripwire, not the mechanism: the lock on the thread's row is.
        Index("agent_runs_live", "thread", unique=True, postgresql_where=text(LIVE)),
        Index("agent_runs_queued", "queued_at", postgresql_where=text("status = 'queued'")),
        Index("agent_runs_running", "worker", postgresql_where=text("status = 'running'")),
        Index("agent_runs_by_thread", "thread", "created_at", "id"),
        Index("agent_runs_created", "created_at", "id"),
        Index("agent_runs_pending", "thread", "place", postgresql_where=text(PENDING)),
        Index("agent_runs_ended", "thread", "finished_at", postgresql_where=text("input IS NULL")),
        Index(
            "agent_runs_children", "parent", postgresql_where=text(f"parent IS NOT NULL {_OPEN}")
        ),
        Index(
            "agent_runs_overdue",
            "deadline_at",
            postgresql_where=text(f"deadline_at IS NOT NULL {_OPEN}"),
        ),
        {"postgresql_with": _ROOM},
    )

    id: str = Field(primary_key=True, sa_type=Text)
    thread: str = Field(sa_type=Text)
    agent: str = Field(sa_type=Text)
    agent_version: str | None = Field(default=None, sa_type=Text)
    status: str = Field(sa_type=Text)
    worker: str | None = Field(default=None, sa_type=Text)
    queued_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    """A run that a worker gives back keeps it, and so its place in the queue."""
    policy: dict[str, Any] = Field(sa_type=_JSON)
    turn: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    usage: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    waits: list[list[str]] | None = Field(default=None, sa_type=JSONB(none_as_null=True))
    """What a parked run waits for: one fact of each group."""
    crashes: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    """Takeovers from dead workers since the last record."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    """How often it was claimed."""
    stopped: str | None = Field(default=None, sa_type=Text)
    error: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    parent: str | None = Field(default=None, sa_type=Text)
    parent_thread: str | None = Field(default=None, sa_type=Text)
    root_thread: str | None = Field(default=None, sa_type=Text)
    """The thread at the top of the runs above this one."""
    parent_fact: str | None = Field(default=None, sa_type=Text)
    """The step of the parent run that this run's end answers."""
    input: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    """The user's message of a run that is held back; null once it is in the thread."""
    place: int | None = Field(default=None, sa_type=BigInteger)
    """Order among the held back: the thread's version when it was asked for."""
    time_limit: timedelta | None = Field(default=None, sa_type=Interval)
    deadline_at: datetime | None = Field(default=None, sa_type=_TIME)
    crashed_at: datetime | None = Field(default=None, sa_type=_TIME)
    """When it was last taken from a dead worker."""
    override: int | None = Field(default=None, sa_type=Integer)
    """What operators said over the agent's code when it was asked for: a version."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    finished_at: datetime | None = Field(default=None, sa_type=_TIME)


class StepRow(SQLModel, table=True):
    """The memo of a finished step.  ``value`` is JSON in UTF-8, never looked into."""

    __tablename__ = "agent_steps"

    run: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    turn: int | None = Field(default=None, sa_type=Integer)
    value: bytes = Field(sa_type=LargeBinary)
    trace: Any | None = Field(default=None, sa_type=_JSON)
    """How it came about, for people; null for a fact that somebody else stored."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)


class MessageRow(SQLModel, table=True):
    """One entry of a thread.  ``parts`` is what the wire shows, ``model`` is private."""

    __tablename__ = "agent_messages"
    __table_args__ = (
        UniqueConstraint("key", name="agent_messages_key"),
        UniqueConstraint("thread", "seq", name="agent_messages_seq"),
        Index("agent_messages_version", "thread", "version"),
        Index("agent_messages_open", "run", postgresql_where=text("status = 'open'")),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(sa_type=Text)
    thread: str = Field(sa_type=Text)
    run: str = Field(sa_type=Text)
    seq: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    role: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    turn: int | None = Field(default=None, sa_type=Integer)
    parts: list[dict[str, Any]] = Field(sa_type=_JSON)
    model: str | None = Field(default=None, sa_type=Text)
    model_name: str | None = Field(default=None, sa_type=Text)
    usage: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    author: str | None = Field(default=None, sa_type=Text)
    dedupe: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)


class ApprovalRow(SQLModel, table=True):
    """A person's decision that a tool call waits for."""

    __tablename__ = "agent_approvals"
    __table_args__ = (
        UniqueConstraint("thread", "tool_call_id", name="agent_approvals_call"),
        Index("agent_approvals_version", "thread", "version"),
        Index("agent_approvals_pending", "thread", postgresql_where=text("status = 'pending'")),
        Index("agent_approvals_root", "root", postgresql_where=text("root IS NOT NULL")),
        Index(
            "agent_approvals_inbox",
            "requested_at",
            "id",
            postgresql_where=text("status = 'pending'"),
        ),
        Index("agent_approvals_decided", "decided_at", "id"),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    thread: str = Field(sa_type=Text)
    run: str = Field(sa_type=Text)
    tool_call_id: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    input: Any = Field(sa_type=_JSON)
    rules: Any | None = Field(default=None, sa_type=_JSON)
    """What was declared of the decision, as of when it was asked for."""
    root: str | None = Field(default=None, sa_type=Text)
    """The thread at the top of the runs that asked for this one: its people see it, too."""
    status: str = Field(sa_type=Text)
    version: int = Field(sa_type=BigInteger)
    requested_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    decided_by: str | None = Field(default=None, sa_type=Text)
    place: str | None = Field(default=None, sa_type=Text)
    """Where it was decided."""
    edited_input: Any | None = Field(default=None, sa_type=_JSON)
    reason: str | None = Field(default=None, sa_type=Text)
    decided_at: datetime | None = Field(default=None, sa_type=_TIME)


class SignalRow(SQLModel, table=True):
    """A message put into a conversation from outside.  It waits until a run reads it.

    One that was read stays for a day: the same signal may be sent again.
    """

    __tablename__ = "agent_signals"
    __table_args__ = (
        Index("agent_signals_unread", "thread", "place", postgresql_where=text("read_at IS NULL")),
        Index("agent_signals_read", "read_at", postgresql_where=text("read_at IS NOT NULL")),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    thread: str = Field(sa_type=Text)
    place: int = Field(sa_type=BigInteger)
    """Order in the thread: the thread's version when it was stored."""
    mode: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    sender: str = Field(sa_type=Text)
    author: str | None = Field(default=None, sa_type=Text)
    dedupe: str | None = Field(default=None, sa_type=Text)
    terms: Any = Field(sa_type=JSON)
    """Of the run that it may start."""
    reader: str | None = Field(default=None, sa_type=Text)
    """The run that read it."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    read_at: datetime | None = Field(default=None, sa_type=_TIME)


class TimerRow(SQLModel, table=True):
    """Something that happens once when it is due: a fact of a run, or the start of one.

    A run's timers go with its end.  One that fired stays for a day.
    """

    __tablename__ = "agent_timers"
    __table_args__ = (
        UniqueConstraint("run", "fact", name="agent_timers_fact"),
        Index("agent_timers_due", "due_at", postgresql_where=text("fired_at IS NULL")),
        Index("agent_timers_fired", "fired_at", postgresql_where=text("fired_at IS NOT NULL")),
        Index(
            "agent_timers_cron",
            "cron",
            "due_at",
            postgresql_where=text("cron IS NOT NULL AND fired_at IS NULL"),
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """``RUN/FACT``, or the schedule's."""
    thread: str | None = Field(default=None, sa_type=Text)
    run: str | None = Field(default=None, sa_type=Text)
    fact: str | None = Field(default=None, sa_type=Text)
    start: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    due_at: datetime = Field(sa_type=_TIME)
    fired_at: datetime | None = Field(default=None, sa_type=_TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why the start was refused when it was due."""
    cron: str | None = Field(default=None, sa_type=Text)
    """Whose slot it is."""


class ScheduledCallRow(SQLModel, table=True):
    """A call of a server function that is made once it is due.  One that was made stays a day."""

    __tablename__ = "agent_scheduled_calls"
    __table_args__ = (
        UniqueConstraint("cron", "slot", name="agent_scheduled_calls_slot"),
        Index("agent_scheduled_calls_due", "due_at", postgresql_where=text("made_at IS NULL")),
        Index(
            "agent_scheduled_calls_made", "made_at", postgresql_where=text("made_at IS NOT NULL")
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """Random: the dedupe key of the call is made of it, and nobody may take that in advance."""
    function: str = Field(sa_type=Text)
    arguments: Any = Field(sa_type=JSON)
    user_id: str | None = Field(default=None, sa_type=Text)
    roles: list[str] = Field(sa_type=ARRAY(Text))
    cron: str | None = Field(default=None, sa_type=Text)
    slot: datetime | None = Field(default=None, sa_type=_TIME)
    due_at: datetime = Field(sa_type=_TIME)
    taken_until: datetime | None = Field(default=None, sa_type=_TIME)
    """Until then it is the call of the process that claimed it."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    made_at: datetime | None = Field(default=None, sa_type=_TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why it failed, or was not made."""


class CronRow(SQLModel, table=True):
    """A cron of the deck in force, with the next of its slots."""

    __tablename__ = "agent_crons"
    __table_args__ = (Index("agent_crons_next", "next_at"),)

    name: str = Field(primary_key=True, sa_type=Text)
    expression: str = Field(sa_type=Text)
    timezone: str = Field(sa_type=Text)
    catch_up: str = Field(sa_type=Text)
    overlap: str = Field(sa_type=Text)
    start: Any | None = Field(default=None, sa_type=_JSON)
    """The start of its runs, without ids: each slot gets fresh ones."""
    call: Any | None = Field(default=None, sa_type=_JSON)
    next_at: datetime = Field(sa_type=_TIME)
    last_slot: datetime | None = Field(default=None, sa_type=_TIME)
    last_fired: str | None = Field(default=None, sa_type=Text)
    """The run, or the scheduled call, of the last slot that fired."""
    outcome: str | None = Field(default=None, sa_type=Text)
    """Why the last slot did not fire; null when it did."""


class CronDeckRow(SQLModel, table=True):
    """What one release of the team's code declares.  The newest that a living worker has holds."""

    __tablename__ = "agent_cron_decks"

    id: str = Field(primary_key=True, sa_type=Text)
    declared_at: datetime = Field(sa_type=_TIME)
    seen_at: datetime = Field(sa_type=_TIME)
    holds: bool = Field(sa_type=Boolean)
    """Whether ``agent_crons`` is what it says."""


class WorkerRow(SQLModel, table=True):
    """A worker process.  Its id is fresh at each start.

    A worker that left stays for a while with ``gone_at``: an agent is unknown only when no
    worker has served it for some time, a restart in between does not count.
    """

    __tablename__ = "agent_workers"
    __table_args__ = ({"postgresql_with": _ROOM},)

    id: str = Field(primary_key=True, sa_type=Text)
    beat: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=_ZERO)
    agents: list[str] = Field(sa_type=ARRAY(Text))
    versions: list[str | None] | None = Field(default=None, sa_type=ARRAY(Text))
    """The version of each of these agents that its code has."""
    started_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    gone_at: datetime | None = Field(default=None, sa_type=_TIME)


class NoticeRow(SQLModel, table=True):
    """Something that another system is told.  One that was taken stays for a day."""

    __tablename__ = "agent_notices"
    __table_args__ = (
        Index("agent_notices_due", "due_at", postgresql_where=text("settled_at IS NULL")),
        Index(
            "agent_notices_settled", "settled_at", postgresql_where=text("settled_at IS NOT NULL")
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """``KIND:SUBJECT``, so that it is written once."""
    kind: str = Field(sa_type=Text)
    data: Any = Field(sa_type=JSON)
    due_at: datetime = Field(sa_type=_TIME)
    """When it is sent, or sent again; whoever sends it puts this off first."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    settled_at: datetime | None = Field(default=None, sa_type=_TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why it was not taken, at last."""


class CallRow(SQLModel, table=True):
    """A call that a client may repeat: its first result is everybody's.  Kept for a day."""

    __tablename__ = "agent_calls"
    __table_args__ = (Index("agent_calls_created", "created_at"),)

    identity: str = Field(primary_key=True, sa_type=Text)
    """Empty for anonymous."""
    function: str = Field(primary_key=True, sa_type=Text)
    dedupe: str = Field(primary_key=True, sa_type=Text)
    arguments: str = Field(sa_type=Text)
    """SHA-256 of their JSON, in hexadecimal."""
    result: Any | None = Field(default=None, sa_type=_JSON)
    """SQL null until there is one; JSON null is a result."""
    writes: Any | None = Field(default=None, sa_type=_JSON)
    """What a mutation wrote of the team's tables, to be announced again with each repetition."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)


class ApiKeyRow(SQLModel, table=True):
    """A key of a server's own.  What it was is shown once; only its digest is kept."""

    __tablename__ = "agent_api_keys"

    id: str = Field(primary_key=True, sa_type=Text)
    digest: bytes = Field(sa_type=LargeBinary)
    """SHA-256 of the secret, which is 256 random bits: no dictionary leads back from it."""
    name: str = Field(sa_type=Text)
    user_id: str = Field(sa_type=Text)
    roles: list[str] = Field(sa_type=ARRAY(Text))
    scopes: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """``module:name`` or ``module:*``; SQL null: whatever its user may."""
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    expires_at: datetime | None = Field(default=None, sa_type=_TIME)
    revoked_at: datetime | None = Field(default=None, sa_type=_TIME)
    used_at: datetime | None = Field(default=None, sa_type=_TIME)
    """To the hour."""


class RevocationRow(SQLModel, table=True):
    """A user whose tokens from before a moment are refused."""

    __tablename__ = "agent_revocations"

    user_id: str = Field(primary_key=True, sa_type=Text)
    not_before: datetime = Field(sa_type=_TIME)


class OverrideRow(SQLModel, table=True):
    """What operators say over an agent's code.  A published version is never changed."""

    __tablename__ = "agent_overrides"

    agent: str = Field(primary_key=True, sa_type=Text)
    version: int = Field(primary_key=True, sa_type=Integer)
    """From 1; the draft is 0, and the one row that is ever written again."""
    content: Any = Field(sa_type=JSON)
    """Empty: everything is as coded again."""
    author: str | None = Field(default=None, sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    """When it was published, or last saved."""


class GovernanceRow(SQLModel, table=True):
    """Who may use an agent and decide what it asks; with an empty slug, what holds for all."""

    __tablename__ = "agent_governance"

    agent: str = Field(primary_key=True, sa_type=Text)
    use_list: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """E-mails and user ids; SQL null: no list."""
    approve_list: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    approvers: Any | None = Field(default=None, sa_type=_JSON)
    """By tool, in place of those in code."""
    models: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """Which may be chosen; of the empty slug alone."""


class AuditRow(SQLModel, table=True):
    """Who published, took back or governed what.  Never changed, never deleted."""

    __tablename__ = "agent_audit"
    __table_args__ = (Index("agent_audit_by_agent", "agent", "id"),)

    id: int = Field(
        default=None, primary_key=True, sa_type=BigInteger, sa_column_args=[Identity(always=True)]
    )
    at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    actor: str | None = Field(default=None, sa_type=Text)
    agent: str = Field(sa_type=Text)
    """Empty: the deployment."""
    action: str = Field(sa_type=Text)
    detail: Any = Field(sa_type=JSON)
