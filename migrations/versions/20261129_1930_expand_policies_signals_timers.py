"""Expand: signals, timers, the thread's state, and what a run is pinned to, bound by and part of.

``app.store.tables`` says what each table and column is for.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.types import TypeEngine

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_RUN_COLUMNS: dict[str, TypeEngine[Any]] = {
    "input": JSON(),
    "place": sa.BigInteger(),
    "parent_thread": sa.Text(),
    "parent_fact": sa.Text(),
    "time_limit": sa.Interval(),
    "deadline_at": sa.DateTime(timezone=True),
    "crashed_at": sa.DateTime(timezone=True),
}
_RUN_INDEXES = {
    "agent_runs_pending": (["thread", "place"], "status = 'pending'"),
    "agent_runs_ended": (["thread", "finished_at"], "input IS NULL"),
    "agent_runs_children": (["parent"], "parent IS NOT NULL AND finished_at IS NULL"),
    "agent_runs_overdue": (["deadline_at"], "deadline_at IS NOT NULL AND finished_at IS NULL"),
}


def upgrade() -> None:
    """Add what is new, and read the waits of parked runs as facts."""
    op.add_column("agent_threads", sa.Column("state", JSON))
    op.add_column("agent_workers", sa.Column("versions", ARRAY(sa.Text)))
    for name, kind in _RUN_COLUMNS.items():
        op.add_column("agent_runs", sa.Column(name, kind))
    for name, (columns, where) in _RUN_INDEXES.items():
        op.create_index(name, "agent_runs", columns, postgresql_where=sa.text(where))
    _make_signals()
    _make_timers()
    # {"approvals": ["a", "b"]} was: wait for all of these decisions.
    op.execute(
        "UPDATE agent_runs"
        "   SET waits = coalesce("
        "       (SELECT jsonb_agg(jsonb_build_array('approval:' || c.id) ORDER BY c.place)"
        "          FROM jsonb_array_elements_text(waits -> 'approvals')"
        "               WITH ORDINALITY AS c (id, place)), '[]')"
        " WHERE jsonb_typeof(waits) = 'object'"
    )


def downgrade() -> None:
    """Take it away again; a parked run waits for the decisions alone."""
    op.execute(
        "UPDATE agent_runs"
        "   SET waits = jsonb_build_object('approvals', coalesce("
        "       (SELECT jsonb_agg(substr(f.name, 10))"
        "          FROM jsonb_array_elements(waits) g, jsonb_array_elements_text(g) f (name)"
        "         WHERE starts_with(f.name, 'approval:')), '[]'))"
        " WHERE jsonb_typeof(waits) = 'array'"
    )
    op.drop_table("agent_timers")
    op.drop_table("agent_signals")
    for name in _RUN_INDEXES:
        op.drop_index(name, "agent_runs")
    for name in _RUN_COLUMNS:
        op.drop_column("agent_runs", name)
    op.drop_column("agent_workers", "versions")
    op.drop_column("agent_threads", "state")


def _make_signals() -> None:
    op.create_table(
        "agent_signals",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sender", sa.Text, nullable=False),
        sa.Column("author", sa.Text),
        sa.Column("dedupe", sa.Text),
        sa.Column("terms", JSON, nullable=False),
        sa.Column("reader", sa.Text),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()
        ),
        sa.Column("read_at", sa.DateTime(timezone=True)),
    )
    _index("agent_signals_unread", "agent_signals", ["thread", "place"], "read_at IS NULL")
    _index("agent_signals_read", "agent_signals", ["read_at"], "read_at IS NOT NULL")


def _make_timers() -> None:
    op.create_table(
        "agent_timers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("thread", sa.Text),
        sa.Column("run", sa.Text),
        sa.Column("fact", sa.Text),
        sa.Column("start", JSON),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("run", "fact", name="agent_timers_fact"),
    )
    _index("agent_timers_due", "agent_timers", ["due_at"], "fired_at IS NULL")
    _index("agent_timers_fired", "agent_timers", ["fired_at"], "fired_at IS NOT NULL")


def _index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, postgresql_where=sa.text(where))
