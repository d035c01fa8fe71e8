"""Expand: how long a person takes for what an agent's completed run does.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_governance", sa.Column("manual_minutes", sa.Double))


def downgrade() -> None:
    """Take it away again."""
    op.drop_column("agent_governance", "manual_minutes")
