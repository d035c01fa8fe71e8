"""Finds the writes that nobody announced, by the counters that Postgres keeps of each table.

A writer may die between its commit and its word, and other programs say nothing at all.  Every
row that is written is counted, though: what was counted and not heard of was missed.

A counter moves up to ten seconds after the write, and a write that was rolled back is counted
too.  So what was heard of explains a count for a while, and not for longer: then a writer that
says more than it does cannot hide one that says nothing.  And a counter may move before the word
has come: what is heard shortly after explains that count, and no later one.
"""

from collections import deque
from collections.abc import Iterable, Mapping

EXPLAINS_S = 12.0
"""For so long: what Postgres takes to count a write, and a look at the counters."""


LATE_S = 2.0
"""For so long after a count the word for it may still come; it takes milliseconds."""


class _Account:
    __slots__ = ("counted", "heard", "owed", "settled_at")

    def __init__(self) -> None:
        self.counted: int | None = None
        """The counter at the last look."""
        self.heard: deque[tuple[float, int]] = deque()
        """When, and of how many rows that no count has told of yet."""
        self.owed: deque[tuple[float, int]] = deque()
        """When, and how many rows were counted that nobody had told of yet."""
        self.settled_at = -LATE_S
        """When the counter was taken as it was."""

    def pay(self, rows: int, now: float) -> int:
        """Return how many of the rows that are told of now were not counted before."""
        if now - self.settled_at <= LATE_S:
            return 0
        while self.owed and now - self.owed[0][0] > LATE_S:
            self.owed.popleft()
        while self.owed and rows > 0:
            at, owed = self.owed.popleft()
            if owed > rows:
                self.owed.appendleft((at, owed - rows))
            rows = max(0, rows - owed)
        return rows


class WriteLedger:
    """The accounts of the watched tables.  Times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def keep(self, tables: Iterable[str]) -> None:
        """Keep accounts of these tables and no others."""
        self._accounts = {table: self._accounts.get(table, _Account()) for table in tables}

    def heard(self, table: str, rows: int, now: float) -> None:
        """Note an announcement."""
        account = self._accounts.get(table)
        if account is not None and (rows := account.pay(rows, now)) > 0:
            account.heard.append((now, rows))

    def missed(self, counters: Mapping[str, int], now: float) -> set[str]:
        """Return the tables that were written without a word since the last look.

        A table that is looked at for the first time is among them: what was written before this
        look, and after its watchers read it, is in no difference.
        """
        return {
            table
            for table, account in self._accounts.items()
            if table in counters and self._is_unexplained(account, counters[table], now)
        }

    def _is_unexplained(self, account: _Account, counted: int, now: float) -> bool:
        before, account.counted = account.counted, counted
        heard = account.heard
        if before is None or counted < before:  # the first look, or the counters began anew
            heard.clear()
            account.owed.clear()
            account.settled_at = now
            return True
        unexplained = counted - before
        while heard and unexplained > 0:
            at, rows = heard.popleft()
            if rows > unexplained:
                heard.appendleft((at, rows - unexplained))
            unexplained = max(0, unexplained - rows)
        while heard and now - heard[0][0] > EXPLAINS_S:
            heard.popleft()
        if unexplained > 0:
            account.owed.append((now, unexplained))
        return unexplained > 0
