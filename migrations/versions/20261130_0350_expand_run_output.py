"""Expand: the answer of a run that was asked for one in a certain form.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_runs", sa.Column("output", JSON))


def downgrade() -> None:
    """Take it away again."""
    op.drop_column("agent_runs", "output")
