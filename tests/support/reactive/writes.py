"""Random writes to a random schema: objects, relationships, statements, plain SQL, savepoints."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import delete, func, insert, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError

from app.domain.errors import Conflict
from app.tracking import Session
from tests.support.reactive.reads import execute
from tests.support.reactive.schema import ColumnSpec, Schema, TableSpec

Body: TypeAlias = Callable[[Session], Awaitable[None]]


@dataclass(frozen=True)
class Step:
    """One thing that is done, and how a person would say it."""

    says: str
    body: Body


class Draw:
    """Draws what is written."""

    def __init__(self, chance: random.Random, schema: Schema) -> None:
        self.chance = chance
        self.schema = schema

    def value(self, column: ColumnSpec) -> Any:  # noqa: ANN401
        """Return a value for a column."""
        value = self.chance.choice(column.values)
        if column.kind == "uuid" and value is not None and self.chance.random() < 0.1:
            return str(value).upper()
        return value

    def key(self, table: TableSpec) -> tuple[Any, ...]:
        """Return the key of a row that may be there."""
        return tuple(self.chance.choice([v for v in c.values if v is not None]) for c in table.key)

    def row(self, table: TableSpec) -> dict[str, Any]:
        """Return the values of a row."""
        key = dict(zip((each.name for each in table.key), self.key(table), strict=True))
        return {each.name: self.value(each) for each in table.others} | key

    def changes(self, table: TableSpec) -> dict[str, Any]:
        """Return values for some columns that are no key."""
        others = table.others
        some = self.chance.sample(others, self.chance.randint(0, min(2, len(others))))
        return {each.name: self.value(each) for each in some}


def random_write(chance: random.Random, schema: Schema) -> list[Step]:
    """Return what one transaction does."""
    draw = Draw(chance, schema)
    steps = [_step(draw) for _ in range(chance.choice([1, 1, 1, 2, 2, 3]))]
    if chance.random() < 0.15:
        begin = chance.randrange(len(steps))
        steps[begin:] = [_nested(steps[begin:], is_kept=chance.random() < 0.5)]
        steps += [_step(draw)] if chance.random() < 0.5 else []
    if chance.random() < 0.1:
        steps.append(Step("and fail", _fail))
    return steps


def _step(draw: Draw) -> Step:
    table = draw.chance.choice(draw.schema.tables)
    made = draw.chance.choice(_FORMS)(draw, table)
    if draw.chance.random() < 0.3:
        return Step(f"{made.says}, at once", _flushed(made.body, draw.chance.random() * 0.003))
    return made


def _flushed(body: Body, pause_s: float) -> Body:
    async def run(db: Session) -> None:
        await body(db)
        await db.flush()
        await asyncio.sleep(pause_s)

    return run


def _nested(steps: list[Step], *, is_kept: bool) -> Step:
    async def run(db: Session) -> None:
        nested = await db.begin_nested()
        try:
            for step in steps:
                await step.body(db)
            await db.flush()
        except IntegrityError:
            await nested.rollback()
            return
        await (nested.commit() if is_kept else nested.rollback())

    inner = "; ".join(each.says for each in steps)
    return Step(f"[{inner}] {'kept' if is_kept else 'taken back'}", run)


async def _fail(db: Session) -> None:
    await db.flush()
    raise Conflict("this is not to be")


def _add(draw: Draw, table: TableSpec) -> Step:
    row = draw.row(table)

    async def run(db: Session) -> None:
        if await db.get(table.model, tuple(row[each.name] for each in table.key)) is None:
            db.add(table.model(**row))

    return Step(f"add to {table.name} {row}", run)


def _change(draw: Draw, table: TableSpec) -> Step:
    key, changes = draw.key(table), draw.changes(table)

    async def run(db: Session) -> None:
        row = await db.get(table.model, key)
        if row is not None:
            for name, value in changes.items():
                setattr(row, name, value)

    return Step(f"change {table.name} {key} to {changes}", run)


def _rename(draw: Draw, table: TableSpec) -> Step:
    key, to = draw.key(table), draw.key(table)

    async def run(db: Session) -> None:
        row, taken = await db.get(table.model, key), await db.get(table.model, to)
        if row is not None and taken is None:
            for column, value in zip(table.key, to, strict=True):
                setattr(row, column.name, value)
            await db.flush()

    return Step(f"rename {table.name} {key} to {to}", run)


def _compute(draw: Draw, table: TableSpec) -> Step:
    texts = [each for each in table.others if each.kind == "str" and len(each.values) > 4]
    if not texts:
        return _change(draw, table)
    key, column = draw.key(table), draw.chance.choice(texts)

    async def run(db: Session) -> None:
        row = await db.get(table.model, key)
        if row is not None:
            setattr(row, column.name, func.lower(getattr(table.model, column.name)))

    return Step(f"compute {table.name} {key} {column.name}", run)


def _remove(draw: Draw, table: TableSpec) -> Step:
    key = draw.key(table)

    async def run(db: Session) -> None:
        row = await db.get(table.model, key)
        if row is not None:
            await db.delete(row)

    return Step(f"delete {table.name} {key}", run)


def _replace(draw: Draw, table: TableSpec) -> Step:
    new = draw.row(table)
    key = tuple(new[each.name] for each in table.key)

    async def run(db: Session) -> None:
        row = await db.get(table.model, key)
        if row is not None:
            await db.delete(row)
            db.add(table.model(**new))

    return Step(f"replace {table.name} by {new}", run)


def _merge(draw: Draw, table: TableSpec) -> Step:
    row = draw.row(table)

    async def run(db: Session) -> None:
        await db.merge(table.model(**row))

    return Step(f"merge into {table.name} {row}", run)


def _relate(draw: Draw, table: TableSpec) -> Step:
    if not table.lists:
        return _change(draw, table)
    name, other = draw.chance.choice(table.lists)
    key, theirs, takes = draw.key(table), draw.key(other), draw.chance.random() < 0.5

    async def run(db: Session) -> None:
        row, child = await db.get(table.model, key), await db.get(other.model, theirs)
        if row is None or child is None:
            return
        related = await db.run_sync(lambda _: getattr(row, name))
        if takes and child not in related:
            related.append(child)
        elif not takes and child in related:
            related.remove(child)

    return Step(f"{'put into' if takes else 'take from'} {name} of {key}: {theirs}", run)


def _point(draw: Draw, table: TableSpec) -> Step:
    if not table.singles:
        return _change(draw, table)
    name, parent = draw.chance.choice(table.singles)
    key, theirs = draw.key(table), draw.key(parent)

    async def run(db: Session) -> None:
        row = await db.get(table.model, key)
        if row is not None:
            setattr(row, name, await db.get(parent.model, theirs))

    return Step(f"{name} of {table.name} {key} is {theirs}", run)


def _update(draw: Draw, table: TableSpec) -> Step:
    changes = draw.changes(table)
    column = draw.chance.choice(table.columns)
    value = draw.chance.choice(column.values)
    statement = update(table.model).where(getattr(table.model, column.name) == value)
    return _statement(
        statement.values(**changes) if changes else None,
        f"update {table.name} of {column.name} {value!r}: {changes}",
    )


def _delete(draw: Draw, table: TableSpec) -> Step:
    column = draw.chance.choice(table.columns)
    value = draw.chance.choice(column.values)
    statement = delete(table.model).where(getattr(table.model, column.name) == value)
    return _statement(statement, f"delete all {table.name} of {column.name} {value!r}")


def _insert(draw: Draw, table: TableSpec) -> Step:
    rows = [draw.row(table) for _ in range(draw.chance.randint(1, 2))]
    statement = upsert(table.model).on_conflict_do_nothing()
    if draw.chance.random() < 0.5 and table.others:
        name = draw.chance.choice(table.others).name
        statement = upsert(table.model)
        statement = statement.on_conflict_do_update(
            index_elements=[each.name for each in table.key],
            set_={name: getattr(statement.excluded, name)},
        )

    async def run(db: Session) -> None:
        for row in rows:
            await execute(db, statement, row)

    return Step(f"upsert {table.name} {rows}", run)


def _many(draw: Draw, table: TableSpec) -> Step:
    rows = [draw.row(table) for _ in range(3)]

    async def run(db: Session) -> None:
        await execute(db, insert(table.model), rows)

    return Step(f"insert many into {table.name} {rows}", run)


def _by_hand(draw: Draw, table: TableSpec) -> Step:
    sql = plain_sql(draw, table)
    return _statement(text(sql), sql)


def _statement(statement: Any, says: str) -> Step:  # noqa: ANN401
    async def run(db: Session) -> None:
        if statement is not None:
            await execute(db, statement)

    return Step(says, run)


def plain_sql(draw: Draw, table: TableSpec) -> str:
    """Return a statement that writes, as text."""
    name = f'"{table.name}"'
    kinds = {"int": "1", "str": "'b'", "bool": "true", "enum": "'BLUE'", "date": "'2026-01-02'"}
    usable = [each for each in table.others if each.kind in kinds and None in each.values]
    usable = [each for each in usable if each.name.startswith("c")]
    if not usable or draw.chance.random() < 0.2:
        column = draw.chance.choice(table.key)
        return f'DELETE FROM {name} WHERE "{column.name}" = {_literal(draw, column)}'  # noqa: S608
    changed, of = draw.chance.choice(usable), draw.chance.choice(table.key)
    return (
        f'UPDATE {name} SET "{changed.name}" = {kinds[changed.kind]}'  # noqa: S608
        f' WHERE "{of.name}" <= {_literal(draw, of)}'
    )


def _literal(draw: Draw, column: ColumnSpec) -> str:
    value = draw.chance.choice([each for each in column.values if each is not None])
    return str(value) if column.kind == "int" else f"'{value}'"


_FORMS: list[Callable[[Draw, TableSpec], Step]] = [
    _add,
    _add,
    _add,
    _add,
    _change,
    _change,
    _change,
    _rename,
    _compute,
    _remove,
    _replace,
    _merge,
    _merge,
    _relate,
    _point,
    _update,
    _delete,
    _insert,
    _many,
    _by_hand,
]
