"""What one flush of a session writes, row by row where that can be known.

A row is told by what names it before and after.  What it was before may not be what the object
remembers: another transaction may have changed it since it was loaded.  So rows that are told by
more than their primary key are locked and looked at before they are written.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Column, inspect, select, tuple_
from sqlalchemy.orm import Mapper, UOWTransaction
from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.orm.state import InstanceState

from app.domain.tables import MAX_WRITTEN_KEYS, Keys, TableWrite, both_keys, row_key
from app.tracking.row_keys import can_name, mark_of, names_rows


class Flush:
    """One flush, from before its first statement to after its last.

    Attributes:
        rows: how many its statements wrote, by table.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._before: dict[InstanceState[Any], Mapping[str, object]] = {}
        """By row that is there already: the values that name it, locked."""

    def look_before(self, session: SyncSession) -> None:
        """Lock the rows that are about to be written, as far as they are known by now."""
        by_mapper: dict[Mapper[Any], list[InstanceState[Any]]] = defaultdict(list)
        changed = [one for one in session.dirty if session.is_modified(one)]
        for one in (*changed, *session.deleted):
            state: InstanceState[Any] = inspect(one)
            by_mapper[state.mapper].append(state)
        for mapper, states in by_mapper.items():
            if _needs_a_look(mapper) and len(states) <= MAX_WRITTEN_KEYS:
                self._look(session, mapper, states)

    def _look(
        self, session: SyncSession, mapper: "Mapper[Any]", states: list["InstanceState[Any]"]
    ) -> None:
        keys = mapper.primary_key
        by_identity = {state.key[1]: state for state in states if state.key is not None}
        found = session.connection().execute(
            select(*keys, *_naming(mapper))
            .where(tuple_(*keys).in_(by_identity))
            .order_by(*keys)
            .with_for_update(key_share=True)
        )
        names = [column.name for column in _naming(mapper)]
        for row in found:
            state = by_identity.get(tuple(row[: len(keys)]))
            if state is not None:
                self._before[state] = dict(zip(names, row[len(keys) :], strict=True))

    def wrote(self, table: str, rows: int) -> None:
        """Note a statement of it."""
        self.rows[table] = self.rows.get(table, 0) + rows

    def writes(self, work: UOWTransaction) -> Iterator[tuple[str, TableWrite, bool]]:
        """Yield table, write, and whether a row may have gone; called when all is written."""
        keys: dict[str, Keys] = {}
        marks: dict[str, str] = {}
        objects: Counter[str] = Counter()
        gone: set[str] = set()
        for state, (is_gone, is_listed_only) in work.states.items():
            if is_listed_only and not is_gone:
                continue
            # One that is deleted, and only listed, was replaced by another with its key.
            tables = {str(getattr(table, "name", "")) for table in state.mapper.tables}
            found = self._keys(state, is_gone=is_gone) if len(tables) == 1 else None
            for table in tables & set(self.rows):
                if found is not None and table not in marks:
                    marks[table] = mark_of(state.mapper.local_table)
                keys[table] = both_keys(keys.get(table, frozenset()), found, MAX_WRITTEN_KEYS)
                objects[table] += 1
                gone |= {table} if is_gone else set()
        for table, rows in self.rows.items():
            if rows > objects[table]:  # rows without an object, that tie two tables together
                keys[table] = None
                gone.add(table)
            told = keys.get(table)
            if told is not None:
                told |= {marks[table]}
            yield table, TableWrite(rows, told), table in gone

    def _keys(self, state: "InstanceState[Any]", *, is_gone: bool) -> Keys:
        """Return what names a row before and after; ``None`` if that is not known."""
        before = self._before.get(state, {})
        if not before and state.key is not None and _needs_a_look(state.mapper):
            return None
        identity = state.key[1] if state.key is not None else ()
        keys = dict(zip(state.mapper.primary_key, identity, strict=False))
        found: set[str] = set()
        for column in _naming(state.mapper):
            name = state.mapper.get_property_by_column(column).key
            values: list[object] = []
            if column.name in before:
                values.append(before[column.name])
            if column in keys:
                values.append(keys[column])
            if not is_gone and name in state.dict:
                values.append(state.dict[name])
            elif not is_gone and column not in keys:
                return None  # not loaded, or made by the database
            for value in values:
                if can_name(value, column):
                    found.add(row_key(column.name, value))
                elif value is not None:
                    return None
        return frozenset(found)


def _naming(mapper: "Mapper[Any]") -> list["Column[Any]"]:
    return [column for column in mapper.columns if names_rows(column)]


def _needs_a_look(mapper: "Mapper[Any]") -> bool:
    """Return whether more than the primary key names the rows of one table."""
    return len(mapper.tables) == 1 and any(not column.primary_key for column in _naming(mapper))
