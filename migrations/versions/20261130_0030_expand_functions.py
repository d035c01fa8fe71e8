"""Expand: what a remembered call wrote; keys of servers; users whose tokens were taken back.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_calls", sa.Column("writes", JSON))
    _api_keys()
    _revocations()


def _api_keys() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "agent_api_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("roles", ARRAY(sa.Text), nullable=False),
        sa.Column("scopes", ARRAY(sa.Text)),
        sa.Column("created_at", time, nullable=False, server_default=sa.func.now()),
        sa.Column("expires_at", time),
        sa.Column("revoked_at", time),
        sa.Column("used_at", time),
    )


def _revocations() -> None:
    op.create_table(
        "agent_revocations",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Take it away again."""
    op.drop_table("agent_revocations")
    op.drop_table("agent_api_keys")
    op.drop_column("agent_calls", "writes")
