"""Where a subscriber stands: ``TIMELINE.VERSION``.

The version counts the changes of one thread.  The timeline names the history
that the version counts in: after a failover to a standby that lost commits the
same number may mean something else, so another timeline means a new snapshot.
"""

from dataclasses import dataclass

from app.domain.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to here a subscriber has everything."""

    timeline: str
    version: int

    def __str__(self) -> str:
        """Return the form that travels."""
        return f"{self.timeline}.{self.version}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the cursor that ``str`` wrote.

        Raises:
            InvalidArgument: ``text`` is not ``TIMELINE.VERSION``.
        """
        timeline, dot, version = text.rpartition(".")
        if not (dot and timeline and version.isascii() and version.isdecimal()):
            raise InvalidArgument(f"a cursor has the form TIMELINE.VERSION, got {text[:80]!r}")
        return cls(timeline, int(version))
