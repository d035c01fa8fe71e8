"""Which queries a write touches: an index of what each of them has read."""

from typing import Generic, TypeVar

from app.domain.tables import Keys, Reads, is_mark

Reader = TypeVar("Reader")


class Dependencies(Generic[Reader]):
    """Readers by table, and by rows of a table."""

    def __init__(self) -> None:
        self._of_table: dict[str, set[Reader]] = {}
        """Those that read any row."""
        self._of_rows: dict[str, dict[str, set[Reader]]] = {}
        """Those that read rows by key."""
        self._of_marks: dict[str, dict[str, set[Reader]]] = {}
        """The same ones, by how rows are named to them (``naming_mark``)."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables that anybody reads."""
        return frozenset((*self._of_table, *self._of_rows, *self._of_marks))

    def __contains__(self, table: str) -> bool:
        """Return whether anybody reads the table."""
        return any(table in each for each in (self._of_table, self._of_rows, self._of_marks))

    def replace(self, reader: Reader, before: Reads, now: Reads) -> None:
        """Note what a reader reads now, instead of what it read before."""
        for table, keys in before.items():
            self._remove(reader, table, keys)
        for table, keys in now.items():
            if keys is None:
                self._of_table.setdefault(table, set()).add(reader)
            for key in keys or ():
                self._index(key).setdefault(table, {}).setdefault(key, set()).add(reader)

    def touched_by(self, table: str, keys: Keys) -> set[Reader]:
        """Return who has read what is written; ``None``: any row."""
        touched = set(self._of_table.get(table, ()))
        rows = self._of_rows.get(table, {})
        for key in rows if keys is None else keys:
            touched |= rows.get(key, set())
        for mark, readers in self._of_marks.get(table, {}).items():
            if keys is None or mark not in keys:
                touched |= readers
        return touched

    def _index(self, key: str) -> dict[str, dict[str, set[Reader]]]:
        return self._of_marks if is_mark(key) else self._of_rows

    def _remove(self, reader: Reader, table: str, keys: Keys) -> None:
        if keys is None:
            readers = self._of_table[table]
            readers.discard(reader)
            if not readers:
                del self._of_table[table]
        for key in keys or ():
            index = self._index(key)
            rows = index[table]
            rows[key].discard(reader)
            if not rows[key]:
                del rows[key]
            if not rows:
                del index[table]
