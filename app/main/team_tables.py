"""The tables that the team's folder declares: SQLModel classes with ``table=True``.

They live in ``SQLModel.metadata`` beside the product's, which alone are called ``agent_...``.
A folder can be loaded again in one process: what it declared before leaves the metadata, and each
load has a registry of its own, so that a class's name means the class of this load, and classes of
an earlier load that somebody still holds go on working.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Table, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapper, registry
from sqlmodel import SQLModel

import app.store.tables  # noqa: F401  # the product's own are there first
from app.domain.errors import DeclarationError
from app.store.histories import PREFIX

_declared: set[Table] = set()
"""What the folder that was loaded last declares."""


def forget_tables() -> None:
    """Take the tables of the folder that was loaded last out of the metadata."""
    for table in _declared:
        SQLModel.metadata.remove(table)
    _declared.clear()


@contextmanager
def declaring_tables(package: str, shown: Callable[[Path], Path]) -> Iterator[None]:
    """Take what is declared inside for the team's tables, and check it.

    Tables of modules outside the folder, which it may import, are no concern of ours.

    Args:
        package: the folder's, by which its modules are known.
        shown: how a file is named to the user.

    Raises:
        DeclarationError: a table has a name of ours, or a relationship leads nowhere.
    """
    before = set(SQLModel.metadata.tables.values())
    mapped: dict[Table, type] = {}

    def take(mapper: Mapper[Any], declared: type) -> None:
        if isinstance(mapper.local_table, Table):
            mapped[mapper.local_table] = declared

    common, own = SQLModel._sa_registry, registry(metadata=SQLModel.metadata)  # noqa: SLF001  # no public way to give classes that exist already another one
    SQLModel._sa_registry = own  # noqa: SLF001
    event.listen(Mapper, "after_mapper_constructed", take)
    try:
        yield
    finally:
        event.remove(Mapper, "after_mapper_constructed", take)
        SQLModel._sa_registry = common  # noqa: SLF001
        elsewhere = {
            table
            for table, declared in mapped.items()
            if declared.__module__.partition(".")[0] != package
        }
        _declared.update({*SQLModel.metadata.tables.values()} - before - elsewhere)
    _check(mapped, shown)
    try:
        own.configure()
    except SQLAlchemyError as error:
        raise DeclarationError(f"the tables do not fit together: {error}") from error


def declared_tables() -> frozenset[str]:
    """Return the names of the tables that the folder that was loaded last declares."""
    return frozenset(table.key for table in _declared)


def _check(mapped: Mapping[Table, type], shown: Callable[[Path], Path]) -> None:
    for table in {*_declared, *mapped}:
        if table.name.startswith(PREFIX):
            where = f"{_place(mapped[table], shown)}: " if table in mapped else ""
            raise DeclarationError(f"{where}{ours(table.name)}")


def ours(table: str) -> str:
    """Return what to say of a table that has a name of ours."""
    return (
        f"the table {table} cannot be called so, {PREFIX}... is kept for Ropewalk's own;"
        " give the class another __tablename__"
    )


def _place(declared: type, shown: Callable[[Path], Path]) -> str:
    file = Path(inspect.getfile(declared))
    _, above = inspect.findsource(declared)
    return f"{shown(file)}:{above + 1}: {declared.__name__}"
