"""``ThreadWriter`` over the in-memory database; held to the same suite as Postgres's."""

from dataclasses import replace

from app.domain.errors import Conflict
from app.domain.ports import Announce
from app.domain.record import NewMessage
from app.domain.thread import Thread, ThreadStatus
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_writes import append


class MemoryThreadWriter:
    """Implements ``app.functions.ports.ThreadWriter``."""

    def __init__(self, database: MemoryDatabase, announce: Announce) -> None:
        self._db = database
        self._announce = announce

    async def ensure(
        self, thread_id: str, key: str, agent: str, owner: str | None, title: str | None
    ) -> bool:
        """See ``ThreadWriter.ensure``."""
        if self._db.by_key(key) is not None:
            return False
        thread = Thread(
            thread_id, key, agent, ThreadStatus.COMPLETED, None, 0, 0, 1, 0, owner, title
        )
        self._store(replace(thread, created_at=self._db.now()))
        return True

    async def append(self, key: str, message: NewMessage) -> int | None:
        """See ``ThreadWriter.append``."""
        thread = self._db.meant(key)
        if thread is None:
            return None
        if thread.live_run is not None:
            raise Conflict("busy", {"runId": thread.live_run})
        thread = replace(thread, version=thread.version + 1)
        thread = append(self._db, thread, thread.id, [message])
        self._store(thread)
        return thread.seq

    async def rename(self, key: str, title: str) -> bool:
        """See ``ThreadWriter.rename``."""
        thread = self._db.by_key(key)
        if thread is None:
            return False
        self._store(replace(thread, title=title, version=thread.version + 1))
        for id_, approval in self._db.approvals.items():
            if approval.thread_id == thread.id:
                self._db.approvals[id_] = replace(approval, thread_title=title)
        return True

    def _store(self, thread: Thread) -> None:
        self._db.put(thread)
        self._announce(thread.id, thread.version)
