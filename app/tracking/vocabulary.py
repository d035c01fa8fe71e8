"""Which of the team's tables a statement names.

A statement is taken at its final text, in which eager joins, subqueries and plain SQL look
alike: every table that it names is one that it reads, and one that it writes if it writes at all.
"""

import re
from functools import lru_cache
from typing import Final

from sqlalchemy import MetaData, Table

OURS: Final = "agent_"
"""What the product's tables begin with; nobody watches them through a function of the team's."""

_CACHED: Final = 2_000
_WORD: Final = re.compile(r"\w+")
_LOCKING: Final = re.compile(r"\bfor\s+(no\s+key\s+)?update\b", re.IGNORECASE)
_WRITING: Final = re.compile(
    r"\b(insert\s+into|update|delete\s+from|merge\s+into|truncate|copy|call|do)\b", re.IGNORECASE
)

_SAYS_ROWS: Final = re.compile(r"\s*(insert|update|delete)\b", re.IGNORECASE)


class Vocabulary:
    """The tables of some metadata, as they are when they are asked for."""

    def __init__(self, metadata: MetaData) -> None:
        self._metadata = metadata
        self._known: tuple[int, frozenset[str]] = (-1, frozenset())
        self.named_in = lru_cache(_CACHED)(self._named_in)
        """Returns the tables that a statement's text names."""
        self.is_writing = lru_cache(_CACHED)(_is_writing)
        """Returns whether a statement writes anything, by its text."""

    def refresh(self) -> None:
        """Take notice of tables that were declared since."""
        size = len(self._metadata.tables)
        if size != self._known[0]:
            names = (table.name for table in self._metadata.tables.values())
            self._known = size, frozenset(name for name in names if not name.startswith(OURS))
            self.named_in.cache_clear()

    def touched_with(self, table: str, *, is_gone: bool) -> frozenset[str]:
        """Return the tables that the database itself changes along with this one.

        Args:
            table: rows of it were written; it may be among those that it touches.
            is_gone: rows of it may have been deleted.
        """
        found: set[str] = set()
        waiting = [(table, is_gone)]
        while waiting:
            written, is_gone = waiting.pop()
            for other in self._metadata.tables.values():
                if other.name not in found and _follows(other, written, is_gone=is_gone):
                    found.add(other.name)
                    waiting.append((other.name, True))
        return frozenset(found)

    def _named_in(self, statement: str) -> frozenset[str]:
        words = {word.lower() for word in _WORD.findall(statement)}
        return frozenset(name for name in self._known[1] if _words_of(name) <= words)


def says_rows(statement: str) -> bool:
    """Return whether what the driver counts are the rows that a statement wrote."""
    return _SAYS_ROWS.match(statement) is not None


def _words_of(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))


def _is_writing(statement: str) -> bool:
    return _WRITING.search(_LOCKING.sub("", statement)) is not None


def _follows(table: Table, written: str, *, is_gone: bool) -> bool:
    return any(
        key.column.table.name == written
        and ((is_gone and key.ondelete is not None) or key.onupdate is not None)
        for key in table.foreign_keys
    )
