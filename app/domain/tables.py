"""What a function read and wrote of the team's tables, as far as watchers need to know.

A watcher that read rows by a key (``WHERE thread_key = 'a'``) need not hear of other rows.  So
both sides name rows by the hashes of their keys, and ``None`` stands for "any row": it is always
right, and only less exact.

Both have to name rows by the same columns.  Two releases that run side by side may not (a column
has an index from now on), so each says with its keys by which it does: see ``naming_mark``.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

MAX_WRITTEN_KEYS = 32
"""Row keys of one table that are told; more of them are "any row"."""

MAX_READ_KEYS = 500
"""Row keys that a watcher may name; one that names more depends on the table."""

THREADS = "agent_threads"
"""Stands for all that is about threads: each change of a thread, its runs or its approvals is one
of its row."""

OVERRIDES = "agent_overrides"
GOVERNANCE = "agent_governance"
AUDIT = "agent_audit"
"""With ``THREADS`` the only tables of the product's that queries may depend on."""

Keys: TypeAlias = frozenset[str] | None
"""Hashes of row keys, and the mark of who told them; ``None``: any row."""

Reads: TypeAlias = Mapping[str, Keys]
"""What a query depends on, by table."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """What was written of one table.

    Attributes:
        rows: how many, as Postgres counts them in its statistics, for who compares the two; never
            more, or a write that nobody announces could be taken for this one.
        keys: of the rows as they were, and as they are.
    """

    rows: int
    keys: Keys


TableWrites: TypeAlias = Mapping[str, TableWrite]
"""What a transaction wrote, by table."""


def row_key(column: str, value: int | str | UUID) -> str:
    """Return the hash that names the rows with this value in this column."""
    text = f"{column}={value}"
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def naming_mark(columns: Iterable[str]) -> str:
    """Return the mark of a release to which the rows of a table are named by these columns."""
    return "=" + row_key(",".join(sorted(columns)), "")


def is_mark(key: str) -> bool:
    """Return whether it is what ``naming_mark`` returned, and no row's key."""
    return key.startswith("=")


def meet(read: Keys, written: Keys) -> bool:
    """Return whether rows that were read may be among those that are written.

    A writer who does not name rows as the reader does says too little to him: any row is meant.
    """
    if read is None or written is None:
        return True
    return any(is_mark(key) != (key in written) for key in read)


def both_keys(one: Keys, other: Keys, limit: int) -> Keys:
    """Return the keys of both; too many are any row."""
    if one is None or other is None:
        return None
    union = one | other
    return union if len(union) <= limit else None


def both_writes(one: TableWrites, other: TableWrites) -> dict[str, TableWrite]:
    """Return what two transactions wrote."""
    merged = dict(one)
    for table, write in other.items():
        known = merged.get(table)
        merged[table] = (
            write
            if known is None
            else TableWrite(
                known.rows + write.rows, both_keys(known.keys, write.keys, MAX_WRITTEN_KEYS)
            )
        )
    return merged


def uncounted(writes: TableWrites) -> dict[str, TableWrite]:
    """Return what was written as it is told again: it may have been counted before."""
    return {table: TableWrite(0, write.keys) for table, write in writes.items()}


def writes_to_json(writes: TableWrites) -> dict[str, list[object]]:
    """Return ``{TABLE: [ROWS, [KEY, ...] | null]}``."""
    return {
        table: [write.rows, None if write.keys is None else sorted(write.keys)]
        for table, write in writes.items()
    }


def writes_from_json(stored: Mapping[str, object]) -> dict[str, TableWrite]:
    """Return what ``writes_to_json`` said.

    Raises:
        ValueError: it did not say this.
    """
    found: dict[str, TableWrite] = {}
    for table, entry in stored.items():
        match entry:
            case [int(rows), None]:
                found[table] = TableWrite(rows, None)
            case [int(rows), list(keys)]:
                found[table] = TableWrite(rows, frozenset(map(str, keys)))
            case _:
                raise ValueError(f"{table}: rows and keys were expected")
    return found
