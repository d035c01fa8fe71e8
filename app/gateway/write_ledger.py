"""Finds the writes that nobody announced, by the counters that Postgres keeps of each table.

A writer may die between its commit and its word, and other programs say nothing at all.  Every
row that is written is counted, though: what was counted and not heard of was missed.

A counter moves up to ten seconds after the write, and a write that was rolled back is counted
too.  So what was heard of explains a count for a while, and not for longer.  Meanwhile it may
explain the count of another write, that nobody told of:

* while a table is written all the time, something is always told and not counted yet;
* a counter may move before the word has come, which then explains nothing any more.

Neither can be told from peace by counting, so a table in such doubt is taken for written, once in
that while.
"""

from collections import deque
from collections.abc import Iterable, Mapping

EXPLAINS_S = 12.0
"""For so long: what Postgres takes to count a write, and a look at the counters."""

FORGOTTEN_S = 2 * EXPLAINS_S
"""No look is so late.  Some tables have no counters (a view, a table that others partition), and
what is told of them would be kept for a look that never comes."""

LATE_S = 1.0
"""For so long after a count the word for it may still come; it takes milliseconds."""


class _Account:
    __slots__ = ("counted", "heard", "is_in_doubt", "level_at", "missed_at")

    def __init__(self) -> None:
        self.counted: int | None = None
        """The counter at the last look."""
        self.heard: deque[tuple[float, int]] = deque()
        """When, and of how many rows that no count has told of yet."""
        self.level_at = 0.0
        """When all that was told was counted, and no more; or the table was taken for written."""
        self.missed_at = -LATE_S
        """When something was counted that nobody had told of."""
        self.is_in_doubt = False
        """Whether a word came shortly after that: for what was counted, or for something else."""


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
        if account is not None and rows > 0:
            account.heard.append((now, rows))
            while now - account.heard[0][0] > FORGOTTEN_S:
                account.heard.popleft()
            account.is_in_doubt |= now - account.missed_at <= LATE_S

    def missed(self, counters: Mapping[str, int], now: float) -> set[str]:
        """Return the tables that were, or may have been, written without a word.

        A table that is looked at for the first time is among them: what was written before this
        look, and after its watchers read it, is in no difference.
        """
        return {
            table
            for table, account in self._accounts.items()
            if table in counters and _is_missed(account, counters[table], now)
        }


def _is_missed(account: _Account, counted: int, now: float) -> bool:
    if _is_unexplained(account, counted, now):
        account.missed_at = account.level_at = now
        return True
    if account.is_in_doubt and now - account.missed_at > EXPLAINS_S:
        account.is_in_doubt = False
        account.level_at = now
        return True
    if not account.heard:
        account.level_at = now
    elif now - account.level_at > EXPLAINS_S:
        account.level_at = now
        return True
    return False


def _is_unexplained(account: _Account, counted: int, now: float) -> bool:
    """Take what was counted since the last look from what was told; return if it is more."""
    before, account.counted = account.counted, counted
    heard = account.heard
    if before is None or counted < before:  # the first look, or the counters began anew
        heard.clear()
        return True
    unexplained = counted - before
    while heard and unexplained > 0:
        at, rows = heard.popleft()
        if rows > unexplained:
            heard.appendleft((at, rows - unexplained))
        unexplained = max(0, unexplained - rows)
    while heard and now - heard[0][0] > EXPLAINS_S:
        heard.popleft()
    return unexplained > 0
