"""Ending a run: one transaction, whoever ends it.

Before it ends, what the journal still holds is taken in: a tool that had finished is
recorded as finished, and the text that people saw is kept.  Then nothing of the run is
open any more: no result row, no approval, no timer, no child, no claim on the thread.  Its
parent is told, and whoever waits for the thread gets it, all in the same transaction.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from app.domain import notice
from app.domain.errors import JournalUnavailable
from app.domain.message import assistant_key, interrupted_part, plain_text
from app.domain.output_policy import schema_of
from app.domain.ports import Ids, Journal, Salvage, ShownText
from app.domain.record import NewMessage, Record
from app.domain.run import FINAL, Ended, Ending, Fence, Run, RunStatus, advance
from app.domain.settling import cost_of, interrupted_message
from app.domain.storable import Json, decode, encode
from app.domain.thread import Thread, shown_status
from app.store.beginning import follow_up
from app.store.executors import Executor, savepoint
from app.store.faults import DRIVER_ERRORS, driver_error, is_transient, translated
from app.store.locking import lock_thread, read_run
from app.store.owed import Owed
from app.store.recording import record_step, refusal
from app.store.rows import parts_from
from app.store.showing import roots_of_pending
from app.store.waking import store_fact

log = logging.getLogger(__name__)

_OPEN_RESULTS = "SELECT id, parts FROM agent_messages WHERE run = $1 AND status = 'open'"
_ANSWERED = "SELECT key FROM agent_messages WHERE key = ANY ($1::text[])"
_END = """
WITH t AS (
    SELECT id, seq, version + 1 AS version FROM agent_threads WHERE id = $1
), o AS (
    UPDATE agent_messages m
       SET status = 'interrupted', parts = n.parts::json, version = t.version
      FROM t, unnest($3::text[], $4::text[]) AS n (id, parts)
     WHERE m.id = n.id
), m AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, turn, parts,
                                usage, created_at)
    SELECT n.id, n.key, $1, $2, t.seq + n.place, t.version, n.role, n.status, n.turn,
           n.parts::json, n.usage::json, clock_timestamp()
      FROM t, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::text[],
                     $11::text[])
              WITH ORDINALITY AS n (id, key, role, status, turn, parts, usage, place)
), a AS (
    UPDATE agent_approvals a SET status = 'cancelled', version = t.version
      FROM t WHERE a.thread = $1 AND a.run = $2 AND a.status = 'pending'
), w AS (
    DELETE FROM agent_timers WHERE run = $2 AND fired_at IS NULL
), r AS (
    UPDATE agent_runs
       SET status = $12, stopped = $13, error = $14::text::json, worker = NULL, waits = NULL,
           usage = coalesce($15::text::json, usage), output = $19::text::json,
           finished_at = clock_timestamp()
     WHERE id = $2
)
UPDATE agent_threads o
   SET live_run = NULL, status = $17, error = $14::text::json, epoch = o.epoch + $18,
       usage = coalesce($16::text::json, o.usage), seq = t.seq + cardinality($5::text[]),
       version = t.version, updated_at = clock_timestamp()
  FROM t
 WHERE o.id = t.id
RETURNING o.version,
          EXISTS (SELECT FROM agent_runs c WHERE c.parent = $2 AND c.finished_at IS NULL)
          AS has_children,
          EXISTS (SELECT FROM agent_signals g WHERE g.thread = o.id AND g.read_at IS NULL)
       OR EXISTS (SELECT FROM agent_runs p WHERE p.thread = o.id AND p.status = 'pending')
          AS is_waited_for
