"""How many rows of a table were ever written, as Postgres counts them in its statistics.

The counters move a second to ten after the write, whoever wrote, also for what was rolled back.
"""

from collections.abc import Collection, Mapping

from sqlalchemy import MetaData
from sqlmodel import SQLModel

from app.store.executors import Executor

_COUNTERS = """
SELECT relname, sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint AS rows
  FROM pg_stat_user_tables
 WHERE relname = ANY ($1::text[]) AND schemaname = ANY (current_schemas(false) || $2::name[])
 GROUP BY relname
"""


async def count_writes(
    executor: Executor, tables: Collection[str], *, metadata: MetaData = SQLModel.metadata
) -> Mapping[str, int]:
    """Return the rows written, by table; those that do not exist are left out.

    Args:
        executor: runs the statement.
        tables: their names, as watchers know them: without a schema.
        metadata: says in which schemas, besides those that are searched, tables may be.
    """
    schemas = {table.schema for table in metadata.tables.values() if table.schema is not None}
    found = await executor.fetch(_COUNTERS, list(tables), list(schemas))
    return {row["relname"]: row["rows"] for row in found}
