"""A conversation and what hangs on it: its runs, their steps, messages, decisions and signals."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Index,
    Integer,
    Interval,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB
from sqlmodel import Field, SQLModel

from app.store.tables.columns import COPIED_JSON, NOW, ROOM, TIME, ZERO

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
        Index(
            "agent_threads_branches",
            "conversation",
            postgresql_where=text("conversation IS NOT NULL"),
        ),
        {"postgresql_with": ROOM},
    )

    id: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(sa_type=Text)
    agent: str = Field(sa_type=Text)
    owner: str | None = Field(default=None, sa_type=Text)
    title: str | None = Field(default=None, sa_type=Text)
    status: str = Field(sa_type=Text)
    live_run: str | None = Field(default=None, sa_type=Text)
    epoch: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=ZERO)
    seq: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=ZERO)
    version: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=ZERO)
    wakes: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=ZERO)
    usage: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    error: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    state: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """SQL null until it is seeded or set; JSON null is a state."""
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    updated_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    active_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    """When its newest run was asked for: the order of lists.  ``updated_at`` cannot be
    indexed, since every record changes it."""
    conversation: str | None = Field(default=None, sa_type=Text)
    """Of a branch: the thread that was first, whose lock is taken before any other's."""
    parent_branch: str | None = Field(default=None, sa_type=Text)
    """Of a branch: the thread of which it has copies that are that thread's own messages."""
    forked_from: str | None = Field(default=None, sa_type=Text)
    """Whose messages were copied, for branches and forks alike."""
    shared_seq: int | None = Field(default=None, sa_type=Integer)
    """How many of the first messages are copies."""
    branch: str | None = Field(default=None, sa_type=Text)
    """Of a root: the thread that is shown; null: itself.  Not indexed: it may change often."""


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
        Index("agent_runs_of_parent", "parent", postgresql_where=text("parent IS NOT NULL")),
        Index(
            "agent_runs_overdue",
            "deadline_at",
            postgresql_where=text(f"deadline_at IS NOT NULL {_OPEN}"),
        ),
        {"postgresql_with": ROOM},
    )

    id: str = Field(primary_key=True, sa_type=Text)
    thread: str = Field(sa_type=Text)
    agent: str = Field(sa_type=Text)
    agent_version: str | None = Field(default=None, sa_type=Text)
    status: str = Field(sa_type=Text)
    worker: str | None = Field(default=None, sa_type=Text)
    queued_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    """A run that a worker gives back keeps it, and so its place in the queue."""
    policy: dict[str, Any] = Field(sa_type=COPIED_JSON)
    turn: int = Field(default=0, sa_type=Integer, sa_column_kwargs=ZERO)
    usage: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    waits: list[list[str]] | None = Field(default=None, sa_type=JSONB(none_as_null=True))
    """What a parked run waits for: one fact of each group."""
    crashes: int = Field(default=0, sa_type=Integer, sa_column_kwargs=ZERO)
    """Takeovers from dead workers since the last record."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=ZERO)
    """How often it was claimed."""
    stopped: str | None = Field(default=None, sa_type=Text)
    error: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    output: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    """``{"value": ...}``: the answer, if a form was asked for and it was given."""
    parent: str | None = Field(default=None, sa_type=Text)
    parent_thread: str | None = Field(default=None, sa_type=Text)
    root_thread: str | None = Field(default=None, sa_type=Text)
    """The thread at the top of the runs above this one."""
    parent_fact: str | None = Field(default=None, sa_type=Text)
    """The step of the parent run that this run's end answers."""
    input: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    """The user's message of a run that is held back; null once it is in the thread."""
    place: int | None = Field(default=None, sa_type=BigInteger)
    """Order among the held back: the thread's version when it was asked for."""
    time_limit: timedelta | None = Field(default=None, sa_type=Interval)
    deadline_at: datetime | None = Field(default=None, sa_type=TIME)
    crashed_at: datetime | None = Field(default=None, sa_type=TIME)
    """When it was last taken from a dead worker."""
    override: int | None = Field(default=None, sa_type=Integer)
    """What operators said over the agent's code when it was asked for: a version."""
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    finished_at: datetime | None = Field(default=None, sa_type=TIME)


class StepRow(SQLModel, table=True):
    """The memo of a finished step.  ``value`` is JSON in UTF-8, never looked into."""

    __tablename__ = "agent_steps"

    run: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    turn: int | None = Field(default=None, sa_type=Integer)
    value: bytes = Field(sa_type=LargeBinary)
    trace: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """How it came about, for people; null for a fact that somebody else stored."""
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)


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
    parts: list[dict[str, Any]] = Field(sa_type=COPIED_JSON)
    model: str | None = Field(default=None, sa_type=Text)
    model_name: str | None = Field(default=None, sa_type=Text)
    usage: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    author: str | None = Field(default=None, sa_type=Text)
    dedupe: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)


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
    input: Any = Field(sa_type=COPIED_JSON)
    rules: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """What was declared of the decision, as of when it was asked for."""
    root: str | None = Field(default=None, sa_type=Text)
    """The thread at the top of the runs that asked for this one: its people see it, too."""
    status: str = Field(sa_type=Text)
    version: int = Field(sa_type=BigInteger)
    requested_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    decided_by: str | None = Field(default=None, sa_type=Text)
    place: str | None = Field(default=None, sa_type=Text)
    """Where it was decided."""
    edited_input: Any | None = Field(default=None, sa_type=COPIED_JSON)
    reason: str | None = Field(default=None, sa_type=Text)
    decided_at: datetime | None = Field(default=None, sa_type=TIME)


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
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    read_at: datetime | None = Field(default=None, sa_type=TIME)
