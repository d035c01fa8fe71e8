"""The folder in which a team keeps its agents, functions, tables and their migrations."""

from pathlib import Path

from app.main.refusal import Refusal


def require_folder(folder: Path) -> None:
    """Check that the team's folder is there.

    Raises:
        Refusal: it is not.
    """
    if not folder.is_dir():
        raise Refusal(f"{folder} is no folder; name the one with your agents with --agents PATH")
