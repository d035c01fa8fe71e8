"""Who comes in, who may what, and what operators have changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Double, Identity, Index, Integer, LargeBinary, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlmodel import Field, SQLModel

from app.store.tables.columns import COPIED_JSON, NOW, TIME


class ApiKeyRow(SQLModel, table=True):
    """A key of a server's own.  What it was is shown once; only its digest is kept."""

    __tablename__ = "agent_api_keys"

    id: str = Field(primary_key=True, sa_type=Text)
    digest: bytes = Field(sa_type=LargeBinary)
    """SHA-256 of the secret, which is 256 random bits: no dictionary leads back from it."""
    name: str = Field(sa_type=Text)
    user_id: str = Field(sa_type=Text)
    roles: list[str] = Field(sa_type=ARRAY(Text))
    scopes: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """``module:name`` or ``module:*``; SQL null: whatever its user may."""
    created_at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    expires_at: datetime | None = Field(default=None, sa_type=TIME)
    revoked_at: datetime | None = Field(default=None, sa_type=TIME)
    used_at: datetime | None = Field(default=None, sa_type=TIME)
    """To the hour."""


class RevocationRow(SQLModel, table=True):
    """A user whose tokens from before a moment are refused."""

    __tablename__ = "agent_revocations"

    user_id: str = Field(primary_key=True, sa_type=Text)
    not_before: datetime = Field(sa_type=TIME)


class OverrideRow(SQLModel, table=True):
    """What operators say over an agent's code.  A published version is never changed."""

    __tablename__ = "agent_overrides"

    agent: str = Field(primary_key=True, sa_type=Text)
    version: int = Field(primary_key=True, sa_type=Integer)
    """From 1; the draft is 0, and the one row that is ever written again."""
    content: Any = Field(sa_type=JSON)
    """Empty: everything is as coded again."""
    author: str | None = Field(default=None, sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    """When it was published, or last saved."""


class GovernanceRow(SQLModel, table=True):
    """Who may use an agent and decide what it asks; with an empty slug, what holds for all."""

    __tablename__ = "agent_governance"

    agent: str = Field(primary_key=True, sa_type=Text)
    use_list: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """E-mails and user ids; SQL null: no list."""
    approve_list: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    approvers: Any | None = Field(default=None, sa_type=COPIED_JSON)
    """By tool, in place of those in code."""
    manual_minutes: float | None = Field(default=None, sa_type=Double)
    """That a person takes for what a completed run does."""
    models: list[str] | None = Field(default=None, sa_type=ARRAY(Text))
    """Which may be chosen; of the empty slug alone."""


class AuditRow(SQLModel, table=True):
    """Who published, took back or governed what.  Never changed, never deleted."""

    __tablename__ = "agent_audit"
    __table_args__ = (Index("agent_audit_by_agent", "agent", "id"),)

    id: int = Field(
        default=None, primary_key=True, sa_type=BigInteger, sa_column_args=[Identity(always=True)]
    )
    at: datetime = Field(default=None, sa_type=TIME, sa_column_kwargs=NOW)
    actor: str | None = Field(default=None, sa_type=Text)
    agent: str = Field(sa_type=Text)
    """Empty: the deployment."""
    action: str = Field(sa_type=Text)
    detail: Any = Field(sa_type=JSON)
