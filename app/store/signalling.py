"""Messages put into a conversation from outside.

A busy thread keeps them until its run reads them, or until that ends; an idle one starts a run
that reads them.  ``wakes`` grows with each, so that none slips in between the last turn and the
end.  A run that waits is not woken.
"""

from dataclasses import dataclass

from app.domain.ports import Ids
from app.domain.signal import NewSignal, Signalled
from app.domain.storable import encode
from app.domain.thread import Thread
from app.store.beginning import follow_up
from app.store.executors import Executor
from app.store.owed import Owed
from app.store.rows import THREADS, thread_from

_MEANT = """
SELECT coalesce((SELECT g.thread FROM agent_signals g WHERE g.id = $2), k.branch, k.id) AS id
  FROM agent_threads k WHERE k.id = $1
"""
"""A signal for a root is for the conversation: for the branch that is shown, once and for all."""
_LOCK = f"{THREADS} WHERE t.id = ({_MEANT}) FOR NO KEY UPDATE"
_READER = "SELECT reader FROM agent_signals WHERE id = $1"
_STORE = """
INSERT INTO agent_signals (id, thread, place, mode, text, sender, author, dedupe, terms,
                           created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, clock_timestamp())
"""
_COUNT = """
UPDATE agent_threads SET version = version + 1, wakes = wakes + 1, updated_at = clock_timestamp()
 WHERE id = $1
RETURNING version
"""


@dataclass(frozen=True, slots=True)
class Reader:
    """The run that read a stored signal; ``None``: it is unread."""

    run_id: str | None


async def put_signal(
    executor: Executor, signal: NewSignal, ids: Ids, owed: Owed
) -> Signalled | None:
    """Store a signal, once; on an idle thread start the run that reads it."""
    found = await executor.fetch(_LOCK, signal.thread_id, signal.id)
    if not found:
        return None
    thread = thread_from(found[0])
    reader = await reader_of(executor, signal.id)
    if reader is not None:
        return Signalled(reader.run_id == signal.run_id, reader.run_id or thread.live_run)
    if thread.live_run is not None:
        await store_signal(executor, thread, signal, owed)
        return Signalled(woke=False, run_id=thread.live_run)
    await executor.fetch(_STORE, *_columns(thread, signal))
    await follow_up(executor, thread, ids, owed, run_id=signal.run_id)
    return Signalled(woke=True, run_id=signal.run_id)


async def store_signal(executor: Executor, thread: Thread, signal: NewSignal, owed: Owed) -> None:
    """Keep a new signal for the live run of a locked thread."""
    await executor.fetch(_STORE, *_columns(thread, signal))
    rows = await executor.fetch(_COUNT, thread.id)
    owed.announce(thread.id, rows[0]["version"])


async def reader_of(executor: Executor, signal_id: str) -> Reader | None:
    """Return who read a signal; ``None``: there is no such signal."""
    rows = await executor.fetch(_READER, signal_id)
    return Reader(rows[0]["reader"]) if rows else None


def _columns(thread: Thread, signal: NewSignal) -> tuple[object, ...]:
    return (
        signal.id,
        thread.id,
        thread.version + 1,
        signal.mode.value,
        signal.text,
        signal.sender,
        signal.author,
        signal.dedupe,
        encode(signal.terms.to_json()),
    )
