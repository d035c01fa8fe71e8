"""Enumerations in the database: types with a name, made before their tables and dropped after them.

Alembic leaves them to the columns: a type that two migrations need is made twice, one that was
dropped with its table comes back as an error, and a new member of a Python ``Enum`` is not noticed.
So they are compared like tables, and columns only name them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from alembic.operations.ops import ExecuteSQLOp, MigrationScript
from sqlalchemy import ARRAY, Connection, Enum, Table, text
from sqlalchemy.types import TypeEngine

_LABELS = text("SELECT enumlabel FROM pg_enum WHERE enumtypid = to_regtype(:name)")


@dataclass(frozen=True, slots=True)
class TypeChange:
    """What the database lacks of one enumeration that a table is declared with."""

    table: str
    name: str
    labels: tuple[str, ...]
    is_new: bool

    @property
    def upgrade(self) -> list[str]:
        """The statements that make it as it is declared."""
        quoted = [_literal(label) for label in self.labels]
        if self.is_new:
            return [f"CREATE TYPE {self.name} AS ENUM ({', '.join(quoted)})"]
        return [f"ALTER TYPE {self.name} ADD VALUE {label}" for label in quoted]

    @property
    def downgrade(self) -> list[str]:
        """The statements that take it back; a member of an enumeration stays for good."""
        return [f"DROP TYPE {self.name}"] if self.is_new else []


def changes_of_types(connection: Connection, tables: Iterable[Table]) -> list[TypeChange]:
    """Return what the database lacks of the enumerations that tables are declared with."""
    found: dict[str, TypeChange] = {}
    for table in tables:
        for enum in _enums_of(table):
            name = type_name(enum)
            known = set(connection.execute(_LABELS, {"name": name}).scalars())
            missing = tuple(label for label in enum.enums if label not in known)
            if missing:
                found.setdefault(name, TypeChange(table.key, name, missing, is_new=not known))
    return list(found.values())


def add_types(script: MigrationScript, changes: Iterable[TypeChange]) -> None:
    """Let a migration begin with changes of types, and its way back end with them."""
    up, down = script.upgrade_ops, script.downgrade_ops
    if up is None or down is None:
        raise ValueError("Alembic compared nothing")
    up.ops[:0] = [ExecuteSQLOp(each) for change in changes for each in change.upgrade]
    down.ops += [ExecuteSQLOp(each) for change in changes for each in change.downgrade]


def rendered_enum(enum: Enum) -> str:
    """Return how a column names its enumeration, without making it."""
    labels = "".join(f"{label!r}, " for label in enum.enums)
    schema = "" if enum.schema is None else f"schema={enum.schema!r}, "
    return f"postgresql.ENUM({labels}name={enum.name!r}, {schema}create_type=False)"


def type_name(enum: Enum) -> str:
    """Return an enumeration's name as SQL has it."""
    names = (enum.name,) if enum.schema is None else (enum.schema, enum.name)
    return ".".join('"' + str(name).replace('"', '""') + '"' for name in names)


def is_named_type(type_: object) -> bool:
    """Whether a type of a column is an enumeration of the database's."""
    return isinstance(type_, Enum) and type_.native_enum and type_.name is not None


def _enums_of(table: Table) -> Iterator[Enum]:
    for column in table.columns:
        type_: TypeEngine[object] = column.type
        if isinstance(type_, ARRAY):
            type_ = type_.item_type
        if isinstance(type_, Enum) and is_named_type(type_):
            yield type_


def _literal(label: str) -> str:
    # A colon would be a parameter to `op.execute`.
    return "'" + label.replace("'", "''").replace(":", "\\:") + "'"
