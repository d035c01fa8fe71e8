"""The ``ropewalk`` command.

What cannot be done is one sentence and an exit code, never a traceback.  Commands import what they
need when they run, so that ``--help`` and completion are quick.
"""

import sys
from typing import NoReturn

import typer

from app.domain.errors import ChatError, DeclarationError
from app.main.cli import (
    agents,
    approvals,
    codegen,
    crons,
    dev,
    generate,
    keys,
    migrations,
    serve,
    sessions,
    token,
)
from app.main.refusal import WRONG_DECLARATION, Refusal

cli = typer.Typer(
    name="ropewalk",
    help="Durable AI agents with a realtime chat.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
cli.command("dev")(dev.dev)
cli.command("gateway")(serve.gateway)
cli.command("worker")(serve.worker)
cli.command("migrate")(migrations.migrate)
cli.command("migration")(migrations.migration)
cli.command("check")(serve.check)
cli.command("doctor")(serve.doctor)
cli.command("crons")(crons.crons)
cli.command("codegen")(codegen.codegen)
cli.command("token")(token.token)
cli.command("revoke")(keys.revoke)
cli.add_typer(keys.cli, name="keys")
cli.add_typer(generate.cli, name="generate")
agents.cli.add_typer(sessions.cli, name="sessions")
cli.add_typer(agents.cli, name="agents")
cli.add_typer(approvals.cli, name="approvals")


def main() -> None:
    """Run the command line."""
    try:
        cli()
    except DeclarationError as error:
        _give_up(error, WRONG_DECLARATION)
    except (Refusal, ChatError) as error:
        _give_up(error, 1)


def _give_up(error: Exception, code: int) -> NoReturn:
    print(f"ropewalk: {error}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
