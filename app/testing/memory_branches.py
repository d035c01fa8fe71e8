"""Forks and branches over the in-memory database; held to the same suite as Postgres's."""

from collections.abc import Mapping
from dataclasses import replace

from app.domain.branching import (
    MAX_BRANCHES,
    Asked,
    Branch,
    Conversation,
    Line,
    Place,
    check_cut,
    input_of,
    parent_of,
)
from app.domain.errors import Conflict, NotFound
from app.domain.message import Message, MessageStatus, Role
from app.domain.ports import Announce, RunStore, StartedRun
from app.domain.ports.branches import NewBranch, NewFork
from app.domain.run import Usage
from app.domain.thread import Thread, ThreadStatus
from app.testing.memory_database import MemoryDatabase


class MemoryBranches:
    """Implements ``BranchStore`` and ``BranchMaker``."""

    def __init__(self, database: MemoryDatabase, store: RunStore, announce: Announce) -> None:
        self._db = database
        self._store = store
        self._announce = announce

    async def branch(self, new: NewBranch) -> StartedRun:
        """See ``BranchMaker.branch``."""
        root, places = self._db.threads.get(new.root_id), self._places(new.root_id)
        if root is None or new.source_id not in places:
            raise NotFound("no such thread")
        if len(places) > MAX_BRANCHES:
            raise Conflict(f"a conversation has at most {MAX_BRANCHES} branches")
        source, thread_id = self._db.threads[new.source_id], new.start.thread_id
        self._copy(source, new.shared, (thread_id, new.start.thread_key, root.owner, None))
        parent, now = parent_of(places, source.id, new.shared), self._db.now()
        branch = Branch(thread_id, new.start.thread_key, parent, new.shared, now)
        self._db.branches.setdefault(root.id, []).append(branch)
        started = await self._store.start(new.start)
        self._select(root.id, thread_id)
        return started

    async def fork(self, new: NewFork) -> None:
        """See ``BranchMaker.fork``."""
        source = self._db.threads.get(new.source_id)
        if source is None:
            raise NotFound("no such thread")
        rows, last = self._db.messages[source.id], source.seq
        if new.message_id is not None:
            found = [row.seq for row in rows if row.id == new.message_id]
            if not found:
                raise NotFound("no such message")
            last = found[0] - 1 if new.before else found[0]
        if last:
            run = rows[last - 1].run_id
            check_cut([_line(row) for row in rows if row.run_id == run], last)
        self._copy(source, last, (new.thread_id, new.thread_id, new.owner, new.title))
        self._announce(new.thread_id, 1)

    async def conversation(self, key: str) -> Conversation | None:
        """See ``BranchStore.conversation``."""
        await self._db.turn()
        thread = self._db.by_key(key)
        if thread is None:
            return None
        root = self._db.root_thread(thread)
        return Conversation(
            thread.id,
            thread.agent,
            root.owner,
            root.id,
            root.key,
            self._db.selected.get(root.id, root.id),
        )

    async def asked(self, conversation: Conversation, message_id: str | None) -> Asked | None:
        """See ``BranchStore.asked``."""
        thread_id = await self.thread_of(conversation, message_id)
        rows = self._db.messages[thread_id or ""]
        runs = [
            row.run_id
            for row in rows
            if message_id == row.id or (message_id is None and row.run_id in self._db.runs)
        ]
        run = self._db.runs.get(runs[-1]) if runs else None
        if run is None or thread_id is None:
            return None
        said = [row for row in rows if row.run_id == run.id and row.role is Role.USER]
        first = [row for place, row in enumerate(said) if row.seq == said[0].seq + place]
        return Asked(
            thread_id,
            run.id,
            first[0].id,
            first[0].seq - 1,
            run.agent,
            input_of([row.parts for row in first]),
            run.policy,
        )

    async def thread_of(self, conversation: Conversation, message_id: str | None) -> str | None:
        """See ``BranchStore.thread_of``."""
        await self._db.turn()
        if message_id is None:
            return conversation.shown_id
        for thread_id in self._places(conversation.root_id):
            if any(row.id == message_id for row in self._db.messages[thread_id]):
                return thread_id
        return None

    async def select(self, root_id: str, thread_id: str) -> bool:
        """See ``BranchStore.select``."""
        await self._db.turn()
        if thread_id not in self._places(root_id):
            return False
        if self._db.selected.get(root_id, root_id) != thread_id:
            self._select(root_id, thread_id)
        return True

    def _select(self, root_id: str, thread_id: str) -> None:
        self._db.selected[root_id] = thread_id
        root = self._db.threads[root_id]
        self._db.put(replace(root, version=root.version + 1))
        self._announce(root_id, root.version + 1)

    def _places(self, root_id: str) -> Mapping[str, Place]:
        branches = self._db.branches.get(root_id, [])
        return {root_id: Place(None, 0)} | {
            each.id: Place(each.parent, each.shared) for each in branches
        }

    def _copy(
        self,
        source: Thread,
        shared: int,
        named: tuple[str, str, str | None, str | None],
    ) -> None:
        """Make a thread that begins with another one's first messages.

        ``named`` are its id, key, owner and title.
        """
        thread_id, key, owner, title = named
        rows = self._db.messages[source.id][:shared]
        if any(row.status is MessageStatus.OPEN for row in rows):
            raise Conflict("the conversation has changed meanwhile: look again")
        self._db.put(
            Thread(
                thread_id,
                key,
                source.agent,
                ThreadStatus.COMPLETED,
                live_run=None,
                epoch=0,
                seq=shared,
                version=1,
                wakes=0,
                owner=owner,
                title=title or source.title,
                usage=Usage(),
                created_at=self._db.now(),
            )
        )
        if source.id in self._db.states:
            self._db.states[thread_id] = self._db.states[source.id]
        self._db.messages[thread_id] = [
            replace(row, id=f"{thread_id}-{row.seq}", thread_id=thread_id, version=1)
            for row in rows
        ]


def _line(row: Message) -> Line:
    ids = [str(part["toolCallId"]) for part in row.parts if "toolCallId" in part]
    return Line(
        row.id,
        row.seq,
        calls=ids if row.role is Role.ASSISTANT else (),
        answers=next(iter(ids), None) if row.role is Role.TOOL else None,
        is_open=row.status is MessageStatus.OPEN,
    )
