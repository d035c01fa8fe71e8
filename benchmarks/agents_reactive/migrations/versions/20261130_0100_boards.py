"""Add boards."""

import sqlalchemy as sa
from alembic import op

revision = "b0a5d5000001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("items", "calm_items"):
        op.create_table(
            name,
            sa.Column("id", sa.Integer(), primary_key=True),
            sa.Column("board", sa.Integer(), nullable=False),
            sa.Column("seq", sa.Integer(), nullable=False),
        )
        op.create_index(f"ix_{name}_board", name, ["board"])


def downgrade() -> None:
    for name in ("items", "calm_items"):
        op.drop_table(name)