"""
_END_PENDING = """
WITH r AS (
    UPDATE agent_runs
       SET status = $3, stopped = $4, error = $5::text::json, finished_at = clock_timestamp()
     WHERE id = $2
)
UPDATE agent_threads SET version = version + 1, updated_at = clock_timestamp() WHERE id = $1
RETURNING version
"""
_CHILDREN = """
SELECT id, thread FROM agent_runs WHERE parent = $1 AND finished_at IS NULL ORDER BY thread, id
"""
_LAST_SAID = """
SELECT parts FROM agent_messages WHERE thread = $1 AND run = $2 AND role = 'assistant'
 ORDER BY seq DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Settler:
    """Ends runs.  ``journal`` is closed under the thread's lock, within its own bound."""

    journal: Journal
    ids: Ids

    async def end(
        self,
        executor: Executor,
        thread: Thread,
        run: Run,
        ending: Ending,
        owed: Owed,
        *,
        frees: bool = True,
    ) -> None:
        """End an unfinished run from outside: its journal and its drive are of no use any more.

        Args:
            executor: the transaction, which holds the thread's lock and, before it, that of the
                parent's thread.
            thread: as it is under the lock.
            run: the thread's live one, or one that is held back.
            ending: how.
            owed: told after the commit.
            frees: whether the thread goes to whoever waits for it.
        """
        if run.status is RunStatus.PENDING:
            await _end_pending(executor, thread, run, ending, owed)
            return
        fence = Fence(thread.id, run.id, thread.epoch)
        owed.ended.append(fence)
        if run.status is RunStatus.RUNNING and run.worker is not None:
            owed.driven.append((run.worker, fence))
        await self.settle(executor, thread, run, ending, owed, frees=frees)

    async def settle(
        self,
        executor: Executor,
        thread: Thread,
        run: Run,
        ending: Ending,
        owed: Owed,
        *,
        frees: bool = True,
    ) -> None:
        """End the live run of a locked thread; see ``end``."""
        fence = Fence(thread.id, run.id, thread.epoch)
        cut_off: Sequence[ShownText] = ()
        if ending.status is not RunStatus.COMPLETED:
            salvage = await self._close(fence, owed)
            await _take_in(executor, fence, salvage.entries)
            cut_off = await _unanswered(executor, fence, salvage.shown)
            if run.parent is not None:
                owed.shown.update(await roots_of_pending(executor, run.id))
        text = interrupted_message(self.ids.new(), run.id, thread.epoch, cut_off)
        cost = cost_of(run.id, cut_off)
        change = advance(run.status, Ended(ending.status))
        rows = await executor.fetch(
            _END,
            thread.id,
            run.id,
            *await _interrupted_results(executor, run.id),
            *_columns(() if text is None else (text,)),
            change.status.value,
            ending.stopped,
            _error(ending),
            None if cost is None else encode((run.usage + cost).to_json()),
            None if cost is None else encode((thread.usage + cost).to_json()),
            shown_status(change.status).value,
            change.epoch,
            None if ending.output is None else f'{{"value":{ending.output}}}',
        )
        owed.announce(thread.id, rows[0]["version"])
        if rows[0]["has_children"]:
            await self._end_children(executor, run.id, owed)
        await _tell_parent(executor, run, ending, owed)
        owed.tell(notice.ended(thread, run, ending))
        if frees and rows[0]["is_waited_for"]:
            await follow_up(executor, thread, self.ids, owed)

    async def _end_children(self, executor: Executor, run_id: str, owed: Owed) -> None:
        for row in await executor.fetch(_CHILDREN, run_id):
            thread = await lock_thread(executor, row["thread"])
            child = await read_run(executor, row["id"])
            if thread is not None and child.status not in FINAL:
                await self.end(executor, thread, child, Ending.cancelled(), owed)

    async def _close(self, fence: Fence, owed: Owed) -> Salvage:
        if owed.has_no_journal:
            return Salvage()
        try:
            return await self.journal.close(fence.thread_id, fence.epoch)
        except JournalUnavailable as error:
            log.warning("run %s ends without its journal: %s", fence.run_id, error)
            owed.has_no_journal = True
            return Salvage()


async def _unanswered(
    executor: Executor, fence: Fence, shown: Sequence[ShownText]
) -> Sequence[ShownText]:
    """Return what was seen of a turn whose answer is not stored."""
    mine = [piece for piece in shown if piece.run_id == fence.run_id]
    if not mine:
        return ()
    keys = {piece.turn: assistant_key(fence.run_id, piece.turn) for piece in mine}
    rows = await executor.fetch(_ANSWERED, list(keys.values()))
    answered = {row["key"] for row in rows}
    return [piece for piece in mine if keys[piece.turn] not in answered]


async def _take_in(executor: Executor, fence: Fence, entries: Sequence[Record]) -> None:
    """Record finished steps, each on its own: one that is refused does not hold up the end."""
    for entry in entries:
        if entry.run_id != fence.run_id:
            continue
        try:
            async with savepoint(executor):
                await record_step(executor, fence, entry)
        except (*DRIVER_ERRORS, DBAPIError) as error:
            cause = driver_error(error)
            if is_transient(cause):
                raise
            log.warning("run %s: %s", fence.run_id, refusal(entry, translated(cause)))


async def _end_pending(
    executor: Executor, thread: Thread, run: Run, ending: Ending, owed: Owed
) -> None:
    """End a run that never began: its thread goes on with another."""
    status = advance(run.status, Ended(ending.status)).status.value
    rows = await executor.fetch(
        _END_PENDING, thread.id, run.id, status, ending.stopped, _error(ending)
    )
    owed.announce(thread.id, rows[0]["version"])
    await _tell_parent(executor, run, ending, owed)


async def _tell_parent(executor: Executor, run: Run, ending: Ending, owed: Owed) -> None:
    """Store the fact that a child has ended in the run that waits for it."""
    parent = run.parent
    if parent is None or await lock_thread(executor, parent.thread_id) is None:
        return
    value: dict[str, Json] = {
        "runId": run.id,
        "status": ending.status.value,
        "error": ending.error.to_json() if ending.error else None,
    }
    if ending.output is not None:
        value["answer"] = decode(ending.output)
    elif schema_of(run.policy) is None:  # words are no answer where a form was asked for
        value["answer"] = await _last_said(executor, run)
    waiting = await read_run(executor, parent.run_id)
    await store_fact(executor, waiting, parent.fact, encode(value), owed)


async def _last_said(executor: Executor, run: Run) -> str:
    said = await executor.fetch(_LAST_SAID, run.thread_id, run.id)
    return plain_text(parts_from(said[0]["parts"])) if said else ""


def _error(ending: Ending) -> str | None:
    return encode(ending.error.to_json()) if ending.error else None


async def _interrupted_results(executor: Executor, run_id: str) -> tuple[list[str], list[str]]:
    """Return ids and parts of the run's open results, as they stand from now on."""
    rows = await executor.fetch(_OPEN_RESULTS, run_id)
    parts = [[interrupted_part(part) for part in parts_from(row["parts"])] for row in rows]
    return [row["id"] for row in rows], [encode(part) for part in parts]


def _columns(rows: Sequence[NewMessage]) -> tuple[list[object], ...]:
    return (
        [row.id for row in rows],
        [row.key for row in rows],
        [row.role.value for row in rows],
        [row.status.value for row in rows],
        [row.turn for row in rows],
        [row.parts for row in rows],
        [row.usage for row in rows],
    )
