"""``ropewalk migrate`` and ``ropewalk migration``: the tables, the product's and the team's."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.environment import read_settings
from app.main.cli.serve import AgentsOption
from app.main.refusal import Refusal

if TYPE_CHECKING:
    from app.settings import Settings


def migrate(agents: AgentsOption = None, data_dir: DataDirOption = DEFAULT_DATA_DIR) -> None:
    """Bring the database to the newest schema: Ropewalk's tables, then yours.

    Without DATABASE_URL it is that of a running `ropewalk dev`.
    """
    settings = read_settings(agents=agents)
    url = _database(settings, data_dir)
    from app.main.migrating import bring_up_to_date

    bring_up_to_date(url, settings.agents)
    typer.echo("The database is up to date.")


def migration(
    message: Annotated[
        str, typer.Argument(help="What changes, as `add orders`; the file is named after it.")
    ] = "",
    agents: AgentsOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    empty: Annotated[
        bool, typer.Option("--empty", help="Compare nothing; you fill the file by hand.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; end with 1 when a migration is missing."),
    ] = False,
) -> None:
    """Write the migration from the database to the tables that your folder declares.

    It is a file in AGENTS/migrations/versions: read it, then run `ropewalk migrate`. Without
    DATABASE_URL the database is that of a running `ropewalk dev`.
    """
    settings = read_settings(agents=agents)
    url = _database(settings, data_dir)
    from app.main.load_agents import load
    from app.main.migrating import add_migration, sentence_of, tables_not_migrated

    if not (check or message.strip()):
        raise Refusal('say what changes, as in `ropewalk migration "add orders"`')
    tables = load(settings.agents).tables
    if check:
        found = tables_not_migrated(url, settings.agents, tables)
        if found:
            raise Refusal(sentence_of(found))
        typer.echo(f"Nothing to migrate: the database has what {settings.agents} declares.")
        return
    file = add_migration(url, settings.agents, tables, message.strip(), is_empty=empty)
    if file is None:
        typer.echo(f"Nothing to migrate: the database has what {settings.agents} declares.")
        return
    typer.echo(f"{_shown(file)} is written: read it, then run `ropewalk migrate`.")


def _database(settings: "Settings", data_dir: Path) -> str:
    """Return the address of the database.

    Raises:
        Refusal: none is given, and no ``dev`` runs.
    """
    if settings.database_url:
        return settings.database_url
    try:
        return str(json.loads((data_dir / "ready.json").read_text())["databaseUrl"])
    except (OSError, ValueError, KeyError) as error:
        raise Refusal(
            f"DATABASE_URL is not set, and no `ropewalk dev` runs in {data_dir}"
        ) from error


def _shown(file: Path) -> Path:
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
