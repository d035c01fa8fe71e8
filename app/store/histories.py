"""Two histories of one database: the product's tables and the team's.

Each has files of its own and a version table of its own, so neither can be in the way of the
other: a team that takes over a new release has no heads to merge, and each goes up and down alone.
"""

from dataclasses import dataclass, field
from pathlib import Path

from sqlmodel import SQLModel

_ROOT = Path(__file__).resolve().parents[2]
PREFIX = "agent_"
"""What the product's tables are called, and no others."""


@dataclass(frozen=True, slots=True)
class History:
    """One line of migrations."""

    versions: Path
    """Its files.  The folder need not be there before the first one."""
    version_table: str
    """Says how far a database is.  Never ``alembic_version``: a database may be shared with an
    application that has its own."""
    tables: frozenset[str] = field(default=frozenset())
    """The declared tables that it is about; others in the database are nobody's business."""

    @property
    def is_begun(self) -> bool:
        """Whether it has a migration."""
        return any(self.versions.glob("*.py"))


def product_history() -> History:
    """Return the history of the product's own tables."""
    declared = frozenset(name for name in SQLModel.metadata.tables if name.startswith(PREFIX))
    return History(_ROOT / "migrations" / "versions", "agent_alembic_version", declared)


def team_history(agents: Path, tables: frozenset[str] = frozenset()) -> History:
    """Return the history of the team's tables.

    Args:
        agents: the team's folder; it holds the migrations, too.
        tables: what it declares, if the folder is loaded; only comparing needs it.
    """
    return History(agents.resolve() / "migrations" / "versions", "team_alembic_version", tables)
