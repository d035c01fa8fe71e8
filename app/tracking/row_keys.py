"""Rows by key: which columns name rows, and which statement reads no others.

Only a statement whose result can depend on no other row is taken to read by key: one table, named
once, and a condition that holds for rows with one of the given values in a *naming* column and for
nothing else.  What is not recognised reads the table.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard
from uuid import UUID

from sqlalchemy import (
    BIGINT,
    INTEGER,
    SMALLINT,
    TEXT,
    VARCHAR,
    BigInteger,
    Column,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    Unicode,
    UnicodeText,
    Uuid,
)
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BindParameter,
    BooleanClauseList,
    Grouping,
)
from sqlalchemy.sql.selectable import Select
from sqlmodel.sql.sqltypes import AutoString

from app.domain.tables import naming_mark, row_key

Value: TypeAlias = int | str | UUID

_MARK: Final = "ropewalk_mark"
_MAX_VALUES: Final = 50
"""Values of an ``IN`` that are taken for keys."""
_INTEGERS: Final = frozenset({Integer, BigInteger, SmallInteger, INTEGER, BIGINT, SMALLINT})
_TEXTS: Final = frozenset({String, Text, Unicode, UnicodeText, VARCHAR, TEXT, AutoString})
"""Of exactly these types: others that derive from them compare in ways of their own (CITEXT, CHAR,
enums)."""
_SOURCE: Final = re.compile(r"\bfrom\b", re.IGNORECASE)
_ONE_TABLE: Final = re.compile(r'\bfrom\s+"?[\w.]+"?\s+where\b', re.IGNORECASE)
_MORE_TABLES: Final = re.compile(r"\b(join|union|intersect|except|with|table)\b", re.IGNORECASE)


def names_rows(column: "Column[Any]") -> bool:
    """Return whether rows are told by their value in this column.

    A key, or a column that somebody looks rows up by: indexed, unique, a foreign key.  Its type is
    one whose values compare in the database as they do here.
    """
    if _python_type(column) is None or getattr(column.type, "collation", None) is not None:
        return False
    is_key = column.primary_key and len(column.table.primary_key) == 1
    return bool(is_key or column.index or column.unique or column.foreign_keys)


def mark_of(table: Table) -> str:
    """Return the mark of a release that has the table so: by which values it names its rows."""
    known = table.info.get(_MARK)
    if known is None:
        named = (column for column in table.columns if names_rows(column))
        known = naming_mark(f"{column.name} {_python_type(column)}" for column in named)
        table.info[_MARK] = known
    return str(known)


def can_name(value: object, column: "Column[Any]") -> TypeGuard[Value]:
    """Return whether a value is written in one way only, so that it can name rows.

    A bool is an int; a str with a name of its own (an enum) is stored by that name, perhaps; and
    the str of a UUID may be upper case.
    """
    expected = _python_type(column)
    return isinstance(value, UUID) if expected is UUID else type(value) is expected


def _python_type(column: "Column[Any]") -> type[Value] | None:
    kind = column.type
    if type(kind) in _INTEGERS:
        return int
    if type(kind) in _TEXTS:
        return str
    return UUID if isinstance(kind, Uuid) and kind.as_uuid else None


def keys_read(
    statement: object, text: str, table: str, parameters: Mapping[str, object]
) -> frozenset[str] | None:
    """Return the keys of the rows that a statement can depend on; ``None``: any.

    Args:
        statement: as the session was given it.
        text: what is sent, joins that were added included; it names ``table`` alone.
        table: its name.
        parameters: values by the name of their place, for those that were given apart.
    """
    if not isinstance(statement, Select) or statement.whereclause is None:
        return None
    if len(_SOURCE.findall(text)) != 1 or not _ONE_TABLE.search(text):
        return None
    if _MORE_TABLES.search(text):
        return None
    found = [
        keys
        for term in _terms(statement.whereclause)
        if (keys := _keys_of(term, table, parameters)) is not None
    ]
    # Each alone is enough; the fewest rows are the best.
    return min(found, key=len, default=None)


def _terms(condition: object) -> Iterable[object]:
    """Yield the terms that all have to hold."""
    match condition:
        case BooleanClauseList(operator=operators.and_):
            for term in condition.clauses:
                yield from _terms(term)
        case Grouping():
            yield from _terms(condition.element)
        case _:
            yield condition


def _keys_of(term: object, table: str, parameters: Mapping[str, object]) -> frozenset[str] | None:
    if not isinstance(term, BinaryExpression):
        return None
    for column, other in ((term.left, term.right), (term.right, term.left)):
        if not (isinstance(column, Column) and isinstance(column.table, Table)):
            continue
        if column.table.name != table or not names_rows(column):
            continue
        values = _values(term, other, parameters)
        if values is not None and all(can_name(value, column) for value in values):
            keys = frozenset(row_key(column.name, value) for value in values)
            return keys and keys | {mark_of(column.table)}
    return None


def _values(
    term: "BinaryExpression[Any]", other: object, parameters: Mapping[str, object]
) -> list[Any] | None:
    if not isinstance(other, BindParameter):
        return None
    given = parameters.get(other.key, other.effective_value)
    if term.operator is operators.eq:
        given = [given]
    elif term.operator is not operators.in_op or not isinstance(given, (list, tuple)):
        return None
    return list(given) if len(given) <= _MAX_VALUES else None
