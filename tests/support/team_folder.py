"""A team's folder of a test's own, loaded in this process and forgotten afterwards."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from app.main.load_agents import Declarations, load
from app.main.migrating import add_migration, tables_not_migrated
from app.main.team_tables import forget_tables


@dataclass(frozen=True)
class TeamFolder:
    """One folder, called anything but ``agents``."""

    path: Path

    def write(self, **contents: str) -> "TeamFolder":
        """Write modules by name; ``a__b`` is ``a/b.py``."""
        for name, text in contents.items():
            file = self.path / f"{name.replace('__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return self

    def load(self) -> Declarations:
        """Load it and return what it declares."""
        return load(self.path)

    def module(self, name: str) -> ModuleType:
        """Return a loaded module of it."""
        return sys.modules[f"agents.{name}"]

    def declared(self, module: str, name: str) -> Any:  # noqa: ANN401  # whatever it is
        """Return what a loaded module of it calls so."""
        return getattr(self.module(module), name)

    @property
    def migrations(self) -> list[Path]:
        """Its migrations, the oldest first."""
        return sorted((self.path / "migrations" / "versions").glob("*.py"))

    def add_migration(self, url: str, message: str, *, is_empty: bool = False) -> Path | None:
        """Load it and write the migration to what it declares."""
        tables = self.load().tables
        return add_migration(url, self.path, tables, message, is_empty=is_empty)

    def not_migrated(self, url: str) -> list[str]:
        """Load it and return the tables that are not as it declares them."""
        return tables_not_migrated(url, self.path, self.load().tables)


@contextmanager
def a_team_folder(parent: Path) -> Iterator[TeamFolder]:
    """Yield an empty one; afterwards modules and tables are as they were."""
    before = {name: module for name, module in sys.modules.items() if _is_theirs(name)}
    path = parent / "team"
    path.mkdir()
    yield TeamFolder(path)
    for name in [each for each in sys.modules if _is_theirs(each)]:
        del sys.modules[name]
    sys.modules.update(before)
    forget_tables()


def _is_theirs(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == "agents"
