"""Expand: what operators say over the code of agents, who may use them, and who did what.

``app.store.tables`` says what each table and column is for.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add what is new."""
    op.add_column("agent_runs", sa.Column("override", sa.Integer))
    op.create_table(
        "agent_overrides",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("author", sa.Text),
        sa.Column("note", sa.Text),
        sa.Column("at", _TIME, nullable=False, server_default=sa.func.now()),
    )
    op.create_table(
        "agent_governance",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("use_list", ARRAY(sa.Text)),
        sa.Column("approve_list", ARRAY(sa.Text)),
        sa.Column("approvers", JSON),
        sa.Column("models", ARRAY(sa.Text)),
    )
    op.create_table(
        "agent_audit",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("at", _TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("actor", sa.Text),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("detail", JSON, nullable=False),
    )
    op.create_index("agent_audit_by_agent", "agent_audit", ["agent", "id"])


def downgrade() -> None:
    """Take it away again."""
    for name in ("agent_audit", "agent_governance", "agent_overrides"):
        op.drop_table(name)
    op.drop_column("agent_runs", "override")
