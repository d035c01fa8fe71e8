"""Which queries a write touches: an index of what each of them has read."""

from typing import Generic, TypeVar

from app.domain.tables import Keys, Reads

Reader = TypeVar("Reader")


class Dependencies(Generic[Reader]):
    """Readers by table, and by rows of a table."""

    def __init__(self) -> None:
        self._of_table: dict[str, set[Reader]] = {}
        """Those that read any row."""
        self._of_rows: dict[str, dict[str, set[Reader]]] = {}
        """Those that read rows by key."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables that anybody reads."""
        return frozenset((*self._of_table, *self._of_rows))

    def __contains__(self, table: str) -> bool:
        """Return whether anybody reads the table."""
        return table in self._of_table or table in self._of_rows

    def replace(self, reader: Reader, before: Reads, now: Reads) -> None:
        """Note what a reader reads now, instead of what it read before."""
        for table, keys in before.items():
            self._remove(reader, table, keys)
        for table, keys in now.items():
            if keys is None:
                self._of_table.setdefault(table, set()).add(reader)
            for key in keys or ():
                self._of_rows.setdefault(table, {}).setdefault(key, set()).add(reader)

    def touched_by(self, table: str, keys: Keys) -> set[Reader]:
        """Return who has read what is written; ``None``: any row."""
        touched = set(self._of_table.get(table, ()))
        rows = self._of_rows.get(table, {})
        for key in rows if keys is None else keys:
            touched |= rows.get(key, set())
        return touched

    def _remove(self, reader: Reader, table: str, keys: Keys) -> None:
        if keys is None:
            readers = self._of_table[table]
            readers.discard(reader)
            if not readers:
                del self._of_table[table]
        for key in keys or ():
            rows = self._of_rows[table]
            rows[key].discard(reader)
            if not rows[key]:
                del rows[key]
            if not rows:
                del self._of_rows[table]
