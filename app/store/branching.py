"""Forks and branches: copies of a conversation's beginning, made under its lock.

Copies are rows of their own, with new ids and keys, at the same places.  They keep the run that
wrote them: no write of that run finds them, since every one of those names its thread, its rows by
key, or rows that are open, and no copy is open.  What they are copied from is not touched.

The root is locked before anything else.  So two branches that are made at once have an order, and
it is the same for everybody: that of their times.
"""

from collections.abc import Mapping

from app.domain.branching import MAX_BRANCHES, Line, Place, check_cut, parent_of
from app.domain.errors import Conflict, NotFound
from app.domain.ports import StartedRun
from app.domain.ports.branches import NewBranch, NewFork
from app.domain.thread import Thread
from app.store.beginning import begin
from app.store.executors import Executor
from app.store.locking import lock_thread
from app.store.owed import Owed
from app.store.rows import THREAD, columns, thread_from

_PLACES = """
SELECT id, parent_branch, coalesce(shared_seq, 0) AS shared FROM agent_threads
 WHERE conversation = $1
"""
_MAKE = f"""
INSERT INTO agent_threads (id, key, agent, owner, title, state, status, conversation,
                           parent_branch, forked_from, shared_seq, seq, version, created_at)
SELECT $2, $3, s.agent, $4, coalesce($5, s.title), s.state, 'completed', $6, $7, s.id, $8::int,
       $8::int, 1, clock_timestamp()
  FROM agent_threads s WHERE s.id = $1
RETURNING {columns(THREAD, "agent_threads")}
"""
_COPY = """
WITH c AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, turn, parts,
                                model, model_name, usage, author, dedupe, created_at)
    SELECT gen_random_uuid()::text, $2 || ':copy:' || m.seq, $2, m.run, m.seq, 1, m.role, m.status,
           m.turn, m.parts, m.model, m.model_name, m.usage, m.author, m.dedupe, m.created_at
      FROM agent_messages m
     WHERE m.thread = $1 AND m.seq <= $3 AND m.status <> 'open'
    RETURNING 1
)
SELECT count(*) AS copied FROM c
"""
_SELECT = """
UPDATE agent_threads
   SET branch = nullif($2, id), version = version + 1, updated_at = clock_timestamp(),
       active_at = CASE WHEN $3 THEN clock_timestamp() ELSE active_at END
 WHERE id = $1 AND coalesce(branch, id) <> $2
RETURNING version
"""
_IS_OF = "SELECT FROM agent_threads WHERE id = $2 AND (id = $1 OR conversation = $1)"
_CUT = "SELECT seq, run FROM agent_messages WHERE thread = $1 AND id = $2"
_LAST = "SELECT seq, run FROM agent_messages WHERE thread = $1 AND seq = $2"
_LINES = """
SELECT m.id, m.seq, m.role, m.status,
       ARRAY (SELECT p ->> 'toolCallId' FROM json_array_elements(m.parts) p
               WHERE p ->> 'type' IN ('tool_call', 'tool_result')) AS calls
  FROM agent_messages m
 WHERE m.thread = $1 AND m.run = $2
 ORDER BY m.seq
"""


async def make_branch(executor: Executor, new: NewBranch, owed: Owed) -> StartedRun:
    """Make a branch and start its run; see ``BranchMaker.branch``."""
    root = await lock_thread(executor, new.root_id)
    if root is None:
        raise NotFound("no such thread")
    places = await _places(executor, root.id)
    if len(places) > MAX_BRANCHES:
        raise Conflict(f"a conversation has at most {MAX_BRANCHES} branches")
    if new.source_id not in places:
        raise NotFound("no such thread")
    thread = await _make(
        executor,
        new.source_id,
        (new.start.thread_id, new.start.thread_key, root.owner, None),
        (root.id, parent_of(places, new.source_id, new.shared)),
        new.shared,
    )
    version = await begin(executor, thread, new.start, owed)
    await _select(executor, root.id, thread.id, owed, is_news=True)
    return StartedRun(new.start.run_id, thread.id, thread.key, version or thread.version)


async def make_fork(executor: Executor, new: NewFork, owed: Owed) -> None:
    """Make a conversation from another one's messages; see ``BranchMaker.fork``."""
    source = await lock_thread(executor, new.source_id)
    if source is None:
        raise NotFound("no such thread")
    last = await _last_of(executor, source, new)
    for row in await executor.fetch(_LAST, source.id, last):
        check_cut(await _lines(executor, source.id, row["run"]), last)
    named = (new.thread_id, new.thread_id, new.owner, new.title)
    thread = await _make(executor, source.id, named, (None, None), last)
    owed.announce(thread.id, thread.version)


async def select_branch(executor: Executor, root_id: str, thread_id: str, owed: Owed) -> bool:
    """Show another thread of a conversation; see ``BranchStore.select``."""
    if await lock_thread(executor, root_id) is None:
        return False
    if not await executor.fetch(_IS_OF, root_id, thread_id):
        return False
    await _select(executor, root_id, thread_id, owed, is_news=False)
    return True


async def _select(
    executor: Executor, root_id: str, thread_id: str, owed: Owed, *, is_news: bool
) -> None:
    for row in await executor.fetch(_SELECT, root_id, thread_id, is_news):
        owed.announce(root_id, row["version"])


async def _places(executor: Executor, root_id: str) -> Mapping[str, Place]:
    rows = await executor.fetch(_PLACES, root_id)
    return {root_id: Place(None, 0)} | {
        row["id"]: Place(row["parent_branch"], row["shared"]) for row in rows
    }


async def _make(
    executor: Executor,
    source_id: str,
    named: tuple[str, str, str | None, str | None],
    hangs: tuple[str | None, str | None],
    shared: int,
) -> Thread:
    """Write a thread that begins with ``source_id``'s first messages.

    Args:
        executor: the transaction.
        source_id: see above.
        named: the id, key, owner and title.
        hangs: the root and the parent, of a branch.
        shared: how many messages.
    """
    (row,) = await executor.fetch(_MAKE, source_id, *named, *hangs, shared)
    thread = thread_from(row)
    (copies,) = await executor.fetch(_COPY, source_id, thread.id, shared)
    if copies["copied"] != shared:
        raise Conflict("the conversation has changed meanwhile: look again")
    return thread


async def _last_of(executor: Executor, source: Thread, new: NewFork) -> int:
    """Return the ``seq`` of the last message that is copied; 0: none is."""
    if new.message_id is None:
        return source.seq
    for row in await executor.fetch(_CUT, source.id, new.message_id):
        seq: int = row["seq"]
        return seq - 1 if new.before else seq
    raise NotFound("no such message")


async def _lines(executor: Executor, thread_id: str, run_id: str) -> list[Line]:
    return [
        Line(
            row["id"],
            row["seq"],
            calls=row["calls"] if row["role"] == "assistant" else (),
            answers=next(iter(row["calls"]), None) if row["role"] == "tool" else None,
            is_open=row["status"] == "open",
        )
        for row in await executor.fetch(_LINES, thread_id, run_id)
    ]
