"""How Alembic reaches the database, and the rules every migration lives by.

* Two migrators do not race: the second waits for the first, then finds nothing to do.
* A migration is either an expansion, which the code before it can live with, or a
  contraction, which takes away what no running code uses.  Its file's name says which.
* There are two histories, the product's and the team's (``app.store.histories``), each with its
  version table.  Only tables that a history is about are compared; others are not its business.
"""

import os

from alembic import context
from sqlalchemy import Connection, text

import app.store.tables  # noqa: F401  # declares the tables
from app.store.addresses import sync_engine
from app.store.histories import product_history
from app.store.revising import comparison

_LOCK = 0x526F7065
"""Advisory lock of migrators: "Rope"."""


def _address() -> str:
    configured = context.config.get_main_option("sqlalchemy.url")
    found = configured or os.environ.get("DATABASE_URL")
    if not found:
        raise SystemExit("DATABASE_URL is not set: it names the database to migrate")
    return found


def _migrate(connection: Connection) -> None:
    history = context.config.attributes.get("history") or product_history()
    connection.execute(text(f"SELECT pg_advisory_lock({_LOCK})"))
    connection.commit()
    try:
        context.configure(
            connection=connection,
            version_table=history.version_table,
            **comparison(history),
        )
        with context.begin_transaction():
            context.run_migrations()
    finally:
        connection.rollback()
        connection.execute(text(f"SELECT pg_advisory_unlock({_LOCK})"))
        connection.commit()


def _run() -> None:
    if context.is_offline_mode():
        raise SystemExit("migrations run against a database; printing SQL is not supported")
    given = context.config.attributes.get("connection")
    if isinstance(given, Connection):
        _migrate(given)
        return
    engine = given or sync_engine(_address())
    with engine.connect() as connection:
        _migrate(connection)
    engine.dispose()


_run()
