"""``BranchStore`` on Postgres: what a branch begins with, and which one is shown."""

from app.domain.branching import Asked, Conversation, input_of
from app.domain.ports import Announce
from app.store.branching import select_branch
from app.store.database import Connection, Database
from app.store.owed import Owed
from app.store.rows import parse_json, parts_from

_CONVERSATION = """
SELECT t.id, t.agent, c.owner, c.id AS root_id, c.key AS root_key,
       coalesce(c.branch, c.id) AS selected
  FROM agent_threads t JOIN agent_threads c ON c.id = coalesce(t.conversation, t.id)
 WHERE t.key = $1
"""
_OF_MESSAGE = """
SELECT m.thread, m.run
  FROM agent_messages m JOIN agent_threads t ON t.id = m.thread
 WHERE m.id = $1 AND (t.id = $2 OR t.conversation = $2)
"""
_NEWEST = """
SELECT m.thread, m.run
  FROM agent_messages m
 WHERE m.thread = $1 AND EXISTS (SELECT FROM agent_runs r WHERE r.id = m.run)
 ORDER BY m.seq DESC LIMIT 1
"""
_INPUT = """
SELECT m.id, m.seq, m.parts, r.agent, r.policy
  FROM agent_messages m JOIN agent_runs r ON r.id = m.run
 WHERE m.thread = $1 AND m.run = $2 AND m.role = 'user'
 ORDER BY m.seq
"""


class PostgresBranches:
    """Implements ``app.domain.ports.branches.BranchStore``."""

    def __init__(self, database: Database, announce: Announce) -> None:
        self._db = database
        self._announce = announce

    async def conversation(self, key: str) -> Conversation | None:
        """See ``BranchStore.conversation``."""
        for row in await self._db.fetch(_CONVERSATION, key):
            return Conversation(
                row["id"],
                row["agent"],
                row["owner"],
                row["root_id"],
                row["root_key"],
                row["selected"],
            )
        return None

    async def asked(self, conversation: Conversation, message_id: str | None) -> Asked | None:
        """See ``BranchStore.asked``."""
        if message_id is not None:
            found = await self._db.fetch(_OF_MESSAGE, message_id, conversation.root_id)
        else:
            found = await self._db.fetch(_NEWEST, conversation.shown_id)
        for run in found:
            said = await self._db.fetch(_INPUT, run["thread"], run["run"])
            # What came while it was at work is no part of what it was asked.
            first = [row for place, row in enumerate(said) if row["seq"] == said[0]["seq"] + place]
            if first:
                return Asked(
                    run["thread"],
                    run["run"],
                    first[0]["id"],
                    first[0]["seq"] - 1,
                    first[0]["agent"],
                    input_of([parts_from(row["parts"]) for row in first]),
                    parse_json(first[0]["policy"]),
                )
        return None

    async def thread_of(self, conversation: Conversation, message_id: str | None) -> str | None:
        """See ``BranchStore.thread_of``."""
        if message_id is None:
            return conversation.shown_id
        for row in await self._db.fetch(_OF_MESSAGE, message_id, conversation.root_id):
            thread_id: str = row["thread"]
            return thread_id
        return None

    async def select(self, root_id: str, thread_id: str) -> bool:
        """See ``BranchStore.select``."""

        async def work(connection: Connection) -> tuple[bool, Owed]:
            owed = Owed()
            return await select_branch(connection, root_id, thread_id, owed), owed

        is_one, owed = await self._db.transact(work)
        for changed, version in owed.versions.items():
            self._announce(changed, version)
        return is_one
