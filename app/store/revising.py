"""Compares declared tables with a database, and writes the migration that is missing.

What is written never imports the team's own types, nor SQLModel's: a type that decorates another
is written as what the database sees of it, so that a migration of last year still runs when the
class that it was made for is gone.
"""

from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.autogenerate.render import _repr_type
from alembic.operations.ops import MigrationScript, UpgradeOps
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Enum, Table
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import SQLModel

from app.store.histories import History
from app.store.migrate import alembic_config
from app.store.named_types import (
    TypeChange,
    add_types,
    changes_of_types,
    is_named_type,
    rendered_enum,
)


def comparison(history: History) -> dict[str, Any]:
    """Return the options by which Alembic compares what a history is about, and nothing else."""
    schemas = {SQLModel.metadata.tables[key].schema for key in history.tables}

    def is_named(name: str | None, kind: str, parents: MutableMapping[Any, str | None]) -> bool:
        match kind:
            case "schema":
                return name is None or name in schemas
            case "table":
                return parents["schema_qualified_table_name"] in history.tables
            case _:
                return True

    def is_included(item: object, *_: object) -> bool:
        return not isinstance(item, Table) or item.key in history.tables

    return {
        "target_metadata": SQLModel.metadata,
        "include_schemas": bool(schemas - {None}),
        "include_name": is_named,
        "include_object": is_included,
        "compare_server_default": True,
        "render_item": _rendered,
    }


def differing_tables(url: str, history: History) -> list[str]:
    """Return the tables whose declaration is not what the database has.

    Blocks; the database has all the migrations of the history.
    """
    found: list[str] = []

    def take(context: MigrationContext, _: object, scripts: list[MigrationScript]) -> None:
        found.extend(_tables_of(scripts))
        found.extend(each.table for each in _types(context, history))
        scripts.clear()

    _revise(url, history, "differences", take)
    return sorted(set(found))


def write_missing(url: str, history: History, message: str) -> Path | None:
    """Write the migration that leads from the database to the declarations; return its file.

    Nothing is written when there is no difference.  Blocks; the database has all the migrations of
    the history.  Where the history has several ends, the new migration joins them.
    """

    def complete(context: MigrationContext, _: object, scripts: list[MigrationScript]) -> None:
        for each in scripts:
            add_types(each, _types(context, history))
        scripts[:] = [each for each in scripts if not _upgrade_of(each).is_empty()]

    return _revise(url, history, message, complete)


def write_empty(url: str, history: History, message: str) -> Path:
    """Write a migration that is to be filled by hand, and return its file."""
    made = command.revision(alembic_config(url, history), message, head="heads")
    return _file_of(made)


def _revise(url: str, history: History, message: str, hook: Any) -> Path | None:  # noqa: ANN401  # Alembic's own type is wider than what it passes
    made = command.revision(
        alembic_config(url, history),
        message,
        autogenerate=True,
        head="heads",
        process_revision_directives=hook,
    )
    return _file_of(made) if made else None


def _types(context: MigrationContext, history: History) -> list[TypeChange]:
    if context.connection is None:
        raise ValueError("a database is compared over a connection")
    declared = [SQLModel.metadata.tables[key] for key in sorted(history.tables)]
    return changes_of_types(context.connection, declared)


def _file_of(made: object) -> Path:
    return Path(str(getattr(made, "path")))  # noqa: B009


def _upgrade_of(script: MigrationScript) -> UpgradeOps:
    if script.upgrade_ops is None:
        raise ValueError("Alembic compared nothing")
    return script.upgrade_ops


def _tables_of(scripts: Iterable[MigrationScript]) -> list[str]:
    operations = [each for script in scripts for each in _upgrade_of(script).ops]
    return [str(getattr(each, "table_name", type(each).__name__)) for each in operations]


def _rendered(kind: str, item: object, context: AutogenContext) -> str | bool:
    """Return how a type is written, or ``False``: as Alembic does it."""
    if kind != "type" or not isinstance(item, TypeEngine):
        return False
    if isinstance(item, Enum) and is_named_type(item):
        context.imports.add("from sqlalchemy.dialects import postgresql")
        return rendered_enum(item)
    module = type(item).__module__
    if module.startswith("sqlalchemy."):
        return False
    if isinstance(item, TypeDecorator):
        return _repr_type(_stored_as(item, context), context)
    context.imports.add(f"import {module}")
    return False


def _stored_as(type_: "TypeDecorator[Any]", context: AutogenContext) -> "TypeEngine[Any]":
    if context.dialect is None:
        raise ValueError("types are written for a database")
    plain = type_.load_dialect_impl(context.dialect)
    # A driver's own class, as _PGString, cannot be named in a file.
    return plain.as_generic() if type(plain).__name__.startswith("_") else plain
