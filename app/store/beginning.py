"""A run becomes its thread's live one: its row, the user's messages and the thread, at once.

Whoever calls holds the thread's lock and has found the thread free.  Messages are written here
and not before, so that those of two runs are never interleaved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.message import MessageStatus, Role, user_key
from app.domain.ports import Ids, StartRun
from app.domain.record import NewMessage
from app.domain.run import ParentStep, Terms
from app.domain.signal import messages_of
from app.domain.storable import Json, decode, encode
from app.domain.thread import Thread
from app.store.executors import Executor
from app.store.owed import Owed
from app.store.rows import SIGNAL, columns, parse_json, signal_from

_IN_FORCE = "nullif((SELECT max(v.version) FROM agent_overrides v WHERE v.agent = {}), 0)"
"""Read with the statement that asks for the run: it keeps this version to its end."""


_TO_THE_TOP = """
    UPDATE agent_threads SET active_at = clock_timestamp()
     WHERE id = (SELECT f.id FROM agent_threads b JOIN agent_threads f ON f.id = b.conversation
                  WHERE b.id = $1 FOR NO KEY UPDATE OF f SKIP LOCKED)
"""
"""Of a branch: its conversation's root, by which lists are ordered.  It is not waited for: whoever
holds it has locked the root first, as is the order, and moves it up himself."""


def _entering(run: str) -> str:
    """Return the statement that lets a run in; ``run`` writes its row, or finds it in the way."""
    return f"""
WITH r AS (
    {run}
    RETURNING id
), m AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, parts, author,
                                dedupe, created_at)
    SELECT n.id, n.key, t.id, r.id, t.seq + n.place, t.version + 1, 'user', 'complete',
           n.parts::json, n.author, n.dedupe, clock_timestamp()
      FROM r, agent_threads t,
           unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
           WITH ORDINALITY AS n (id, key, parts, author, dedupe, place)
     WHERE t.id = $1
), c AS ({_TO_THE_TOP} AND EXISTS (SELECT FROM r))
UPDATE agent_threads o
   SET live_run = r.id, status = 'queued', error = NULL, title = coalesce(o.title, $8),
       seq = o.seq + cardinality($3::text[]), version = o.version + 1,
       updated_at = clock_timestamp(), active_at = clock_timestamp()
  FROM r
 WHERE o.id = $1
