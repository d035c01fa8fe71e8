"""A random team's tables: keys of all kinds, references with what follows them, relationships."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Enum,
    ForeignKey,
    Integer,
    MetaData,
    Uuid,
)
from sqlalchemy.orm import registry, relationship
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, Relationship, SQLModel
from sqlmodel.sql.sqltypes import AutoString


class Color(StrEnum):
    """Stored by name, not by value."""

    RED = "r"
    BLUE = "b"


KINDS: Final[dict[str, Sequence[Any]]] = {
    "int": (0, 1, 2, 3),
    "str": ("a", "b", "B", ""),
    "uuid": tuple(UUID(int=(10 << 120) + n) for n in range(3)),
    "bool": (False, True),
    "enum": tuple(Color),
    "date": tuple(date(2026, 1, day) for day in (1, 2, 3)),
}
KEYS: Final[dict[str, Sequence[Any]]] = {
    "int": (1, 2, 3, 4, 5),
    "str": ("a", "b", "c", "d"),
    "uuid": tuple(UUID(int=(10 << 120) + n) for n in range(4)),
}
_NAMES: Final = ("boats", "Crews", "rope-ends", "ports")


@dataclass(frozen=True)
class ColumnSpec:
    """A column, and the values that are put into it: few, so that rows meet."""

    name: str
    kind: str
    values: Sequence[Any]
    names_rows: bool


@dataclass
class TableSpec:
    """A table with its class."""

    name: str
    model: Any
    key: tuple[ColumnSpec, ...]
    columns: tuple[ColumnSpec, ...]
    """All of them, the key included."""
    parents: list[tuple[str, "TableSpec"]] = field(default_factory=list)
    """By the column that refers to them."""
    lists: list[tuple[str, "TableSpec"]] = field(default_factory=list)
    """Relationships to many, by attribute."""
    singles: list[tuple[str, "TableSpec"]] = field(default_factory=list)
    """Relationships to one, by attribute."""

    @property
    def others(self) -> tuple[ColumnSpec, ...]:
        """The columns that are no key."""
        return tuple(each for each in self.columns if each not in self.key)


@dataclass(frozen=True)
class Schema:
    """Tables that refer to one another."""

    tables: tuple[TableSpec, ...]
    metadata: MetaData


def random_schema(chance: random.Random) -> Schema:
    """Return one to four tables."""

    class Base(SQLModel, registry=registry()):
        """Of this schema alone."""

    tables: list[TableSpec] = []
    for name in chance.sample(_NAMES, chance.randint(1, len(_NAMES))):
        tables.append(_table(chance, Base, name, tables))
    for table in tables:
        for column, parent in table.parents:
            if chance.random() < 0.6:
                _relate(chance, table, column, parent)
    return Schema(tuple(tables), Base.metadata)


def _table(
    chance: random.Random, base: type[SQLModel], name: str, earlier: Sequence[TableSpec]
) -> TableSpec:
    specs: list[ColumnSpec] = []
    columns: dict[str, Column[Any]] = {}
    parents: list[tuple[str, TableSpec | None]] = []
    targets = [each for each in earlier if len(each.key) == 1]

    def add(column: str, kind: str, values: Sequence[Any], *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        made = Column(column, _type(kind), *arguments, **options)
        columns[column] = made
        named = bool(options.get("index") or options.get("unique") or arguments)
        named |= bool(options.get("primary_key")) and kind in KEYS
        specs.append(ColumnSpec(column, kind, values, named))

    def refer(column: str, target: TableSpec | None, key: tuple[str, str], **options: Any) -> None:  # noqa: ANN401
        kind, where = key
        deleted = chance.choice([None, "CASCADE", "CASCADE", "SET NULL"])
        if options.get("primary_key") and deleted == "SET NULL":
            deleted = "CASCADE"
        reference = ForeignKey(
            where, ondelete=deleted, onupdate=chance.choice([None, None, "CASCADE"])
        )
        nothing = () if options.get("primary_key") else (None,) * 4
        add(column, kind, (*KEYS[kind], *nothing), reference, **options)
        parents.append((column, target))

    composite = chance.random() < 0.25
    if composite and targets and chance.random() < 0.6:
        add("place", "int", KEYS["int"][:3], primary_key=True, autoincrement=False)
        target = chance.choice(targets)
        refer("parent", target, _key_of(target), primary_key=True)
    elif composite:
        add("place", "int", KEYS["int"][:3], primary_key=True, autoincrement=False)
        kind = chance.choice(list(KEYS))
        add("part", kind, KEYS[kind][:3], primary_key=True, index=chance.random() < 0.5)
    else:
        kind = chance.choice(list(KEYS))
        add("id", kind, KEYS[kind], primary_key=True, autoincrement=False)
        if chance.random() < 0.35:
            refer("above", None, (kind, f"{name}.id"))
    for number in range(chance.randint(1, 4)):
        kind = chance.choice(list(KINDS))
        add(
            f"c{number}",
            kind,
            (*KINDS[kind], None),
            index=chance.random() < 0.6,
            unique=chance.random() < 0.05 or None,
        )
    for number, target in enumerate(targets):
        if chance.random() < 0.6:
            refer(f"r{number}", target, _key_of(target), index=chance.random() < 0.5)
    order = list(specs)
    model = _model(base, name, order, columns)
    keys = tuple(each for each in order if columns[each.name].primary_key)
    made = TableSpec(name, model, keys, tuple(order))
    made.parents = [(column, target or made) for column, target in parents]
    return made


def _model(
    base: type[SQLModel], name: str, specs: Sequence[ColumnSpec], columns: dict[str, Column[Any]]
) -> Any:  # noqa: ANN401 - a class that exists from here on
    fields = {each.name: Field(default=None, sa_column=columns[each.name]) for each in specs}
    namespace = {
        "__module__": __name__,
        "__qualname__": f"Table{name.title().replace('-', '')}",
        "__annotations__": {each.name: Any for each in specs},
        "__tablename__": name,
        **fields,
    }
    metaclass: Any = type(base)
    return metaclass(namespace["__qualname__"], (base,), namespace, table=True)


def _relate(chance: random.Random, table: TableSpec, column: str, parent: TableSpec) -> None:
    down, up = f"many_{table.model.__name__}_{column}", f"one_{column}"
    options: dict[str, Any] = chance.choice(
        [
            {},
            {"passive_deletes": True},
            {"passive_deletes": "all"},
            {"cascade": "all, delete-orphan"},
            {"cascade": "all, delete-orphan", "passive_deletes": True},
        ]
    )
    both = chance.random() < 0.7
    key = table.model.__table__.c[column]
    remote = parent.model.__table__.c[parent.key[0].name]
    _add(
        parent.model,
        down,
        relationship(
            table.model,
            primaryjoin=key == remote,
            foreign_keys=[key],
            remote_side=[key],
            back_populates=up if both else None,
            **options,
        ),
    )
    parent.lists.append((down, table))
    if both:
        _add(
            table.model,
            up,
            relationship(
                parent.model,
                primaryjoin=key == remote,
                foreign_keys=[key],
                remote_side=[remote],
                back_populates=down,
            ),
        )
        table.singles.append((up, parent))


def _add(model: Any, name: str, made: Any) -> None:  # noqa: ANN401
    model.__sqlmodel_relationships__[name] = Relationship()
    model.__mapper__.add_property(name, made)


def _key_of(target: TableSpec) -> tuple[str, str]:
    return target.key[0].kind, f"{target.name}.{target.key[0].name}"


def _type(kind: str) -> TypeEngine[Any]:
    match kind:
        case "int":
            return Integer()
        case "str":
            return AutoString()
        case "uuid":
            return Uuid()
        case "bool":
            return Boolean()
        case "enum":
            return Enum(Color, name="color")
        case _:
            return Date()
