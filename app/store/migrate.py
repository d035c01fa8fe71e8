"""Brings a database to the newest schema: for the command, for ``dev`` and for tests alike."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.store.addresses import sync_engine

_ROOT = Path(__file__).resolve().parents[2]
VERSION_TABLE = "agent_alembic_version"
"""Not ``alembic_version``: a database may be shared with an application that has its own."""


def alembic_config(url: str) -> Config:
    """Return Alembic's configuration for one database."""
    config = Config(_ROOT / "alembic.ini")
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Apply what is missing; nothing happens when the schema is current.

    Safe to run from several processes at once: ``migrations/env.py`` takes an advisory lock.
    """
    command.upgrade(alembic_config(url), revision)


def is_current(url: str) -> bool:
    """Whether the database has every migration that this code knows.

    A database that is ahead is current: during a deploy the code before an expansion goes
    on beside it.  Blocks for a connection and a query; call it from a thread.
    """
    scripts = ScriptDirectory.from_config(alembic_config(url))
    known = {script.revision for script in scripts.walk_revisions()}
    engine = sync_engine(url)
    with engine.connect() as connection:
        options = {"version_table": VERSION_TABLE}
        found = set(MigrationContext.configure(connection, opts=options).get_current_heads())
    return found == set(scripts.get_heads()) or bool(found - known)
