"""The parts of a deployment, one command each, and the check that precedes it."""

from pathlib import Path
from typing import Annotated

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.environment import read_settings, require_stores, with_stores
from app.main.lasting import lasting

AgentsOption = Annotated[
    Path | None, typer.Option("--agents", help="Folder of agents and functions (else AGENTS).")
]


def gateway(
    host: Annotated[str | None, typer.Option(help="Address to listen on (else HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (else PORT).")] = None,
    agents: AgentsOption = None,
) -> None:
    """Serve sockets and HTTP until told to stop."""
    settings = read_settings(host=host, port=port, agents=agents)
    require_stores(settings)
    with lasting():
        from app.main import web

    web.serve(settings)


def worker(agents: AgentsOption = None) -> None:
    """Drive runs until told to stop."""
    settings = read_settings(agents=agents)
    require_stores(settings)
    with lasting():
        from app.main import worker as pool

    pool.serve(settings)


def check(agents: AgentsOption = None) -> None:
    """Load the agents and functions, and say what is wrong with them."""
    settings = read_settings(agents=agents)
    from app.main.authenticate import custom_tokens
    from app.main.load_agents import load

    load(settings.agents)
    if settings.authenticate is not None:
        custom_tokens(settings.authenticate)
    typer.echo(f"{settings.agents} is in order.")


def doctor(
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    mend: Annotated[bool, typer.Option("--mend", help="Mend what can be mended.")] = False,
) -> None:
    """Look for what the laws do not allow; ends with 0 when there is nothing, else with 1.

    Without DATABASE_URL it looks at a running `ropewalk dev`.
    """
    settings = with_stores(read_settings(), data_dir)
    from app.main.examining import examine

    findings = examine(settings, mend=mend)
    for each in findings:
        typer.echo(f"{'mended' if each.is_mended else 'found'}: {each.kind}: {each.sentence}")
    if findings:
        raise typer.Exit(1)
    typer.echo("All is well.")