RETURNING o.version
"""


_BEGIN = _entering(f"""
    INSERT INTO agent_runs (id, thread, agent, policy, agent_version, time_limit, deadline_at,
                            parent_thread, parent, parent_fact, root_thread, override, status,
                            queued_at, created_at)
    VALUES ($2, $1, $9, $10::text::json, $11, $12::interval, clock_timestamp() + $12::interval,
            $13, $14, $15,
            (SELECT coalesce(p.root_thread, p.thread) FROM agent_runs p WHERE p.id = $14),
            {_IN_FORCE.format("$9")}, 'queued', clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO NOTHING
""")
_PROMOTE = _entering("""
    UPDATE agent_runs
       SET status = 'queued', input = NULL, queued_at = clock_timestamp(),
           deadline_at = clock_timestamp() + time_limit
     WHERE id = $2 AND status = 'pending'
""")
_HOLD_BACK = f"""
WITH r AS (
    INSERT INTO agent_runs (id, thread, agent, policy, agent_version, time_limit,
                            parent_thread, parent, parent_fact, root_thread, override, status,
                            input, place, created_at)
    VALUES ($2, $1, $5, $6::text::json, $7, $8::interval, $9, $10, $11,
            (SELECT coalesce(p.root_thread, p.thread) FROM agent_runs p WHERE p.id = $10),
            {_IN_FORCE.format("$5")}, 'pending', $3::text::json, $12, clock_timestamp())
), c AS ({_TO_THE_TOP})
UPDATE agent_threads
   SET title = coalesce(title, $4), version = version + 1, updated_at = clock_timestamp(),
       active_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""
_OLDEST_PENDING = """
SELECT id, input FROM agent_runs WHERE thread = $1 AND status = 'pending' ORDER BY place LIMIT 1
"""
_UNREAD = f"""
SELECT {columns(SIGNAL, "g")}, g.terms
  FROM agent_signals g WHERE g.thread = $1 AND g.read_at IS NULL ORDER BY g.place
"""
_READ = """
UPDATE agent_signals SET read_at = clock_timestamp(), reader = $2 WHERE id = ANY ($1::text[])
"""


@dataclass(frozen=True, slots=True)
class _Entering:
    """A run that becomes live, and the user's messages that come with it."""

    thread_id: str
    run_id: str
    rows: Sequence[NewMessage]
    title: str | None = None


async def begin(executor: Executor, thread: Thread, start: StartRun, owed: Owed) -> int | None:
    """Let a new run in and return the thread's version; ``None``: it is there already."""
    message = _said(start.run_id, start.message_id, start.parts, start.author, start.dedupe)
    entering = _Entering(thread.id, start.run_id, (message,), start.title)
    return await _enter(
        executor, _BEGIN, entering, owed, start.agent, *_columns_of(start.terms, start.parent)
    )


async def hold_back(executor: Executor, thread: Thread, start: StartRun, owed: Owed) -> None:
    """Keep a run, with what its user said, until the thread is free; its time begins only then."""
    said: dict[str, Json] = {
        "id": start.message_id,
        "parts": decode(start.parts),
        "author": start.author,
        "dedupe": start.dedupe,
    }
    rows = await executor.fetch(
        _HOLD_BACK,
        thread.id,
        start.run_id,
        encode(said),
        start.title,
        start.agent,
        *_columns_of(start.terms, start.parent),
        thread.version + 1,
    )
    owed.announce(thread.id, rows[0]["version"])


async def follow_up(
    executor: Executor, thread: Thread, ids: Ids, owed: Owed, *, run_id: str | None = None
) -> None:
    """Give a free thread to what waits for it: the unread signals first, then the oldest run.

    Args:
        executor: the transaction, which holds the thread's lock.
        thread: which one.
        ids: name the run that the signals start, unless ``run_id`` does.
        owed: told after the commit.
        run_id: see ``ids``.
    """
    unread = await executor.fetch(_UNREAD, thread.id)
    if unread:
        signals = [signal_from(row) for row in unread]
        # What was said last says how to go on.
        terms = Terms.from_json(parse_json(unread[-1]["terms"]))
        reader = run_id or ids.new()
        await executor.fetch(_READ, [signal.id for signal in signals], reader)
        entering = _Entering(thread.id, reader, messages_of(reader, signals))
        agent = terms.agent or thread.agent
        await _enter(executor, _BEGIN, entering, owed, agent, *_columns_of(terms))
        return
    for row in await executor.fetch(_OLDEST_PENDING, thread.id):
        said = parse_json(row["input"])
        message = _said(
            row["id"], said["id"], encode(said["parts"]), said["author"], said["dedupe"]
        )
        await _enter(executor, _PROMOTE, _Entering(thread.id, row["id"], (message,)), owed)


async def _enter(
    executor: Executor, statement: str, entering: _Entering, owed: Owed, *columns: object
) -> int | None:
    rows = entering.rows
    entered = await executor.fetch(
        statement,
        entering.thread_id,
        entering.run_id,
        [row.id for row in rows],
        [row.key for row in rows],
        [row.parts for row in rows],
        [row.author for row in rows],
        [row.dedupe for row in rows],
        entering.title,
        *columns,
    )
    if not entered:
        return None
    version: int = entered[0]["version"]
    owed.announce(entering.thread_id, version)
    owed.queued.append(entering.run_id)
    return version


def _said(
    run_id: str, message_id: str, parts: str, author: str | None, dedupe: str | None
) -> NewMessage:
    """Return the user's message of a run."""
    return NewMessage(
        message_id,
        user_key(run_id),
        Role.USER,
        MessageStatus.COMPLETE,
        parts,
        author=author,
        dedupe=dedupe,
    )


def _columns_of(terms: Terms, parent: ParentStep | None = None) -> tuple[object, ...]:
    return (
        encode(dict(terms.policy)),
        terms.agent_version,
        terms.timeout,
        parent and parent.thread_id,
        parent and parent.run_id,
        parent and parent.fact,
    )
