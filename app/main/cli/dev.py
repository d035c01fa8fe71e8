"""``ropewalk dev``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.main.cli.environment import read_settings
from app.main.lasting import lasting

DataDirOption = Annotated[
    Path, typer.Option("--data-dir", help="Where the embedded stores keep their data.")
]
DEFAULT_DATA_DIR = Path(".ropewalk")


def dev(
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the gateway; 0 picks a free one.", envvar="PORT"
        ),
    ] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    ready_file: Annotated[
        Path | None, typer.Option(help="Written when it serves: address, stores and processes.")
    ] = None,
    agents: Annotated[
        Path | None, typer.Option(help="Folder of agents and functions (else AGENTS).")
    ] = None,
    sign_in: Annotated[
        Literal["here", "anyone"] | None,
        typer.Option(
            help="Who is signed in without asking, as an admin too: who comes from this machine,"
            " or anyone who reaches the server (else DEV_SIGN_IN, else here)."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    *,
    reload: Annotated[bool, typer.Option(help="Start anew when an agent's file changes.")] = True,
) -> None:
    """Run everything on this machine: stores, migrations, gateway, workers and the demo chat.

    DATABASE_URL and REDIS_URL replace the embedded stores.
    """
    settings = read_settings(agents=agents)
    with lasting():
        from app.main.dev.supervisor import DevOptions, Supervisor

    options = DevOptions(
        host=host,
        sign_in=sign_in or settings.dev_sign_in,
        port=port,
        data_dir=data_dir,
        ready_file=ready_file,
        agents=settings.agents,
        workers=workers,
        reload=reload,
    )
    Supervisor(options, settings).run()
