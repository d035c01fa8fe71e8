"""What happens when it is due: timers, calls of functions, and the crons that make both."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlmodel import Field, SQLModel

from app.store.tables.columns import COPIED_JSON, TIME, ZERO


class TimerRow(SQLModel, table=True):
    """Something that happens once when it is due: a fact of a run, or the start of one.

    A run's timers go with its end.  One that fired stays for a day.
    """

    __tablename__ = "agent_timers"
    __table_args__ = (
        UniqueConstraint("run", "fact", name="agent_timers_fact"),
        Index("agent_timers_due", "due_at", postgresql_where=text("fired_at IS NULL")),
        Index("agent_timers_fired", "fired_at", postgresql_where=text("fired_at IS NOT NULL")),
        Index(
            "agent_timers_cron",
            "cron",
            "due_at",
            postgresql_where=text("cron IS NOT NULL AND fired_at IS NULL"),
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """``RUN/FACT``, or the schedule's."""
    thread: str | None = Field(default=None, sa_type=Text)
    run: str | None = Field(default=None, sa_type=Text)
    fact: str | None = Field(default=None, sa_type=Text)
    start: dict[str, Any] | None = Field(default=None, sa_type=COPIED_JSON)
    due_at: datetime = Field(sa_type=TIME)
    fired_at: datetime | None = Field(default=None, sa_type=TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why the start was refused when it was due."""
    cron: str | None = Field(default=None, sa_type=Text)
    """Whose slot it is."""


class ScheduledCallRow(SQLModel, table=True):
    """A call of a server function that is made once it is due.  One that was made stays a day."""

    __tablename__ = "agent_scheduled_calls"
    __table_args__ = (
        UniqueConstraint("cron", "slot", name="agent_scheduled_calls_slot"),
        Index("agent_scheduled_calls_due", "due_at", postgresql_where=text("made_at IS NULL")),
        Index(
            "agent_scheduled_calls_made", "made_at", postgresql_where=text("made_at IS NOT NULL")
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """Random: the dedupe key of the call is made of it, and nobody may take that in advance."""
    function: str = Field(sa_type=Text)
    arguments: Any = Field(sa_type=JSON)
    user_id: str | None = Field(default=None, sa_type=Text)
    roles: list[str] = Field(sa_type=ARRAY(Text))
    cron: str | None = Field(default=None, sa_type=Text)
    slot: datetime | None = Field(default=None, sa_type=TIME)
    due_at: datetime = Field(sa_type=TIME)
    taken_until: datetime | None = Field(default=None, sa_type=TIME)
    """Until then it is the call of the process that claimed it."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=ZERO)
    made_at: datetime | None = Field(default=None, sa_type=TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why it failed, or was not made."""


class CronRow(SQLModel, table=True):
    """A cron of the deck in force, with the next of its slots."""

    __tablename__ = "agent_crons"
    __table_args__ = (Index("agent_crons_next", "next_at"),)

    name: str = Field(primary_key=True, sa_type=Text)
    expression: str = Field(sa_type=Text)
    timezone: str = Field(sa_type=Text)
    catch_up: str = Field(sa_type=Text)
    overlap: str = Field(sa_type=Text)
    start: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """The start of its runs, without ids: each slot gets fresh ones."""
    call: Any | None = Field(default=None, sa_type=COPIED_JSON)
    next_at: datetime = Field(sa_type=TIME)
    last_slot: datetime | None = Field(default=None, sa_type=TIME)
    last_fired: str | None = Field(default=None, sa_type=Text)
    """The run, or the scheduled call, of the last slot that fired."""
    outcome: str | None = Field(default=None, sa_type=Text)
    """Why the last slot did not fire; null when it did."""


class CronDeckRow(SQLModel, table=True):
    """What one release of the team's code declares.  The newest that a living worker has holds."""

    __tablename__ = "agent_cron_decks"

    id: str = Field(primary_key=True, sa_type=Text)
    declared_at: datetime = Field(sa_type=TIME)
    seen_at: datetime = Field(sa_type=TIME)
    holds: bool = Field(sa_type=Boolean)
    """Whether ``agent_crons`` is what it says."""
