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
    op.create_index("agent_runs_created", "agent_runs", ["created_at", "id"])
    op.create_index("agent_threads_active", "agent_threads", ["active_at", "id"])


def downgrade() -> None:
    """Take it away again."""
    op.drop_index("agent_threads_active", "agent_threads")
    op.drop_index("agent_runs_created", "agent_runs")
    op.drop_column("agent_steps", "trace")
    op.drop_column("agent_runs", "root_thread")
    op.drop_index("agent_approvals_decided", "agent_approvals")
    op.drop_index("agent_approvals_inbox", "agent_approvals")
    op.drop_index("agent_approvals_root", "agent_approvals")
    for name in ("place", "edited_input", "root", "rules"):
        op.drop_column("agent_approvals", name)
