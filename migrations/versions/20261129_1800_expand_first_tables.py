"""Expand: threads, runs, steps, messages, approvals, workers and calls.

``app.store.tables`` says what each table is for and why it is indexed as it is.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROOM = {"fillfactor": 70}
_LIVE = "status IN ('queued', 'running', 'awaiting_input', 'waiting')"


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _maybe(name: str, kind: sa.types.TypeEngine[Any] | None = None) -> sa.Column[Any]:
    return sa.Column(name, kind or sa.Text(), nullable=True)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _count(name: str, kind: sa.types.TypeEngine[int] | None = None) -> sa.Column[int]:
    return sa.Column(name, kind or sa.BigInteger(), nullable=False, server_default=sa.text("0"))


def _time(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


def _maybe_time(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=True)


def upgrade() -> None:
    """Make the tables."""
    _make_threads()
    _make_runs()
    _make_messages()
    _make_approvals()
    _make_workers_and_calls()


def downgrade() -> None:
    """Drop the tables."""
    for table in ("threads", "runs", "steps", "messages", "approvals", "workers", "calls"):
        op.drop_table(f"agent_{table}")


def _make_threads() -> None:
    op.create_table(
        "agent_threads",
        _key("id"),
        _text("key"),
        _text("agent"),
        _maybe("owner"),
        _maybe("title"),
        _text("status"),
        _maybe("live_run"),
        _count("epoch"),
        _count("seq"),
        _count("version"),
        _count("wakes"),
        _maybe("usage", JSON()),
        _maybe("error", JSON()),
        _time("created_at"),
        _time("updated_at"),
        _time("active_at"),
        sa.UniqueConstraint("key", name="agent_threads_key"),
        postgresql_with=_ROOM,
    )
    _index("agent_threads_by_agent", "agent", "active_at", "id")
    _index("agent_threads_by_owner", "agent", "owner", "active_at", "id")
    _index("agent_threads_busy", "id", where="live_run IS NOT NULL")


def _make_runs() -> None:
    op.create_table(
        "agent_runs",
        _key("id"),
        _text("thread"),
        _text("agent"),
        _maybe("agent_version"),
        _text("status"),
        _maybe("worker"),
        _time("queued_at"),
        sa.Column("policy", JSON, nullable=False),
        _count("turn", sa.Integer()),
        _maybe("usage", JSON()),
        _maybe("waits", JSONB()),
        _count("crashes", sa.Integer()),
        _count("attempts", sa.Integer()),
        _maybe("stopped"),
        _maybe("error", JSON()),
        _maybe("parent"),
        _time("created_at"),
        _maybe_time("finished_at"),
        postgresql_with=_ROOM,
    )
    op.create_index(
        "agent_runs_live", "agent_runs", ["thread"], unique=True, postgresql_where=sa.text(_LIVE)
    )
    _index("agent_runs_queued", "queued_at", where="status = 'queued'")
    _index("agent_runs_running", "worker", where="status = 'running'")
    _index("agent_runs_by_thread", "thread", "created_at", "id")
    op.create_table(
        "agent_steps",
        _key("run"),
        _key("name"),
        _maybe("turn", sa.Integer()),
        sa.Column("value", sa.LargeBinary, nullable=False),
        _time("created_at"),
    )


def _make_messages() -> None:
    op.create_table(
        "agent_messages",
        _key("id"),
        _text("key"),
        _text("thread"),
        _text("run"),
        _number("seq"),
        _number("version"),
        _text("role"),
        _text("status"),
        _maybe("turn", sa.Integer()),
        sa.Column("parts", JSON, nullable=False),
        _maybe("model"),
        _maybe("model_name"),
        _maybe("usage", JSON()),
        _maybe("author"),
        _maybe("dedupe"),
        _time("created_at"),
        sa.UniqueConstraint("key", name="agent_messages_key"),
        sa.UniqueConstraint("thread", "seq", name="agent_messages_seq"),
    )
    _index("agent_messages_version", "thread", "version")
    _index("agent_messages_open", "run", where="status = 'open'")


def _make_approvals() -> None:
    op.create_table(
        "agent_approvals",
        _key("id"),
        _text("thread"),
        _text("run"),
        _text("tool_call_id"),
        _text("name"),
        sa.Column("input", JSON, nullable=False),
        _text("status"),
        _number("version"),
        _time("requested_at"),
        _maybe("decided_by"),
        _maybe("reason"),
        _maybe_time("decided_at"),
        sa.UniqueConstraint("thread", "tool_call_id", name="agent_approvals_call"),
    )
    _index("agent_approvals_version", "thread", "version")
    _index("agent_approvals_pending", "thread", where="status = 'pending'")


def _make_workers_and_calls() -> None:
    op.create_table(
        "agent_workers",
        _key("id"),
        _count("beat"),
        sa.Column("agents", ARRAY(sa.Text), nullable=False),
        _time("started_at"),
        _maybe_time("gone_at"),
        postgresql_with=_ROOM,
    )
    op.create_table(
        "agent_calls",
        _key("identity"),
        _key("function"),
        _key("dedupe"),
        _text("arguments"),
        _maybe("result", JSON()),
        _time("created_at"),
    )
    _index("agent_calls_created", "created_at")


def _index(name: str, *columns: str, where: str | None = None) -> None:
    table = "_".join(name.split("_")[:2])
    op.create_index(name, table, list(columns), postgresql_where=sa.text(where) if where else None)
