"""Ending a run: one transaction, whoever ends it.

Before it ends, what the journal still holds is taken in: a tool that had finished is
recorded as finished, and the text that people saw is kept.  Then nothing of the run is
open any more: no result row, no approval, no claim on the thread.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import JournalUnavailable
from app.domain.message import assistant_key, interrupted_part
from app.domain.ports import Ids, Journal, Salvage, ShownText
from app.domain.record import NewMessage, Record
from app.domain.run import Ended, Ending, Fence, Run, RunStatus, advance
from app.domain.settling import interrupted_message
from app.domain.storable import encode
from app.domain.thread import Thread, shown_status
from app.store.database import Connection
from app.store.faults import DRIVER_ERRORS, is_transient, translated
from app.store.owed import Owed
from app.store.recording import record_step, refusal
from app.store.rows import parts_from

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
                                created_at)
    SELECT n.id, n.key, $1, $2, t.seq + n.place, t.version, n.role, n.status, n.turn,
           n.parts::json, clock_timestamp()
      FROM t, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::text[])
              WITH ORDINALITY AS n (id, key, role, status, turn, parts, place)
), a AS (
    UPDATE agent_approvals a SET status = 'cancelled', version = t.version
      FROM t WHERE a.thread = $1 AND a.run = $2 AND a.status = 'pending'
), r AS (
    UPDATE agent_runs
       SET status = $11, stopped = $12, error = $13::text::json, worker = NULL, waits = NULL,
           finished_at = clock_timestamp()
     WHERE id = $2
)
UPDATE agent_threads o
   SET live_run = NULL, status = $14, error = $13::text::json, epoch = o.epoch + $15,
       seq = t.seq + cardinality($5::text[]), version = t.version, updated_at = clock_timestamp()
  FROM t
 WHERE o.id = t.id
RETURNING o.version
"""


@dataclass(frozen=True, slots=True)
class Settler:
    """Ends runs.  ``journal`` is closed under the thread's lock, within its own bound."""

    journal: Journal
    ids: Ids

    async def settle(
        self, connection: Connection, thread: Thread, run: Run, ending: Ending, owed: Owed
    ) -> None:
        """End the run of a locked thread."""
        fence = Fence(thread.id, run.id, thread.epoch)
        texts: Sequence[NewMessage] = ()
        if ending.status is not RunStatus.COMPLETED:
            salvage = await self._close(fence)
            await _take_in(connection, fence, salvage.entries)
            texts = await self._cut_off(connection, fence, salvage.shown)
        change = advance(run.status, Ended(ending.status))
        rows = await connection.fetch(
            _END,
            thread.id,
            run.id,
            *await _interrupted_results(connection, run.id),
            *_columns(texts),
            change.status.value,
            ending.stopped,
            encode(ending.error.to_json()) if ending.error else None,
            shown_status(change.status).value,
            change.epoch,
        )
        owed.announce(thread.id, rows[0]["version"])

    async def _close(self, fence: Fence) -> Salvage:
        try:
            return await self.journal.close(fence.thread_id, fence.epoch)
        except JournalUnavailable as error:
            log.warning("run %s ends without its journal: %s", fence.run_id, error)
            return Salvage()

    async def _cut_off(
        self, connection: Connection, fence: Fence, shown: Sequence[ShownText]
    ) -> Sequence[NewMessage]:
        """Return the text that was seen of a turn whose answer is not stored."""
        mine = [piece for piece in shown if piece.run_id == fence.run_id]
        if not mine:
            return ()
        keys = {piece.turn: assistant_key(fence.run_id, piece.turn) for piece in mine}
        rows = await connection.fetch(_ANSWERED, list(keys.values()))
        answered = {row["key"] for row in rows}
        unanswered = [piece for piece in mine if keys[piece.turn] not in answered]
        message = interrupted_message(self.ids.new(), fence.run_id, fence.epoch, unanswered)
        return () if message is None else (message,)


async def _take_in(connection: Connection, fence: Fence, entries: Sequence[Record]) -> None:
    """Record finished steps, each on its own: one that is refused does not hold up the end."""
    for entry in entries:
        if entry.run_id != fence.run_id:
            continue
        try:
            async with connection.transaction():
                await record_step(connection, fence, entry)
        except DRIVER_ERRORS as error:
            if is_transient(error):
                raise
            log.warning("run %s: %s", fence.run_id, refusal(entry, translated(error)))


async def _interrupted_results(connection: Connection, run_id: str) -> tuple[list[str], list[str]]:
    """Return ids and parts of the run's open results, as they stand from now on."""
    rows = await connection.fetch(_OPEN_RESULTS, run_id)
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
    )
