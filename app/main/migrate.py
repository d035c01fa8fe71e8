"""Bringing a database to the newest schema, from a command, from ``dev`` and from tests alike."""

from pathlib import Path

from alembic import command
from alembic.config import Config

_ROOT = Path(__file__).resolve().parents[2]


def alembic_config(database_url: str) -> Config:
    """Return Alembic's configuration for one database.

    ``migrations/env.py`` reads the address from ``sqlalchemy.url``.
    """
    config = Config(_ROOT / "alembic.ini")
    config.set_main_option("script_location", str(_ROOT / "migrations"))
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    return config


def upgrade(database_url: str, revision: str = "head") -> None:
    """Apply what is missing; nothing happens when the schema is current.

    Safe to run from several processes at once: ``migrations/env.py`` takes an advisory lock.
    """
    command.upgrade(alembic_config(database_url), revision)
