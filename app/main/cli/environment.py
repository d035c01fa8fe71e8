"""Reading the environment for a command, with one sentence for what is wrong in it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from app.main.refusal import Refusal

if TYPE_CHECKING:
    from app.settings import Settings


def read_settings(**given: object) -> "Settings":
    """Return the settings of this process.

    Args:
        given: values from the command line; they win, and ``None`` means not given.

    Raises:
        Refusal: a variable has a value that makes no sense.
    """
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        # Its initialiser adds what the environment says.
        return Settings.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, each['loc'])).upper()}: {each['msg']}" for each in error.errors()
        ]
        raise Refusal(f"the environment is not right ({'; '.join(faults)})") from error


def require_stores(settings: "Settings") -> None:
    """Check that the stores are named.

    Raises:
        Refusal: one is not.
    """
    for name in ("database_url", "redis_url"):
        if not getattr(settings, name):
            raise Refusal(f"{name.upper()} is not set (`ropewalk dev` brings stores of its own)")


def with_stores(settings: "Settings", data_dir: Path) -> "Settings":
    """Return the settings with stores: those that are named, else those of a running ``dev``.

    Raises:
        Refusal: none are named, and no ``dev`` runs in ``data_dir``.
    """
    if settings.database_url and settings.redis_url:
        return settings
    try:
        ready = json.loads((data_dir / "ready.json").read_text())
        found = {"database_url": ready["databaseUrl"], "redis_url": ready["redisUrl"]}
    except (OSError, ValueError, KeyError) as error:
        raise Refusal(
            f"DATABASE_URL and REDIS_URL are not set, and no `ropewalk dev` runs in {data_dir}"
        ) from error
    return settings.model_copy(update=found)
