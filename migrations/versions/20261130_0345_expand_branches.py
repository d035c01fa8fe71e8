"""Expand: conversations that were forked, and their branches.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COLUMNS = ("conversation", "parent_branch", "forked_from", "branch")


def upgrade() -> None:
    """Add what is new."""
    for name in _COLUMNS:
        op.add_column("agent_threads", sa.Column(name, sa.Text))
    op.add_column("agent_threads", sa.Column("shared_seq", sa.Integer))
    op.create_index(
        "agent_threads_branches",
        "agent_threads",
        ["conversation"],
        postgresql_where=sa.text("conversation IS NOT NULL"),
    )


def downgrade() -> None:
    """Take it away again."""
    op.drop_index("agent_threads_branches", "agent_threads")
    for name in ("shared_seq", *_COLUMNS):
        op.drop_column("agent_threads", name)
