"""Starting a run, inside any transaction, and what a busy thread does with one more.

    reject   refuses it, and says which run is unfinished
    replace  ends the live run as cancelled and starts this one, at once
    queue    holds it back until the thread is free: first in, first out
    steer    starts nothing: the live run reads what was said before its next model request

The thread's row is locked there and then: until the transaction ends, nobody else can
start a run on it.  If the transaction is rolled back, nothing has started.
"""

from dataclasses import dataclass, replace

from app.domain.errors import Conflict, Forbidden, InvalidArgument
from app.domain.message import plain_text
from app.domain.ports import OnBusy, StartedRun, StartRun
from app.domain.run import Ending, Run
from app.domain.signal import NewSignal, SignalMode
from app.domain.thread import Thread
from app.store.beginning import begin, hold_back
from app.store.executors import Executor
from app.store.locking import lock_thread, lock_to_end, read_run
from app.store.owed import Owed
from app.store.rows import THREAD, THREADS, columns, parts_from, thread_from
from app.store.settling import Settler
from app.store.signalling import reader_of, store_signal

_MEANT = """
SELECT coalesce((SELECT b.id FROM agent_threads b
                  WHERE b.id = coalesce((SELECT r.thread FROM agent_runs r WHERE r.id = $2),
                                        (SELECT g.thread FROM agent_signals g WHERE g.id = $3))
                    AND k.id IN (b.id, b.conversation)), k.branch, k.id) AS id
  FROM agent_threads k WHERE k.key = $1
"""
"""The thread that a key stands for.  A root's key is the conversation's: it is the branch that is
shown, or the one that this very run, or what it said to the live one, is in already.  Which one is
shown is not locked: who selects another at the same time did so before or after."""
_LOCK = f"{THREADS} WHERE t.id = ({_MEANT}) FOR NO KEY UPDATE"
_MAKE = f"""
INSERT INTO agent_threads (id, key, agent, owner, state, status)
VALUES ($1, $2, $3, $4, $5::text::json, 'queued')
    ON CONFLICT DO NOTHING
RETURNING {columns(THREAD, "agent_threads")}
"""
_PLACE = """
SELECT r.status, (SELECT count(*) FROM agent_runs p
                   WHERE p.thread = r.thread AND p.status = 'pending' AND p.place <= r.place)
                 AS position
  FROM agent_runs r WHERE r.id = $1
"""
_VERSION = "SELECT version FROM agent_threads WHERE id = $1"


async def start_run(
    executor: Executor, start: StartRun, settler: Settler, owed: Owed
) -> StartedRun:
    """Write thread, run and the user's message; the run exists once this has committed.

    Starting the same ``run_id`` again changes nothing and answers the same.

    Raises:
        Forbidden: the thread belongs to somebody else.
        Conflict: the thread has an unfinished run, and ``on_busy`` is ``reject``.
        InvalidArgument: the thread's id is another thread's.
    """
    meant = None
    if start.on_busy is OnBusy.REPLACE:
        for row in await executor.fetch(_MEANT, *_meaning(start)):
            meant = row["id"]
            await lock_to_end(executor, meant)
    thread = await _locked_thread(executor, start, meant)
    if thread.owner not in {None, start.owner} and not start.as_admin:
        raise Forbidden(f"thread {start.thread_key!r} belongs to somebody else")
    if start.on_busy is OnBusy.STEER:
        reader = await reader_of(executor, start.message_id)
        if reader is not None:
            return _steered(thread, reader.run_id or thread.live_run or start.run_id)
    if thread.live_run is None or thread.live_run == start.run_id:
        version = await begin(executor, thread, start, owed)
        return StartedRun(start.run_id, thread.id, thread.key, version or thread.version)
    if not await executor.fetch(_PLACE, start.run_id):
        busy = _Busy(thread, await read_run(executor, thread.live_run))
        if start.on_busy is OnBusy.STEER:
            await store_signal(executor, thread, _signal(thread, start), owed)
            return _steered(thread, busy.live.id, version=thread.version + 1)
        await _start_on_busy(executor, busy, start, settler, owed)
    return await _started(executor, thread, start)


async def is_held(executor: Executor, start: StartRun) -> bool:
    """Whether somebody else holds the thread that a start means; if not, it is locked now."""
    meant = _meaning(start)
    rows = await executor.fetch(_MEANT, *meant)
    return bool(rows) and not await executor.fetch(f"{_LOCK} SKIP LOCKED", *meant)


@dataclass(frozen=True, slots=True)
class _Busy:
    """A locked thread and its unfinished run."""

    thread: Thread
    live: Run


async def _start_on_busy(
    executor: Executor, busy: _Busy, start: StartRun, settler: Settler, owed: Owed
) -> None:
    thread, live = busy.thread, busy.live
    if start.on_busy is OnBusy.REPLACE:
        await settler.end(executor, thread, live, Ending.cancelled(), owed, frees=False)
        await begin(executor, thread, start, owed)
    elif start.on_busy is OnBusy.QUEUE:
        await hold_back(executor, thread, start, owed)
    else:
        data = {"runId": live.id, "status": live.status.value}
        raise Conflict(f"thread {start.thread_key!r} has an unfinished run", data)


async def _started(executor: Executor, thread: Thread, start: StartRun) -> StartedRun:
    (run,) = await executor.fetch(_PLACE, start.run_id)
    (found,) = await executor.fetch(_VERSION, thread.id)
    position = run["position"] if run["status"] == "pending" else None
    return StartedRun(start.run_id, thread.id, thread.key, found["version"], position=position)


def _steered(thread: Thread, run_id: str, version: int | None = None) -> StartedRun:
    return StartedRun(run_id, thread.id, thread.key, version or thread.version, steered=True)


def _signal(thread: Thread, start: StartRun) -> NewSignal:
    return NewSignal(
        id=start.message_id,
        thread_id=thread.id,
        mode=SignalMode.STEER,
        text=plain_text(parts_from(start.parts)),
        sender=f"user:{start.author}" if start.author else "anonymous",
        run_id=start.run_id,
        message_id=start.message_id,
        terms=replace(start.terms, agent=start.agent),
        author=start.author,
        dedupe=start.dedupe,
    )


def _meaning(start: StartRun) -> tuple[str, str, str]:
    """Return what tells which thread a start means."""
    return start.thread_key, start.run_id, start.message_id


async def _locked_thread(executor: Executor, start: StartRun, meant: str | None) -> Thread:
    if meant is not None and (thread := await lock_thread(executor, meant)) is not None:
        return thread
    made = (start.thread_id, start.thread_key, start.agent, start.owner, start.initial_state)
    for _ in range(3):
        found = await executor.fetch(_LOCK, *_meaning(start))
        found = found or await executor.fetch(_MAKE, *made)
        if found:
            return thread_from(found[0])
        # Somebody made it between the two: lock theirs.
    raise InvalidArgument(f"the id {start.thread_id!r} belongs to a thread with another key")
