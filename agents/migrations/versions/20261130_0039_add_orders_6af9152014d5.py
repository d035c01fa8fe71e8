"""Add orders."""

import sqlalchemy as sa
from alembic import op

revision = "6af9152014d5"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "orders",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("price_cents", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("ship_to", sa.String(), nullable=True),
        sa.Column("thread_key", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "key"),
    )
    op.create_index(op.f("ix_orders_owner"), "orders", ["owner"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_orders_owner"), table_name="orders")
    op.drop_table("orders")
