"""``ropewalk token``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.environment import read_settings
from app.main.refusal import Refusal

if TYPE_CHECKING:
    from app.settings import Settings


def token(
    user: Annotated[str, typer.Option(help="The user's id: the token's subject.")],
    role: Annotated[list[str] | None, typer.Option(help="A role; may be repeated.")] = None,
    hours: Annotated[float, typer.Option(min=0.01, help="For how long it holds.")] = 24 * 30,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Print a token for a user, signed with JWT_SECRET or with the secret of `ropewalk dev`."""
    settings = read_settings()
    secret = known_secret(settings, data_dir)
    if secret is None:
        raise Refusal(
            "there is no secret to sign with: set JWT_SECRET, or run `ropewalk dev` once"
            f" (looked in {data_dir})"
        )
    typer.echo(mint_for(settings, secret, user, role or [], timedelta(hours=hours)))


def known_secret(settings: "Settings", data_dir: Path) -> str | None:
    """Return the shared secret: the environment's, else the one that ``dev`` keeps."""
    from app.main.dev.folder import DataFolder

    if settings.jwt_secret is not None:
        return settings.jwt_secret.get_secret_value()
    return DataFolder(data_dir).known_secret()


def mint_for(
    settings: "Settings", secret: str, user: str, roles: list[str], lifetime: timedelta
) -> str:
    """Return a token that holds from now on."""
    from app.main.tokens import mint

    now = datetime.now(UTC)
    return mint(secret, user, now=now, lifetime=lifetime, settings=settings, roles=roles)
