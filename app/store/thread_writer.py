"""Writes to a thread that no run makes: the built-in functions that only server code may call.

They keep the laws of every writer: the thread's row is locked first, ``seq`` and
``version`` grow with the change, and the change is announced after its commit.  While a
run is unfinished nothing is appended: its drive holds the history in memory.
"""

from app.domain.errors import Conflict
from app.domain.ports import Announce
from app.domain.record import NewMessage
from app.domain.thread import Thread
from app.store.database import Connection, Database
from app.store.executors import Executor
from app.store.rows import THREADS, thread_from

_MAKE = """
INSERT INTO agent_threads (id, key, agent, owner, title, status, version)
VALUES ($1, $2, $3, $4, $5, 'completed', 1)
    ON CONFLICT (key) DO NOTHING
RETURNING version
"""
_LOCK = f"{THREADS} WHERE t.key = $1 FOR NO KEY UPDATE"
_LOCK_MEANT = f"""
{THREADS} WHERE t.id = (SELECT coalesce(k.branch, k.id) FROM agent_threads k WHERE k.key = $1)
   FOR NO KEY UPDATE
"""
"""What is said under a root's key is said where the conversation goes on: in the branch on show."""
_APPEND = """
WITH m AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, parts, author,
                                created_at)
    VALUES ($1, $2, $3, $3, $4::bigint + 1, $5::bigint + 1, $6, $7, $8::text::json, $9,
            clock_timestamp())
)
UPDATE agent_threads SET seq = $4 + 1, version = $5 + 1, updated_at = clock_timestamp()
 WHERE id = $3
RETURNING version
"""
_RENAME = """
UPDATE agent_threads SET title = $2, version = version + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""


class PostgresThreadWriter:
    """Implements ``app.functions.ports.ThreadWriter``."""

    def __init__(self, database: Database, announce: Announce) -> None:
        self._db = database
        self._announce = announce

    async def ensure(
        self, thread_id: str, key: str, agent: str, owner: str | None, title: str | None
    ) -> bool:
        """See ``ThreadWriter.ensure``."""
        made = await self._db.first(_MAKE, thread_id, key, agent, owner, title)
        if made is not None:
            self._announce(thread_id, made["version"])
        return made is not None

    async def append(self, key: str, message: NewMessage) -> int | None:
        """See ``ThreadWriter.append``."""

        async def work(connection: Connection) -> tuple[Thread, int] | None:
            thread = await _locked(connection, _LOCK_MEANT, key)
            if thread is None:
                return None
            if thread.live_run is not None:
                raise Conflict(f"thread {key!r} has an unfinished run", {"runId": thread.live_run})
            place = (thread.id, thread.seq, thread.version)
            what = (message.role.value, message.status.value, message.parts, message.author)
            (row,) = await connection.fetch(_APPEND, message.id, message.key, *place, *what)
            return thread, row["version"]

        written = await self._db.transact(work)
        if written is None:
            return None
        thread, version = written
        self._announce(thread.id, version)
        return thread.seq + 1

    async def rename(self, key: str, title: str) -> bool:
        """See ``ThreadWriter.rename``."""

        async def work(connection: Connection) -> tuple[str, int] | None:
            thread = await _locked(connection, _LOCK, key)
            if thread is None:
                return None
            (row,) = await connection.fetch(_RENAME, thread.id, title)
            return thread.id, row["version"]

        written = await self._db.transact(work)
        if written is not None:
            self._announce(*written)
        return written is not None


async def _locked(executor: Executor, lock: str, key: str) -> Thread | None:
    rows = await executor.fetch(lock, key)
    return thread_from(rows[0]) if rows else None
