"""Expand: what is declared of a decision and what became of it; how a step came about.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_approvals", sa.Column("rules", JSON))
    op.add_column("agent_approvals", sa.Column("root", sa.Text))
    op.add_column("agent_approvals", sa.Column("edited_input", JSON))
    op.add_column("agent_approvals", sa.Column("place", sa.Text))
    op.create_index(
        "agent_approvals_root",
        "agent_approvals",
        ["root"],
        postgresql_where=sa.text("root IS NOT NULL"),
    )
    op.create_index(
        "agent_approvals_inbox",
        "agent_approvals",
        ["requested_at", "id"],
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index("agent_approvals_decided", "agent_approvals", ["decided_at", "id"])
    op.add_column("agent_runs", sa.Column("root_thread", sa.Text))
    op.add_column("agent_steps", sa.Column("trace", JSON))
    _notices()
    op.create_index("agent_runs_created", "agent_runs", ["created_at", "id"])
    op.create_index("agent_threads_active", "agent_threads", ["active_at", "id"])


def _notices() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "agent_notices",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("due_at", time, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", time, nullable=False, server_default=sa.func.now()),
        sa.Column("settled_at", time),
        sa.Column("error", sa.Text),
    )
    for name, column, where in (
        ("agent_notices_due", "due_at", "settled_at IS NULL"),
        ("agent_notices_settled", "settled_at", "settled_at IS NOT NULL"),
    ):
        op.create_index(name, "agent_notices", [column], postgresql_where=sa.text(where))


def downgrade() -> None:
    """Take it away again."""
    op.drop_table("agent_notices")
    op.drop_index("agent_threads_active", "agent_threads")
    op.drop_index("agent_runs_created", "agent_runs")
    op.drop_column("agent_steps", "trace")
    op.drop_column("agent_runs", "root_thread")
    op.drop_index("agent_approvals_decided", "agent_approvals")
    op.drop_index("agent_approvals_inbox", "agent_approvals")
    op.drop_index("agent_approvals_root", "agent_approvals")
    for name in ("place", "edited_input", "root", "rules"):
        op.drop_column("agent_approvals", name)
