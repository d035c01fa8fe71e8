"""Brings a database to the newest schema: for the command, for ``dev`` and for tests alike."""

from argparse import Namespace
from pathlib import Path
from typing import Literal, TypeAlias

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import app.store.tables  # noqa: F401  # declares what the product's history is about
from app.store.addresses import sync_engine
from app.store.histories import History, product_history

Standing: TypeAlias = Literal["behind", "current", "ahead"]

_ROOT = Path(__file__).resolve().parents[2]
_TEAM_FILE = "%(year)d%(month).2d%(day).2d_%(hour).2d%(minute).2d_%(slug)s_%(rev)s"
"""Two migrations of one minute may have one message; neither may overwrite the other."""


def alembic_config(url: str, history: History | None = None) -> Config:
    """Return Alembic's configuration for one database and one history, else the product's."""
    config = Config(_ROOT / "alembic.ini", cmd_opts=Namespace(quiet=True))
    config.set_main_option("sqlalchemy.url", _escaped(url))
    if history is not None:
        config.attributes["history"] = history
        config.set_main_option("version_locations", _escaped(str(history.versions)))
        config.set_main_option("file_template", _escaped(_TEAM_FILE))
    return config


def upgrade(url: str, revision: str = "heads", history: History | None = None) -> None:
    """Apply what is missing; nothing happens when the schema is current, or ahead of this code.

    Safe to run from several processes at once: ``migrations/env.py`` takes an advisory lock.
    """
    if history is not None and not history.is_begun:
        return
    if revision != "heads" or standing(url, history) == "behind":
        command.upgrade(alembic_config(url, history), revision)


def is_current(url: str, history: History | None = None) -> bool:
    """Whether the database has every migration that this code knows."""
    return standing(url, history) != "behind"


def standing(url: str, history: History | None = None) -> Standing:
    """Return how far the database is.

    It is ahead when it has a migration that this code does not know: during a deploy the code
    before an expansion goes on beside it, and a release may be taken back.  Blocks for a
    connection and a query; call it from a thread.
    """
    scripts = ScriptDirectory.from_config(alembic_config(url, history))
    known = {script.revision for script in scripts.walk_revisions()}
    engine = sync_engine(url)
    with engine.connect() as connection:
        options = {"version_table": (history or product_history()).version_table}
        found = set(MigrationContext.configure(connection, opts=options).get_current_heads())
    if found - known:
        return "ahead"
    return "current" if found == set(scripts.get_heads()) else "behind"


def _escaped(value: str) -> str:
    return value.replace("%", "%%")
