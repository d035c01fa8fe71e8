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

    def touched_with(self, table: str) -> frozenset[str]:
        """Return the tables that the database itself changes when rows of this one go."""
        found: set[str] = set()
        waiting = [table]
        while waiting:
            gone = waiting.pop()
            for other in self._metadata.tables.values():
                if other.name not in found and other.name != table and _follows(other, gone):
                    found.add(other.name)
                    waiting.append(other.name)
        return frozenset(found)

    def _named_in(self, statement: str) -> frozenset[str]:
        words = {word.lower() for word in _WORD.findall(statement)}
        return frozenset(name for name in self._known[1] if _words_of(name) <= words)


def _words_of(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))


def _is_writing(statement: str) -> bool:
    return _WRITING.search(_LOCKING.sub("", statement)) is not None


def _follows(table: Table, gone: str) -> bool:
    return any(
        key.ondelete is not None and key.column.table.name == gone for key in table.foreign_keys
    )
