"""A page of the admin UI is read again with each change: it must not read all there ever was."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest

from app.domain.run_filter import RunFilter
from app.store.admin_reads import PostgresAdminReader
from app.store.database import Database

pytestmark = pytest.mark.req("IMP-16")

RUNS = 20_000
_THREADS = """
INSERT INTO agent_threads (id, key, agent, owner, status, created_at, updated_at, active_at)
SELECT 't' || n, 't' || n, 'a' || n % 5, 'u' || n % 50, 'completed', now(), now(), now()
  FROM generate_series(1, $1::int) n
"""
_RUNS = """
INSERT INTO agent_runs (id, thread, agent, policy, status, created_at, queued_at, finished_at,
                        usage, parent)
SELECT 'r' || n, 't' || n, 'a' || n % 5, '{}', 'completed', now() - n * interval '20 s', now(),
       now(), '{}', CASE WHEN n % 100 = 0 THEN 'r1' || n END
  FROM generate_series(1, $1::int) n
"""
_READ = """
SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_user_tables
 WHERE relname = 'agent_runs'
"""

Read = Callable[[PostgresAdminReader], Awaitable[object]]


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database with many runs, over one connection."""
    async with Database(database_url, size=1) as made:
        await made.fetch(_THREADS, RUNS)
        await made.fetch(_RUNS, RUNS)
        await made.fetch("ANALYZE")
        yield made


async def rows_read(database: Database) -> int:
    """Return how many rows of runs were read so far."""
    await database.fetch("SELECT pg_stat_force_next_flush()")
    return int((await database.fetch(_READ))[0]["rows"])


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda it: it.runs(RunFilter(), status=None, before=None, limit=50), id="new"),
        pytest.param(
            lambda it: it.runs(RunFilter(), status=None, before="r9000", limit=50), id="next"
        ),
        pytest.param(
            lambda it: it.runs(RunFilter(agent="a1"), status=None, before=None, limit=50),
            id="agent",
        ),
        pytest.param(
            lambda it: it.runs(
                RunFilter(since=datetime(2020, 1, 1, tzinfo=UTC)),
                status=None,
                before=None,
                limit=50,
            ),
            id="since",
        ),
        pytest.param(
            lambda it: it.runs(RunFilter(key="t7"), status=None, before=None, limit=50), id="key"
        ),
        pytest.param(lambda it: it.counts(RunFilter(key="t7")), id="counts"),
        pytest.param(lambda it: it.counts(RunFilter(within_s=3600)), id="lately"),
        pytest.param(lambda it: it.children("r9"), id="children"),
        pytest.param(lambda it: it.unfinished(), id="unfinished"),
        pytest.param(lambda it: it.system(), id="system"),
    ],
)
async def test_a_page_reads_about_what_it_shows(database: Database, read: Read) -> None:
    reader = PostgresAdminReader(database)
    await read(reader)
    before = await rows_read(database)

    await read(reader)

    assert await rows_read(database) - before < 600
