"""What one transaction has read and written so far."""

from collections.abc import Mapping

from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.orm import UOWTransaction

from app.domain.tables import MAX_READ_KEYS, Keys, TableWrite, both_keys, both_writes
from app.tracking.flush import Flush
from app.tracking.row_keys import keys_read
from app.tracking.vocabulary import Vocabulary


class Tracker:
    """Notes statements, flushed objects, and what the author says.

    Attributes:
        reads: what was read, by table; kept for queries.
        writes: what was written, by table.
    """

    def __init__(self, vocabulary: Vocabulary, reads: dict[str, Keys] | None = None) -> None:
        self.reads = {} if reads is None else reads
        self.writes: dict[str, TableWrite] = {}
        self._vocabulary = vocabulary
        vocabulary.refresh()
        self._flush: Flush | None = None

    def sent(self, text: str, statement: object, parameters: Mapping[str, object]) -> None:
        """Note a statement that is about to run; see ``keys_read``."""
        tables = self._vocabulary.named_in(text)
        only = next(iter(tables)) if len(tables) == 1 else ""
        keys = keys_read(statement, text, only, parameters) if only else None
        for table in tables:
            known = self.reads.get(table, frozenset())
            self.reads[table] = both_keys(known, keys, MAX_READ_KEYS)

    def done(self, text: str, rows: int) -> None:
        """Note a statement that has run.

        Args:
            text: of the statement.
            rows: how many it wrote, as far as the driver says.
        """
        if not self._vocabulary.is_writing(text):
            return
        tables = self._vocabulary.named_in(text)
        if self._flush is not None:
            self._flush.tables |= tables
            return
        for table in tables:
            self._wrote(table, TableWrite(max(rows, 0), None))
            self._follow(table)

    def flush_begins(self, session: SyncSession) -> None:
        """Take what is sent from here on for the work of a flush."""
        flush = Flush()
        flush.look_before(session)
        self._flush = flush

    def flushed(self, work: UOWTransaction) -> None:
        """Note what a flush wrote."""
        flush, self._flush = self._flush, None
        if flush is None:
            return
        for table, write, is_gone in flush.writes(work):
            self._wrote(table, write)
            if is_gone:
                self._follow(table)

    def flush_failed(self) -> None:
        """Forget a flush that was rolled back."""
        self._flush = None

    def touch(self, table: str) -> None:
        """Take any row of the table for written."""
        self._wrote(table, TableWrite(0, None))

    def read(self, table: str) -> None:
        """Take the whole table for read."""
        self.reads[table] = None

    def _wrote(self, table: str, write: TableWrite) -> None:
        self.writes = both_writes(self.writes, {table: write})

    def _follow(self, table: str) -> None:
        for other in self._vocabulary.touched_with(table):
            self.touch(other)
