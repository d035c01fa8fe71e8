"""``ThreadReader`` over the same dictionaries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from app.domain.approval import Approval, ApprovalStatus
from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.ports import ThreadSnapshot
from app.domain.run import Run
from app.domain.thread import Thread
from app.testing.memory_database import MemoryDatabase
from app.threads.approvers import is_named


class MemoryThreadReader:
    """Implements ``app.domain.ports.ThreadReader``."""

    def __init__(self, database: MemoryDatabase, timeline: str = "memory-1") -> None:
        self._db = database
        self._timeline = timeline

    async def find(self, key: str) -> Thread | None:
        """See ``ThreadReader.find``."""
        await self._db.turn()
        return self._db.by_key(key)

    async def run(self, run_id: str) -> Run | None:
        """See ``ThreadReader.run``."""
        await self._db.turn()
        return self._db.runs.get(run_id)

    async def page(self, thread_id: str, before: int | None, limit: int) -> list[Message]:
        """See ``ThreadReader.page``."""
        await self._db.turn()
        rows = self._db.messages[thread_id]
        return [row for row in rows if before is None or row.seq < before][-limit:]

    async def snapshot(
        self, key: str, limit: int, readers: Collection[Identity] | None = None
    ) -> ThreadSnapshot | None:
        """See ``ThreadReader.snapshot``."""
        await self._db.turn()
        thread = self._db.by_key(key)
        if thread is None:
            return None
        if readers is not None and not any(each.may_read(thread.owner) for each in readers):
            return ThreadSnapshot(thread, [], [])
        rows = self._db.messages[thread.id][-limit:] if limit else []
        return self._db.snapshot(thread, rows, complete=True)

    async def delta(self, thread_id: str, after: int, limit: int) -> ThreadSnapshot | None:
        """See ``ThreadReader.delta``."""
        await self._db.turn()
        thread = self._db.threads.get(thread_id)
        if thread is None:
            return None
        rows = self._changed(thread_id, after)
        return self._db.snapshot(thread, rows[:limit], complete=len(rows) <= limit)

    async def approvals(
        self,
        *,
        key: str | None = None,
        everything: bool = False,
        calls: Sequence[str] | None = None,
        visible_to: Identity | None = None,
        agents: Sequence[str] = (),
        limit: int = 200,
    ) -> list[Approval]:
        """See ``ThreadReader.approvals``."""
        await self._db.turn()
        thread = None if key is None else self._db.by_key(key)
        if key is not None and thread is None:
            return []
        seen = [
            each
            for each in self._db.approvals.values()
            if (thread is None or thread.id in {each.thread_id, each.root})
            and (calls is None or (each.tool_call_id in calls and each.thread_key == key))
            and (visible_to is None or self._may_see(each, visible_to, agents))
        ]
        is_waiting = ApprovalStatus.PENDING
        waiting = [each for each in seen if each.status is is_waiting]
        decided = [each for each in seen if each.status is not is_waiting] if everything else []
        waiting.sort(key=lambda each: (each.requested_at, each.id))
        decided.sort(key=lambda each: (each.decided_at or each.requested_at, each.id), reverse=True)
        return [*waiting, *decided][:limit]

    async def versions(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """See ``ThreadReader.versions``."""
        await self._db.turn()
        known = [self._db.threads[one] for one in thread_ids if one in self._db.threads]
        return {thread.id: thread.version for thread in known}

    async def sessions(
        self, agent: str, owner: str | None, *, everybody: bool, before: str | None, limit: int
    ) -> list[Thread]:
        """See ``ThreadReader.sessions``."""
        await self._db.turn()
        newest = {
            self._db.root_thread(self._db.threads[run.thread_id]).id: place
            for place, run in enumerate(self._db.runs.values())
        }
        threads = self._db.threads.values()
        listed = [
            thread
            for thread in sorted(threads, key=lambda t: (newest.get(t.id, -1), t.id), reverse=True)
            if thread.agent == agent
            and self._db.root_thread(thread) is thread
            and (everybody or (owner is not None and thread.owner == owner))
        ]
        ids = [thread.id for thread in listed]
        start = ids.index(before) + 1 if before in ids else 0
        return [self._shown(thread) for thread in listed[start : start + limit]]

    async def state(self, thread_id: str) -> str | None:
        """See ``ThreadReader.state``."""
        await self._db.turn()
        return self._db.states.get(thread_id)

    async def timeline(self) -> str:
        """See ``ThreadReader.timeline``."""
        await self._db.turn()
        return self._timeline

    def _shown(self, root: Thread) -> Thread:
        """Return a conversation's root with how its shown branch is doing."""
        shown = self._db.threads[self._db.selected.get(root.id, root.id)]
        return replace(root, status=shown.status, error=shown.error)

    def _changed(self, thread_id: str, after: int) -> list[Message]:
        return [row for row in self._db.messages[thread_id] if row.version > after]

    def _may_see(self, approval: Approval, person: Identity, agents: Sequence[str]) -> bool:
        picked = self._db.governed.of(approval.agent).approvers.get(approval.name)
        approvers = approval.rules.approvers if picked is None else picked
        return (
            person.is_admin
            or (approval.owner is not None and approval.owner == person.user_id)
            or approval.agent in agents
            or is_named(approvers, person)
        )
