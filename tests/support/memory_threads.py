"""Threads that a test writes by hand, read through the in-memory ``ThreadReader``.

Each write raises the thread's version and gives a hint, which a test may lose.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from app.domain.message import (
    MessageStatus,
    Part,
    Role,
    open_result_part,
    text_part,
    tool_result_part,
)
from app.domain.record import NewMessage
from app.domain.run import Run, RunStatus
from app.domain.storable import encode
from app.domain.thread import Thread, ThreadStatus
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_reader import MemoryThreadReader
from app.testing.memory_writes import append


class MemoryThreads:
    """A database of threads, and the pen."""

    def __init__(self, timeline: str = "memory-1") -> None:
        self.database = MemoryDatabase()
        self.reader = MemoryThreadReader(self.database, timeline)
        self.on_hint: Callable[[str, int], None] = lambda thread_id, version: None
        self.hints_are_lost = False
        self._ids = itertools.count(1)

    def thread(self, key: str) -> Thread:
        """Return the thread with this key."""
        found = self.database.by_key(key)
        assert found is not None, f"no thread {key}"
        return found

    def texts(self, key: str) -> list[str]:
        """Return the texts of a thread's messages, in order."""
        rows = self.database.messages[self.thread(key).id]
        return ["".join(str(part.get("text", "")) for part in row.parts) for row in rows]

    def start(
        self, key: str, text: str = "hello", *, owner: str | None = None, dedupe: str | None = None
    ) -> str:
        """Start a run with a user's message; creates the thread.  Returns the run's id."""
        run_id = f"run-{next(self._ids)}"
        thread = self.database.by_key(key) or Thread(
            id=f"thread-{next(self._ids)}",
            key=key,
            agent="support",
            status=ThreadStatus.QUEUED,
            live_run=None,
            epoch=0,
            seq=0,
            version=0,
            wakes=0,
            owner=owner,
            created_at=datetime.now(UTC),
        )
        run = Run(run_id, thread.id, "support", RunStatus.RUNNING, created_at=datetime.now(UTC))
        self.database.runs[run_id] = run
        thread = replace(thread, live_run=run_id, status=ThreadStatus.RUNNING)
        self._append(thread, Role.USER, run_id, [text_part(text)], dedupe=dedupe)
        return run_id

    def say(self, key: str, text: str, *, turn: int = 0) -> None:
        """Store a turn's answer."""
        thread = self.thread(key)
        self._append(thread, Role.ASSISTANT, thread.live_run or "", [text_part(text)], turn=turn)

    def open_call(self, key: str, call: str, *, turn: int = 0) -> None:
        """Store an open result row."""
        thread = self.thread(key)
        self._append(
            thread,
            Role.TOOL,
            thread.live_run or "",
            [open_result_part(call, "look")],
            turn=turn,
            status=MessageStatus.OPEN,
        )

    def fill(self, key: str, call: str) -> None:
        """Fill an open result row in place."""
        thread = self.thread(key)
        version = thread.version + 1
        rows = self.database.messages[thread.id]
        place = next(i for i, row in enumerate(rows) if row.parts[0].get("toolCallId") == call)
        parts = [tool_result_part(call, "look", "done", is_error=False)]
        rows[place] = replace(
            rows[place], parts=parts, status=MessageStatus.COMPLETE, version=version
        )
        self._put(replace(thread, version=version))

    def finish(self, key: str, status: RunStatus = RunStatus.COMPLETED) -> None:
        """End the run."""
        thread = self.thread(key)
        assert thread.live_run is not None
        run = self.database.runs[thread.live_run]
        self.database.runs[run.id] = replace(run, status=status)
        self.touch(key, live_run=None, status=ThreadStatus(status.value))

    def touch(self, key: str, **changes: object) -> None:
        """Change the thread's row alone."""
        thread = self.thread(key)
        self._put(replace(thread, version=thread.version + 1, **changes))  # type: ignore[arg-type]  # field names

    def set_state(self, key: str, state: str) -> None:
        """Set the synced state, JSON, as a tool does: with a new version of the thread."""
        self.database.states[self.thread(key).id] = state
        self.touch(key)

    def forget(self, key: str) -> None:
        """Delete the thread."""
        thread = self.database.threads.pop(self.thread(key).id)
        self.database.messages.pop(thread.id, None)

    def go_back(self, key: str, version: int) -> None:
        """Lose the last commits, as an asynchronous failover does."""
        thread = self.thread(key)
        rows = [row for row in self.database.messages[thread.id] if row.version <= version]
        self.database.messages[thread.id] = rows
        self.database.put(replace(thread, version=version, seq=len(rows)))

    def _append(
        self,
        thread: Thread,
        role: Role,
        run_id: str,
        parts: list[Part],
        *,
        turn: int | None = None,
        status: MessageStatus = MessageStatus.COMPLETE,
        dedupe: str | None = None,
    ) -> None:
        id_ = f"message-{next(self._ids)}"
        row = NewMessage(id_, id_, role, status, encode(parts), turn, dedupe=dedupe)
        thread = replace(thread, version=thread.version + 1)
        self._put(append(self.database, thread, run_id, [row]))

    def _put(self, thread: Thread) -> None:
        self.database.put(thread)
        if not self.hints_are_lost:
            self.on_hint(thread.id, thread.version)


class CountingReader(MemoryThreadReader):
    """Counts its reads, takes its time, and fails on demand.

    ``pauses`` is how often others get a turn before and after a row is looked at.
    """

    def __init__(self, threads: MemoryThreads, timeline: str = "memory-1") -> None:
        super().__init__(threads.database, timeline)
        self.reads: dict[str, int] = {}
        self.pauses = (0, 0)
        self.failure: Exception | None = None

    def __getattribute__(self, name: str) -> object:
        """Wrap the reads of threads."""
        found = super().__getattribute__(name)
        if name not in {"snapshot", "delta", "versions", "find"}:
            return found
        return self._read(name, found)

    def _read(self, name: str, read: Callable[..., object]) -> Callable[..., object]:
        async def counted(*args: object) -> object:
            self.reads[name] = self.reads.get(name, 0) + 1
            await self._pause(self.pauses[0])
            if self.failure is not None:
                raise self.failure
            answer = await read(*args)  # type: ignore[misc]  # a coroutine of the base class
            await self._pause(self.pauses[1])
            return answer

        return counted

    async def _pause(self, times: int) -> None:
        for _ in range(times):
            await self._db.turn()
