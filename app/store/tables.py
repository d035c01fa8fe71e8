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

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Index,
    Integer,
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

LIVE = "status IN ('queued', 'running', 'awaiting_input', 'waiting')"


class ThreadRow(SQLModel, table=True):
    """One conversation, and the one row that everything about it locks."""

    __tablename__ = "agent_threads"
    __table_args__ = (
        UniqueConstraint("key", name="agent_threads_key"),
        Index("agent_threads_by_agent", "agent", "active_at", "id"),
        Index("agent_threads_by_owner", "agent", "owner", "active_at", "id"),
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
    waits: dict[str, Any] | None = Field(default=None, sa_type=JSONB(none_as_null=True))
    crashes: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    """Takeovers from dead workers since the last record."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=_ZERO)
    """How often it was claimed."""
    stopped: str | None = Field(default=None, sa_type=Text)
    error: dict[str, Any] | None = Field(default=None, sa_type=_JSON)
    parent: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    finished_at: datetime | None = Field(default=None, sa_type=_TIME)


class StepRow(SQLModel, table=True):
    """The memo of a finished step.  ``value`` is JSON in UTF-8, never looked into."""

    __tablename__ = "agent_steps"

    run: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    turn: int | None = Field(default=None, sa_type=Integer)
    value: bytes = Field(sa_type=LargeBinary)
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
    )

    id: str = Field(primary_key=True, sa_type=Text)
    thread: str = Field(sa_type=Text)
    run: str = Field(sa_type=Text)
    tool_call_id: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    input: Any = Field(sa_type=_JSON)
    status: str = Field(sa_type=Text)
    version: int = Field(sa_type=BigInteger)
    requested_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    decided_by: str | None = Field(default=None, sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    decided_at: datetime | None = Field(default=None, sa_type=_TIME)


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
    started_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
    gone_at: datetime | None = Field(default=None, sa_type=_TIME)


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
    created_at: datetime = Field(default=None, sa_type=_TIME, sa_column_kwargs=_NOW)
