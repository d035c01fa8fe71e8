"""Random queries on a random schema: by key, in lists, ranges, joins, relationships, plain SQL."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import and_, exists, func, or_, select, text
from sqlalchemy.ext.asyncio import AsyncSession as PlainSession
from sqlalchemy.orm import aliased, joinedload, selectinload, subqueryload

from app.domain.errors import NotFound
from app.tracking import Session
from tests.support.reactive.schema import ColumnSpec, Schema, TableSpec

Answer: TypeAlias = list[list[str]]


@dataclass(frozen=True)
class Read:
    """A query, and how a person would say it."""

    says: str
    body: Callable[[Session], Awaitable[Answer]]


async def execute(db: Session, statement: Any, *values: Any) -> Any:  # noqa: ANN401
    """Execute a statement of any kind."""
    return await PlainSession.execute(db, statement, *values)


def random_read(chance: random.Random, schema: Schema) -> Read:
    """Return a query."""
    table = chance.choice(schema.tables)
    made = chance.choice(_FORMS)(chance, schema, table)
    return made if made is not None else _by_column(chance, schema, table)


def _rows(found: Sequence[Any]) -> Answer:
    return sorted([str(value) for value in row] for row in found)


def _columns(table: TableSpec) -> list[Any]:
    return [getattr(table.model, each.name) for each in table.columns]


def _shown(table: TableSpec, row: Any) -> list[str]:  # noqa: ANN401
    return [str(getattr(row, each.name)) for each in table.columns]


def _value(chance: random.Random, column: ColumnSpec) -> Any:  # noqa: ANN401
    return chance.choice([each for each in column.values if each is not None])


def _naming(chance: random.Random, table: TableSpec) -> ColumnSpec:
    naming = [each for each in table.columns if each.names_rows]
    others = [each for each in naming if each not in table.key]  # of these rows come and go
    if others and chance.random() < 0.7:
        return chance.choice(others)
    return chance.choice(naming or list(table.columns))


def _of(table: TableSpec, column: ColumnSpec) -> Any:  # noqa: ANN401
    return getattr(table.model, column.name)


def _plain(statement: Any, says: str) -> Read:  # noqa: ANN401
    async def body(db: Session) -> Answer:
        return _rows((await execute(db, statement)).all())

    return Read(says, body)


def _by_key(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    key = tuple(_value(chance, each) for each in table.key)
    must_be = chance.random() < 0.3

    async def body(db: Session) -> Answer:
        row = await db.get(table.model, key)
        if row is None and must_be:
            raise NotFound("no such row")
        return [] if row is None else [_shown(table, row)]

    return Read(f"{table.name} with key {key}", body)


def _by_column(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    column = _naming(chance, table)
    value = _value(chance, column)
    if column.kind == "uuid" and chance.random() < 0.3:
        value = str(value).upper()
    statement = select(*_columns(table)).where(_of(table, column) == value)
    if chance.random() < 0.4:
        other = chance.choice(table.columns)
        statement = statement.where(_of(table, other).is_not(None))
    if chance.random() < 0.3:
        keys = [_of(table, each) for each in table.key]
        statement = statement.order_by(*keys).limit(chance.randint(1, 3))
    return _plain(statement, f"{table.name} where {column.name} = {value!r}")


def _in_list(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    column = _naming(chance, table)
    values = [_value(chance, column) for _ in range(chance.randint(0, 3))]
    statement = select(func.count()).select_from(table.model).where(_of(table, column).in_(values))
    return _plain(statement, f"how many {table.name} with {column.name} in {values}")


def _range(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    column = chance.choice(table.columns)
    of = _of(table, column)
    value = _value(chance, column)
    condition = chance.choice([of != value, of.is_(None), or_(of == value, of.is_(None))])
    if column.kind in {"int", "str", "date"}:
        condition = chance.choice([condition, of >= value, of.between(value, value)])
    return _plain(
        select(*_columns(table)).where(condition), f"{table.name} around {column.name} {value!r}"
    )


def _join(chance: random.Random, schema: Schema, table: TableSpec) -> Read | None:
    del schema
    if not table.parents:
        return None
    column, parent = chance.choice(table.parents)
    other = aliased(parent.model)
    joined = getattr(table.model, column) == getattr(other, parent.key[0].name)
    naming = _naming(chance, table)
    statement = (
        select(*_columns(table), *(getattr(other, each.name) for each in parent.columns))
        .join(other, joined, isouter=chance.random() < 0.5)
        .where(_of(table, naming) == _value(chance, naming))
    )
    return _plain(statement, f"{table.name} where {naming.name}, with {parent.name}")


def _aggregate(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    group = chance.choice(table.columns)
    naming = _naming(chance, table)
    statement = select(_of(table, group), func.count()).group_by(_of(table, group))
    if chance.random() < 0.6:
        statement = statement.where(_of(table, naming) == _value(chance, naming))
    if chance.random() < 0.3:
        statement = statement.having(func.count() > 1)
    return _plain(statement, f"{table.name} by {group.name}, of {naming.name}")


def _first_ones(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    statement = (
        select(*_columns(table))
        .order_by(*(_of(table, each) for each in table.key))
        .limit(chance.randint(1, 3))
        .offset(chance.randint(0, 1))
    )
    return _plain(statement, f"the first {table.name}")


def _subquery(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    other = chance.choice(schema.tables)
    inner = aliased(other.model)
    naming = _naming(chance, table)
    has = exists(
        select(getattr(inner, other.key[0].name)).where(
            getattr(inner, other.columns[-1].name).is_not(None)
        )
    )
    statement = select(*_columns(table)).where(
        and_(
            _of(table, naming) == _value(chance, naming),
            has if chance.random() < 0.5 else ~has,
        )
    )
    return _plain(statement, f"{table.name} by {naming.name} if there are {other.name}")


def _by_hand(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    other = chance.choice(schema.tables)
    columns = ", ".join(f't."{each.name}"' for each in table.columns)
    column = chance.choice(table.columns)
    statement = text(
        f'SELECT {columns} FROM "{table.name}" t'  # noqa: S608
        f' WHERE t."{column.name}" IS NOT NULL'
        f' AND (SELECT count(*) FROM "{other.name}") > {chance.randint(0, 2)}'
    )
    return _plain(statement, f"{table.name} and {other.name} by hand")


def _with_relations(chance: random.Random, schema: Schema, table: TableSpec) -> Read | None:
    del schema
    related = [*table.lists, *table.singles]
    if not related:
        return None
    name, other = chance.choice(related)
    load = chance.choice([selectinload, joinedload, subqueryload])
    naming = _naming(chance, table)
    statement = select(table.model).options(load(getattr(table.model, name)))
    if chance.random() < 0.6:
        statement = statement.where(_of(table, naming) == _value(chance, naming))
    return Read(
        f"{table.name} of {naming.name} with {name}", _loading(table, statement, name, other)
    )


def _loading(
    table: TableSpec,
    statement: Any,  # noqa: ANN401
    name: str,
    other: TableSpec,
) -> Callable[[Session], Awaitable[Answer]]:
    async def body(db: Session) -> Answer:
        found = (await execute(db, statement)).unique().scalars().all()
        rows: Answer = []
        for row in found:
            value = getattr(row, name)
            if not isinstance(value, list):
                value = [] if value is None else [value]
            related = sorted(_shown(other, each) for each in value)
            rows.append([*_shown(table, row), *(cell for each in related for cell in each)])
        return sorted(rows)

    return body


def _in_two_steps(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    other = chance.choice(schema.tables)
    naming = _naming(chance, table)
    value = _value(chance, naming)
    theirs = _naming(chance, other)

    async def body(db: Session) -> Answer:
        statement = select(*_columns(table)).where(_of(table, naming) == value)
        found = _rows((await execute(db, statement)).all())
        if len(found) % 2:
            return found
        more = select(*_columns(other)).where(_of(other, theirs) == theirs.values[0])
        return found + _rows((await execute(db, more)).all())

    return Read(f"{table.name} of {naming.name} {value!r}, and perhaps {other.name}", body)


def _with_itself(chance: random.Random, schema: Schema, table: TableSpec) -> Read:
    del schema
    other = aliased(table.model)
    naming = _naming(chance, table)
    statement = select(*_columns(table)).where(
        _of(table, naming) == _value(chance, naming),
        select(func.count()).select_from(other).scalar_subquery() > 1,
    )
    return _plain(statement, f"{table.name} of {naming.name} if there are more")


_FORMS: list[Callable[[random.Random, Schema, TableSpec], Read | None]] = [
    _by_key,
    _by_key,
    _by_column,
    _by_column,
    _by_column,
    _in_list,
    _in_list,
    _range,
    _join,
    _aggregate,
    _first_ones,
    _subquery,
    _by_hand,
    _with_relations,
    _with_relations,
    _in_two_steps,
    _with_itself,
]
