"""``ropewalk keys`` and ``ropewalk revoke``: who may come in with what, and who no more."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.environment import read_settings
from app.main.cli.server import running_dev
from app.main.refusal import Refusal

if TYPE_CHECKING:
    from app.domain.api_key import ApiKey

cli = typer.Typer(help="Keys with which servers of yours come in.", no_args_is_help=True)

_DURATION: Final = re.compile(r"([1-9]\d{0,5})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@cli.command("create")
def create(
    name: Annotated[str, typer.Option(help="What it is for, for people.")],
    user: Annotated[str, typer.Option(help="Whom it speaks for.")],
    role: Annotated[list[str] | None, typer.Option(help="A role; may be repeated.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="A function that it may use, as chat:startRun or chat:*; repeatable."),
    ] = None,
    expires_in: Annotated[
        str | None, typer.Option(help="For how long it holds, as 90d (m, h, d, w); else for good.")
    ] = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Make a key and print it.  It is shown this once; only a digest of it is kept."""
    from app.main.operators import create_key

    key = create_key(
        _database(data_dir),
        name=name,
        user=user,
        roles=role or [],
        scopes=scope or [],
        lifetime=None if expires_in is None else _lifetime(expires_in),
    )
    typer.echo(f"Key {key.id} for {user}: keep what follows, it is not shown again.", err=True)
    typer.echo(str(key))


@cli.command("list")
def list_keys(data_dir: DataDirOption = DEFAULT_DATA_DIR) -> None:
    """Print every key: its id, state, user, name, roles, scopes, and when it was last used."""
    from app.main.operators import all_keys

    now = datetime.now(UTC)
    for key in all_keys(_database(data_dir)):
        typer.echo(_line(key, now))


@cli.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="The key's id, as `keys list` shows it.")],
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Revoke a key for good: within 30 s it opens nothing, and its sockets are closed."""
    from app.main import operators

    operators.revoke_key(_database(data_dir), key_id)
    typer.echo(f"Key {key_id} is revoked.")


def revoke(
    user: Annotated[str, typer.Option(help="Whose tokens and keys to take back.")],
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Let the old ones be good again.")] = False,
) -> None:
    """Take back every token and key that a user has now; later ones are good."""
    from app.main import operators

    if undo:
        operators.give_back(_database(data_dir), user)
        typer.echo(f"The tokens of {user} are good again.")
        return
    moment = operators.take_back(_database(data_dir), user)
    typer.echo(f"Nothing issued to {user} before {moment:%Y-%m-%d %H:%M:%S %Z} is good any more.")


def _database(data_dir: Path) -> str:
    """Return the database's address: the environment's, else that of a running ``dev``."""
    url = read_settings().database_url or running_dev(data_dir).get("databaseUrl")
    if not url:
        raise Refusal("DATABASE_URL is not set, and no `ropewalk dev` runs here")
    return str(url)


def _lifetime(text: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise Refusal(f"{text!r} is no time: write 30m, 12h, 90d or 52w")
    number, unit = found.groups()
    return timedelta(**{_UNITS[unit]: int(number)})


def _line(key: "ApiKey", now: datetime) -> str:
    if key.revoked_at is not None:
        state = "revoked"
    elif key.fault(now) is not None:
        state = "expired"
    else:
        state = "good" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d}"
    scopes = "everything" if key.scopes is None else " ".join(sorted(key.scopes))
    used = "never used" if key.used_at is None else f"used {key.used_at:%Y-%m-%d %H:%M}"
    roles = " ".join(sorted(key.roles)) or "no role"
    return f"{key.id}  {state:16} {key.user_id:20} {key.name:20} {roles}; {scopes}; {used}"
