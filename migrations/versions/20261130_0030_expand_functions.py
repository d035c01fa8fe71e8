"""Expand: remembered writes, keys of servers, tokens taken back, crons and calls to come.

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
    _scheduled_calls()
    _crons()


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


def _scheduled_calls() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "agent_scheduled_calls",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("function", sa.Text, nullable=False),
        sa.Column("arguments", JSON, nullable=False),
        sa.Column("user_id", sa.Text),
        sa.Column("roles", ARRAY(sa.Text), nullable=False),
        sa.Column("cron", sa.Text),
        sa.Column("slot", time),
        sa.Column("due_at", time, nullable=False),
        sa.Column("taken_until", time),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("made_at", time),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("cron", "slot", name="agent_scheduled_calls_slot"),
    )
    for name, column, where in (
        ("agent_scheduled_calls_due", "due_at", "made_at IS NULL"),
        ("agent_scheduled_calls_made", "made_at", "made_at IS NOT NULL"),
    ):
        op.create_index(name, "agent_scheduled_calls", [column], postgresql_where=sa.text(where))


def _crons() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "agent_crons",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("expression", sa.Text, nullable=False),
        sa.Column("timezone", sa.Text, nullable=False),
        sa.Column("catch_up", sa.Text, nullable=False),
        sa.Column("overlap", sa.Text, nullable=False),
        sa.Column("start", JSON),
        sa.Column("call", JSON),
        sa.Column("next_at", time, nullable=False),
        sa.Column("last_slot", time),
        sa.Column("last_fired", sa.Text),
        sa.Column("outcome", sa.Text),
    )
    op.create_index("agent_crons_next", "agent_crons", ["next_at"])
    op.create_table(
        "agent_cron_decks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("declared_at", time, nullable=False),
        sa.Column("seen_at", time, nullable=False),
        sa.Column("holds", sa.Boolean, nullable=False),
    )
    op.add_column("agent_timers", sa.Column("cron", sa.Text))
    op.create_index(
        "agent_timers_cron",
        "agent_timers",
        ["cron", "due_at"],
        postgresql_where=sa.text("cron IS NOT NULL AND fired_at IS NULL"),
    )


def downgrade() -> None:
    """Take it away again."""
    op.drop_index("agent_timers_cron", "agent_timers")
    op.drop_column("agent_timers", "cron")
    op.drop_table("agent_cron_decks")
    op.drop_table("agent_crons")
    op.drop_table("agent_scheduled_calls")
    op.drop_table("agent_revocations")
    op.drop_table("agent_api_keys")
    op.drop_column("agent_calls", "writes")
