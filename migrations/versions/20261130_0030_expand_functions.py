"""Expand: what a remembered call wrote.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_calls", sa.Column("writes", JSON))


def downgrade() -> None:
    """Take it away again."""
    op.drop_column("agent_calls", "writes")
