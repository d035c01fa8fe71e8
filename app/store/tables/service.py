"""What the processes of a deployment keep for one another: workers, calls, notices."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlmodel import Field, SQLModel

from app.store.tables.columns import COPIED_JSON, NOW, ROOM, TIME, ZERO


class WorkerRow(SQLModel, table=True):
    """A worker process.  Its id is fresh at each start.

    A worker that left stays for a while with ``gone_at``: an agent is unknown only when no
    worker has served it for some time, a restart in between does not count.
    """

    __tablename__ = "agent_workers"
    __table_args__ = ({"postgresql_with": ROOM},)

    id: str = Field(primary_key=True, sa_type=Text)
    beat: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs=ZERO)
    agents: list[str] = Field(sa_type=ARRAY(Text))
    versions: list[str | None] | None = Field(default=None, sa_type=ARRAY(Text))
    """The version of each of these agents that its code has."""
    started_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    gone_at: datetime | None = Field(default=None, sa_type=TIME)


class CallRow(SQLModel, table=True):
    """A call that a client may repeat: its first result is everybody's.  Kept for a day."""

    __tablename__ = "agent_calls"
    __table_args__ = (Index("agent_calls_created", "created_at"),)

    identity: str = Field(primary_key=True, sa_type=Text)
    """Empty for anonymous."""
    function: str = Field(primary_key=True, sa_type=Text)
    dedupe: str = Field(primary_key=True, sa_type=Text)
    arguments: str = Field(sa_type=Text)
    """SHA-256 of their JSON, in hexadecimal."""
    result: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """SQL null until there is one; JSON null is a result."""
    writes: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """What a mutation wrote of the team's tables, to be announced again with each repetition."""
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)


class NoticeRow(SQLModel, table=True):
    """Something that another system is told.  One that was taken stays for a day."""

    __tablename__ = "agent_notices"
    __table_args__ = (
        Index("agent_notices_due", "due_at", postgresql_where=text("settled_at IS NULL")),
        Index(
            "agent_notices_settled", "settled_at", postgresql_where=text("settled_at IS NOT NULL")
        ),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    """``KIND:SUBJECT``, so that it is written once."""
    kind: str = Field(sa_type=Text)
    data: Any = Field(sa_type=JSON)
    due_at: datetime = Field(sa_type=TIME)
    """When it is sent, or sent again; whoever sends it puts this off first."""
    attempts: int = Field(default=0, sa_type=Integer, sa_column_kwargs=ZERO)
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    settled_at: datetime | None = Field(default=None, sa_type=TIME)
    error: str | None = Field(default=None, sa_type=Text)
    """Why it was not taken, at last."""
