"""A trigger for tables that other programs write to, put up by a migration of the team's.

Queries that read a table are run again when it changes.  What a function writes through ``ctx.db``
is announced without any trigger; a cron job in SQL, an import, a person at a ``psql`` prompt are
noticed only by the counters that gateways compare every few seconds.  The trigger makes them heard
at once, at a price (``announce_writes``).
"""

from typing import Protocol

_EVENTS = {
    "insert": "REFERENCING NEW TABLE AS agent_written",
    "update": "REFERENCING NEW TABLE AS agent_written",
    "delete": "REFERENCING OLD TABLE AS agent_written",
    "truncate": "",  # has no rows to hand over
}

# A statement that touched nothing says nothing.  `null`: which rows they are is not told.
_CREATE_FUNCTION = """
CREATE OR REPLACE FUNCTION agent_announce_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  written bigint = 1;
BEGIN
  IF TG_OP <> 'TRUNCATE' THEN
    SELECT count(*) INTO written FROM agent_written;
  END IF;
  IF written > 0 THEN
    PERFORM pg_notify(
      'ropewalk',
      concat('{"w":{"db":{', to_json(TG_TABLE_NAME::text), ':[', written, ',null]}}}')
    );
  END IF;
  RETURN NULL;
END $$
"""

# Other tables may still have the trigger: then the function stays.
_DROP_FUNCTION = """
DO $$ BEGIN
  DROP FUNCTION IF EXISTS agent_announce_write();
EXCEPTION WHEN dependent_objects_still_exist THEN
  NULL;
END $$
"""


class Operations(Protocol):
    """What Alembic's ``op`` can do, as far as it is needed here."""

    def execute(self, sqltext: str, /) -> None:
        """Run a statement."""
        ...


def announce_writes(op: Operations, table: str, *, schema: str | None = None) -> None:
    """Let the database announce every write to a table, whoever writes.

    Opt-in, and for tables that *other programs* write to: what functions write through ``ctx.db``
    is announced anyway.  It has a price.  A NOTIFY inside a writing transaction takes a lock of the
    whole database through the commit, and so costs group commit: 4,400 commits a second at any
    concurrency, against 19,000 without (measured on one machine).  Rows are counted, so Postgres
    keeps those of a statement in memory until it ends; a statement on a million rows feels it.

    The trigger fires once a statement, and its word is out when the transaction commits; one that
    is rolled back says nothing, and what one transaction says twice in the same words is heard
    once.  Writes to a partition by its own name are not heard.  To call it again changes nothing.
    Take it down with ``stop_announcing`` in ``downgrade``::

        def upgrade() -> None:
            announce_writes(op, "orders")

    Args:
        op: Alembic's ``op``.
        table: its name in the database.
        schema: where the table is, if not where the connection looks by itself.
    """
    op.execute(_CREATE_FUNCTION)
    for event, rows in _EVENTS.items():
        op.execute(
            f"CREATE OR REPLACE TRIGGER {_trigger(event)} AFTER {event.upper()}"
            f" ON {_quoted(table, schema)} {rows}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION agent_announce_write()"
        )


def stop_announcing(op: Operations, table: str, *, schema: str | None = None) -> None:
    """Take down what ``announce_writes`` put up; nothing happens if it is not there.

    Args:
        op: Alembic's ``op``.
        table: its name in the database; it still exists.
        schema: where the table is, if not where the connection looks by itself.
    """
    for event in _EVENTS:
        op.execute(f"DROP TRIGGER IF EXISTS {_trigger(event)} ON {_quoted(table, schema)}")
    op.execute(_DROP_FUNCTION)


def _trigger(event: str) -> str:
    return f"agent_announce_{event}"


def _quoted(table: str, schema: str | None) -> str:
    names = (table,) if schema is None else (schema, table)
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
