"""What others do while a worker stands still, up to the moment that matters and not past it.

Who gets where first must not depend on the machine: so nothing here waits for a time, and what
would tell the worker by another way that its run is taken is kept from it meanwhile.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import asyncpg

from app.domain.ports import Serves
from app.store.owed import Owed
from app.store.queueing import claim, release
from app.store.statements import TAKE_OVER
from tests.support.crash_points import pace
from tests.support.wait_until import wait_until

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

RIVAL: Final = "rival"
SERVES: Final = Serves.of("walker")
MANY: Final = 1_000
"""Runs, and crashes that end one."""
PATIENCE_S: Final = 30.0

_END_BEAT = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'ropewalk beat'
"""
_KEEP_FROM_BEATING = """
SELECT id FROM agent_workers WHERE split_part(id, '-', 3) = $1 FOR UPDATE
"""
_WAITS_FOR = """
SELECT EXISTS (SELECT FROM pg_stat_activity w
                 JOIN pg_stat_activity h ON h.pid = ANY (pg_blocking_pids(w.pid))
                WHERE w.wait_event_type = 'Lock' AND w.datname = current_database()
                  AND h.application_name = $1 AND w.application_name <> ALL ($2::text[]))
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A worker that stands still.

    Attributes:
        pid: of its process.
        database_url: of its database, where it is the only worker.
        go_on: lets it go on.
        has_passed: whether it has gone on, past the await that it stood before.
    """

    pid: int
    database_url: str
    go_on: Callable[[], None]
    has_passed: Callable[[], bool]


async def is_waited_for(database: Connection, holder: str, *, but_by: tuple[str, ...]) -> bool:
    """Whether a session waits for a lock of ``holder``'s; sessions called ``but_by`` may."""
    answer: bool = await database.fetchval(_WAITS_FOR, holder, list(but_by))
    return answer


async def lose_its_beat(standing: Standing) -> None:
    """Break the connection that a worker's heart beats on.

    The first beat that is answered when it goes on is then one that it sends when it goes on, and
    never the second half of one that it was frozen in the middle of.
    """
    async with _session(standing) as database:
        await database.execute(_END_BEAT)


async def overtake(standing: Standing) -> None:
    """Take a worker's run, and commit when the worker waits for that with a write of its own.

    Its heart does not beat before that write has come to its end: a beat would say that the run
    is taken, and the drive would be cut off.  The run goes to somebody, and comes back afterwards:
    the worker would claim it itself, and be right to write.
    """
    await lose_its_beat(standing)
    own = pace.session_of(standing.pid)
    async with _session(standing) as beats, _session(standing) as runs:
        async with beats.transaction():
            worker = await beats.fetchval(_KEEP_FROM_BEATING, str(standing.pid))
            async with runs.transaction():
                await runs.fetch(TAKE_OVER, worker, MANY)
                (taken,) = await claim(
                    runs, RIVAL, SERVES, MANY, Owed(), last_crashes=MANY, last_try=False
                )
                standing.go_on()
                await wait_until(
                    lambda: is_waited_for(beats, RIVAL, but_by=("ropewalk beat",)),
                    description=f"{own} waits for the run",
                    timeout_s=PATIENCE_S,
                )
            await wait_until(
                standing.has_passed, description=f"{own} has its answer", timeout_s=PATIENCE_S
            )
        async with runs.transaction():
            await release(runs, taken.fence, Owed())


@asynccontextmanager
async def _session(standing: Standing) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(
        standing.database_url, server_settings={"application_name": RIVAL}
    )
    try:
        yield connection
    finally:
        await connection.close()


Does: TypeAlias = Callable[[Standing], Awaitable[None]]
"""What somebody does while a worker stands still; afterwards the worker goes on, or does so."""
