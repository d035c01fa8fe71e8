"""Writing the TypeScript of a deployment's functions and agents, where a front end imports it."""

from pathlib import Path

from app.main.load_agents import load
from app.main.refusal import Refusal
from app.protocol.agent_types import agent_types
from app.protocol.api_types import render_api
from app.protocol.typescript import UnknownSchema


def is_fresh(folder: Path, file: Path) -> bool:
    """Return whether the file says what the folder declares."""
    return _stored(file) == _rendered(folder)


def write(folder: Path, file: Path) -> bool:
    """Write what the folder declares; return whether that was news.

    A file that is right already is not touched, so that nobody who watches it wakes up.

    Raises:
        Refusal: the file cannot be written, or a type cannot be said in TypeScript.
        DeclarationError: something in the folder is wrong.
    """
    text = _rendered(folder)
    if _stored(file) == text:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{file} cannot be written: {error.strerror}") from error
    return True


def _rendered(folder: Path) -> str:
    declared = load(folder)
    agents = [agent_types(each, declared.functions) for each in declared.agents.values()]
    try:
        return render_api(declared.functions.all(), agents)
    except UnknownSchema as error:
        raise Refusal(f"no TypeScript for the JSON Schema {error}") from error


def _stored(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:  # whoever writes it finds out why
        return None
