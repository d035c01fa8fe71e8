"""Both histories of a database, one after the other: the product's tables, then the team's.

What goes wrong in a team's migration is one sentence with its file, as everything of the team's.
"""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from app.main.refusal import Refusal
from app.main.team_folder import require_folder
from app.store.histories import History, team_history
from app.store.migrate import is_current, standing, upgrade
from app.store.revising import differing_tables, write_empty, write_missing

log = logging.getLogger(__name__)


def bring_up_to_date(url: str, agents: Path) -> None:
    """Apply what is missing of both; a database that is ahead stays as it is.

    Raises:
        Refusal: there is no such folder, or a migration failed; then none of its history's
            migrations is applied.
    """
    require_folder(agents)
    history = team_history(agents)
    with _in_a_sentence(history):
        upgrade(url)
        upgrade(url, history=history)


def is_up_to_date(url: str, agents: Path) -> bool:
    """Whether the database has every migration of both.  Blocks; call it from a thread."""
    return is_current(url) and is_current(url, team_history(agents))


def tables_not_migrated(url: str, agents: Path, tables: frozenset[str]) -> list[str]:
    """Return the team's tables that are declared otherwise than the database has them.

    Args:
        url: of the database.
        agents: the team's folder, loaded.
        tables: what it declares.

    Raises:
        Refusal: migrations are not applied, or the database does not do what it is asked.
    """
    history = team_history(agents, tables)
    with _in_a_sentence(history):
        _require_current(url, history)
        return differing_tables(url, history)


def sentence_of(tables: list[str]) -> str:
    """Return what to say of tables that are not migrated."""
    return (
        f"no migration covers what is declared of {', '.join(tables)}: run"
        ' `ropewalk migration "what changes"`, then `ropewalk migrate`'
    )


def warn_of_tables(url: str, agents: Path, tables: frozenset[str]) -> None:
    """Say in the log which of the team's tables are not migrated: for ``dev``, before it serves."""
    if not tables and not team_history(agents).is_begun:
        return
    try:
        found = tables_not_migrated(url, agents, tables)
    except Refusal as error:
        log.warning("%s", error)
        return
    if found:
        log.warning("%s", sentence_of(found))


def add_migration(
    url: str, agents: Path, tables: frozenset[str], message: str, *, is_empty: bool
) -> Path | None:
    """Write a migration from the database to what the folder declares; return its file.

    Nothing is written, and nothing returned, when the two agree.

    Args:
        url: of the database.
        agents: the team's folder, loaded.
        tables: what it declares.
        message: what changes, in words.  The file is named after it.
        is_empty: write one that is to be filled by hand, without comparing.

    Raises:
        Refusal: migrations are not applied, the folder cannot be written to, or the database does
            not do what it is asked.
    """
    history = team_history(agents, tables)
    with _in_a_sentence(history):
        _require_current(url, history)
        try:
            make = write_empty if is_empty else write_missing
            return make(url, history, message)
        except OSError as error:
            raise Refusal(f"cannot write to {history.versions}: {error.strerror}") from error


def _require_current(url: str, history: History) -> None:
    if not is_current(url):
        raise Refusal("the database is not up to date: run `ropewalk migrate` first")
    match standing(url, history):
        case "behind":
            raise Refusal(
                "the database does not have all of your migrations: run `ropewalk migrate` first"
            )
        case "ahead":
            raise Refusal(
                f"the database has a migration that {history.versions} does not have:"
                " get its file (from another branch?) first"
            )
        case "current":
            pass


@contextmanager
def _in_a_sentence(history: History) -> Iterator[None]:
    try:
        yield
    except (Refusal, OSError):
        raise
    except CommandError as error:
        raise Refusal(f"{history.versions}: {error}") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [each for each in frames if Path(each.filename).parent == history.versions]
        said = str(error.orig).strip() if isinstance(error, DBAPIError) else str(error)
        if theirs:
            where = f"{theirs[-1].filename}:{theirs[-1].lineno}"
            raise Refusal(f"{where}: {type(error).__name__}: {said}") from error
        if isinstance(error, SyntaxError) and error.filename:
            raise Refusal(f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}") from error
        if isinstance(error, DBAPIError):
            raise Refusal(f"the database said: {said}") from error
        raise
