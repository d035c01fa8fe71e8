"""Expand: the runs that a run has asked, also those that have ended.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.create_index(
        "agent_runs_of_parent",
        "agent_runs",
        ["parent"],
        postgresql_where=sa.text("parent IS NOT NULL"),
    )


def downgrade() -> None:
    """Take it away again."""
    op.drop_index("agent_runs_of_parent", "agent_runs")
