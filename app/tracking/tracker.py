"""What one transaction has read and written so far."""

from collections.abc import Mapping

from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.orm import UOWTransaction

from app.domain.tables import (
    MAX_READ_KEYS,
    Keys,
    TableWrite,
    TableWrites,
    both_keys,
    both_writes,
    uncounted,
)
from app.tracking.flush import Flush
from app.tracking.row_keys import keys_read
from app.tracking.vocabulary import Vocabulary, says_rows


class Tracker:
    """Notes statements, flushed objects, and what the author says.

    Attributes:
        reads: what was read, by table; kept for queries.
    """

    def __init__(self, vocabulary: Vocabulary, reads: dict[str, Keys] | None = None) -> None:
        self.reads = {} if reads is None else reads
        self._writes: dict[str, TableWrite] = {}
        self._vocabulary = vocabulary
        vocabulary.refresh()
        self._flush: Flush | None = None

    @property
    def writes(self) -> TableWrites:
        """What was written, by table; not to be asked for in the middle of a flush."""
        self._end_flush()
        return self._writes

    def sent(self, text: str, statement: object, parameters: Mapping[str, object]) -> None:
        """Note a statement that is about to run; see ``keys_read``."""
        tables = self._vocabulary.named_in(text)
        only = next(iter(tables)) if len(tables) == 1 else ""
        keys = keys_read(statement, text, only, parameters) if only else None
        for table in tables:
            known = self.reads.get(table, frozenset())
            self.reads[table] = both_keys(known, keys, MAX_READ_KEYS)

    def done(self, text: str, rows: int, sets: int) -> None:
        """Note a statement that has run.

        Args:
            text: of the statement.
            rows: how many it wrote, as far as the driver says.
            sets: of parameters, when it ran with several; then the driver says nothing.
        """
        if not self._vocabulary.is_writing(text):
            return
        tables = self._vocabulary.named_in(text)
        if self._flush is not None:
            for table in tables:
                self._flush.wrote(table, max(rows, sets, 0))
            return
        is_counted = len(tables) == 1 and says_rows(text)
        for table in tables:
            self._wrote(table, TableWrite(max(rows, 0) if is_counted else 0, None))
            self._follow(table, is_gone=True)

    def flush_begins(self, session: SyncSession) -> None:
        """Take what is sent from here on for the work of a flush."""
        self._end_flush()
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
            self._follow(table, is_gone=is_gone)

    def flush_failed(self) -> None:
        """Look no longer at a flush as such: it was rolled back."""
        self._end_flush()

    def wrote_before(self, writes: TableWrites) -> None:
        """Note what was written earlier, by a call that this one repeats."""
        self._writes = both_writes(self._writes, uncounted(writes))

    def touch(self, table: str) -> None:
        """Take any row of the table for written."""
        self._wrote(table, TableWrite(0, None))

    def read(self, table: str) -> None:
        """Take the whole table for read."""
        self.reads[table] = None

    def _wrote(self, table: str, write: TableWrite) -> None:
        self._writes = both_writes(self._writes, {table: write})

    def _follow(self, table: str, *, is_gone: bool) -> None:
        for other in self._vocabulary.touched_with(table, is_gone=is_gone):
            self.touch(other)

    def _end_flush(self) -> None:
        """Take for written as a whole what came under a flush whose end was never told.

        One that finds nothing to do is not told of; what follows it is no work of its.
        """
        flush, self._flush = self._flush, None
        if flush is not None:
            for table in flush.rows:
                self.touch(table)
                self._follow(table, is_gone=True)
