"""``ropewalk codegen``."""

from pathlib import Path
from typing import Annotated

import typer

from app.main.cli.environment import read_settings
from app.main.cli.serve import AgentsOption
from app.main.refusal import Refusal


def codegen(
    agents: AgentsOption = None,
    out: Annotated[Path | None, typer.Option(help="The file to write (else CODEGEN).")] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; end with 1 when the file is stale.")
    ] = False,
) -> None:
    """Write the TypeScript of your functions and agents, with what they take and answer."""
    settings = read_settings(agents=agents, codegen=out)
    file = settings.codegen
    if file is None:
        raise Refusal("name the file to write, as --out src/api.gen.ts, or set CODEGEN")
    from app.main.codegen import is_fresh, write

    if check:
        if not is_fresh(settings.agents, file):
            raise Refusal(f"{file} is stale: run ropewalk codegen")
    elif write(settings.agents, file):
        typer.echo(f"{file} is written.")
    else:
        typer.echo(f"{file} is up to date.")
