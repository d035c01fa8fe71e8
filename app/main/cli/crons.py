"""``ropewalk crons``: what happens by the clock, as the database has it."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.environment import read_settings, with_stores


def crons(
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """List the crons: name, target, next slot, last slot and what became of it.

    Without DATABASE_URL they are those of a running `ropewalk dev`.
    """
    settings = with_stores(read_settings(), data_dir)
    from app.main.examining import list_crons

    found = list_crons(settings)
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2, default=str))
        return
    for each in found:
        timing = f"{each.expression} {each.timezone}"
        last = "-" if each.last_slot is None else f"{_shown(each.last_slot)} {each.outcome}"
        typer.echo(f"{each.name:24} {each.target:28} {timing:28} {_shown(each.next_at)}  {last}")


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
