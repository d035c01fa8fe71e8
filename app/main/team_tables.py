"""The tables that the team's folder declares: SQLModel classes with ``table=True``.

They live in ``SQLModel.metadata`` beside the product's, which alone are called ``agent_...``.
A folder can be loaded again in one process: what it declared before leaves the metadata, and each
load has a registry of its own, so that a class's name means the class of this load, and classes of
an earlier load that somebody still holds go on working.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Table
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import registry
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
    common, own = SQLModel._sa_registry, registry(metadata=SQLModel.metadata)  # noqa: SLF001  # no public way to give classes that exist already another one
    SQLModel._sa_registry = own  # noqa: SLF001
    try:
        yield
        _check(own, shown)
    finally:
        SQLModel._sa_registry = common  # noqa: SLF001
        elsewhere = {
            mapper.local_table
            for mapper in own.mappers
            if mapper.class_.__module__.partition(".")[0] != package
        }
        _declared.update({*SQLModel.metadata.tables.values()} - before - elsewhere)


def declared_tables() -> frozenset[str]:
    """Return the names of the tables that the folder that was loaded last declares."""
    return frozenset(table.key for table in _declared)


def _check(own: registry, shown: Callable[[Path], Path]) -> None:
    for mapper in own.mappers:
        table = mapper.local_table
        if isinstance(table, Table) and table.name.startswith(PREFIX):
            raise DeclarationError(f"{_place(mapper.class_, shown)}: {ours(table.name)}")
    try:
        own.configure()
    except SQLAlchemyError as error:
        raise DeclarationError(f"the tables do not fit together: {error}") from error


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
