"""Where something was declared, so that every complaint can point at the line to mend."""

import inspect
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import DeclarationError

_OWN = "app.authoring"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the team's code."""

    module: str
    file: str
    line: int

    def __str__(self) -> str:
        """Return ``FILE:LINE``, the file relative to the working directory where it lies below."""
        path = Path(self.file)
        here = Path.cwd()
        shown = path.relative_to(here) if path.is_relative_to(here) else path
        return f"{shown}:{self.line}"

    def error(self, message: str) -> DeclarationError:
        """Return the error for a wrong declaration at this place."""
        return DeclarationError(f"{self}: {message}", {"file": self.file, "line": self.line})


def calling_place() -> Place:
    """Return the line outside this package that is being executed."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.f_back
    if frame is None:
        return Place("__main__", "<unknown>", 0)
    return Place(frame.f_globals.get("__name__", ""), frame.f_code.co_filename, frame.f_lineno)
