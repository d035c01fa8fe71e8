"""``CronStore`` on Postgres: the deck in force, and the slots of its crons.

A cron's row says all that its slots need, so a worker of any release can materialise them: each
becomes one row of ``agent_timers`` or ``agent_scheduled_calls``, in the transaction that moves
the cron to its next slot and under the lock of the cron's row.  What a slot starts is then fired
like anything else that is due.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from app.domain.cron import CatchUp, CronPlan, Deck, DueSlots, Following, Overlap, due_at, due_slots
from app.domain.identity import Identity
from app.domain.ports import Ids, StartRun
from app.domain.ports.schedules import CronState
from app.domain.run import FINAL
from app.domain.scheduled import CallTarget
from app.domain.storable import encode
from app.store.database import Connection, Database
from app.store.executors import Executor, Row
from app.store.rows import parse_json
from app.store.scheduled_calls import put_call
from app.store.timers import schedule, start_from_json, start_to_json

log = logging.getLogger(__name__)

LIVES_FOR = timedelta(seconds=30)
"""After nobody said so any more, a deck is one that no living worker has."""
OVERLAPS = "skipped: the firing before it has not ended"
MISSED = "missed: no worker was there"

_PRESENT = "SELECT clock_timestamp() AS now"
_SEEN = """
INSERT INTO agent_cron_decks (id, declared_at, seen_at, holds)
VALUES ($1, clock_timestamp(), clock_timestamp(), false)
    ON CONFLICT (id) DO UPDATE
   SET declared_at = CASE WHEN $2 AND agent_cron_decks.seen_at < clock_timestamp() - $3::interval
                          THEN clock_timestamp() ELSE agent_cron_decks.declared_at END,
       seen_at = clock_timestamp()
"""
_NEWEST = """
SELECT id, holds FROM agent_cron_decks
 WHERE seen_at >= clock_timestamp() - $1::interval
 ORDER BY declared_at DESC, id DESC LIMIT 1
"""
_LOCK_DECKS = "SELECT id FROM agent_cron_decks ORDER BY id FOR UPDATE"
_HOLDS = "UPDATE agent_cron_decks SET holds = (id = $1) WHERE holds OR id = $1"
_REMOVE = "DELETE FROM agent_crons WHERE NOT name = ANY ($1::text[]) RETURNING name"
_WITHDRAW = """
DELETE FROM agent_scheduled_calls
 WHERE cron = ANY ($1::text[]) AND made_at IS NULL AND attempts = 0
"""
_KNOWN = "SELECT name, expression, timezone FROM agent_crons ORDER BY name FOR UPDATE"
_DECLARE = """
INSERT INTO agent_crons (name, expression, timezone, catch_up, overlap, start, call, next_at)
VALUES ($1, $2, $3, $4, $5, $6::text::json, $7::text::json, $8)
    ON CONFLICT (name) DO UPDATE
   SET expression = $2, timezone = $3, catch_up = $4, overlap = $5,
       start = $6::text::json, call = $7::text::json,
       next_at = $8
"""
_CHANGE = """
UPDATE agent_crons
   SET catch_up = $2, overlap = $3, start = $4::text::json, call = $5::text::json
 WHERE name = $1
"""
_DUE = """
SELECT name FROM agent_crons WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT $1
"""
_LOCK = """
SELECT c.*, clock_timestamp() AS now FROM agent_crons c
 WHERE name = $1 AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
"""
_ADVANCE = """
UPDATE agent_crons
   SET next_at = $2, last_slot = coalesce($3, last_slot), outcome = $4,
       last_fired = coalesce($5, last_fired)
 WHERE name = $1
"""
_NOT_ENDED = """
SELECT 1 WHERE EXISTS (SELECT FROM agent_timers WHERE cron = $1 AND fired_at IS NULL)
            OR EXISTS (SELECT FROM agent_scheduled_calls WHERE cron = $1 AND made_at IS NULL)
            OR EXISTS (SELECT FROM agent_runs WHERE id = $2 AND NOT status = ANY ($3::text[]))
"""
_ALL = """
SELECT c.*, r.status AS run_status, coalesce(m.error, s.error) AS error, s.made_at
  FROM agent_crons c
  LEFT JOIN agent_runs r ON r.id = c.last_fired
  LEFT JOIN agent_timers m ON m.cron = c.name AND m.start ->> 'run_id' = c.last_fired
  LEFT JOIN agent_scheduled_calls s ON s.id = c.last_fired
 ORDER BY c.name
"""


class PostgresCrons:
    """Implements ``app.domain.ports.schedules.CronStore``, which says what each method does."""

    def __init__(self, database: Database, following: Following, ids: Ids) -> None:
        self._db = database
        self._following = following
        self._ids = ids
        self._strange: set[str] = set()

    async def hold(self, deck: Deck, *, arriving: bool) -> None:
        """See ``CronStore.hold``."""
        await self._db.fetch(_SEEN, deck.id, arriving, LIVES_FOR)
        newest = await self._db.first(_NEWEST, LIVES_FOR)
        if newest is not None and newest["id"] == deck.id and not newest["holds"]:
            await self._db.transact(lambda connection: self._deal(connection, deck))

    async def advance(self, limit: int) -> int:
        """See ``CronStore.advance``."""
        advanced = 0
        for row in await self._db.fetch(_DUE, limit):
            try:
                advanced += await self._advanced(row["name"])
            except (LookupError, TypeError, ValueError):
                # Written by another release, or this machine lacks its zone: the others go on.
                if row["name"] not in self._strange:
                    log.exception("the cron %s is not understood here", row["name"])
                self._strange.add(row["name"])
        return advanced

    async def crons(self) -> Sequence[CronState]:
        """See ``CronStore.crons``."""
        return [_state(row) for row in await self._db.fetch(_ALL)]

    async def _deal(self, connection: Connection, deck: Deck) -> None:
        """Make the crons those of a deck, if it still is the newest one."""
        await connection.fetch(_LOCK_DECKS)
        (newest,) = await connection.fetch(_NEWEST, LIVES_FOR)
        if newest["id"] != deck.id or newest["holds"]:
            return
        known = {
            row["name"]: (row["expression"], row["timezone"])
            for row in await connection.fetch(_KNOWN)
        }
        names = [plan.name for plan in deck.plans]
        gone = [row["name"] for row in await connection.fetch(_REMOVE, names)]
        await connection.fetch(_WITHDRAW, gone)
        (present,) = await connection.fetch(_PRESENT)
        for plan in deck.plans:
            timing = (plan.expression, plan.timezone)
            if known.get(plan.name) == timing:
                await connection.fetch(_CHANGE, plan.name, *_manner(plan))
            else:
                next_at = self._following(*timing, present["now"])
                await connection.fetch(_DECLARE, plan.name, *timing, *_manner(plan), next_at)
        await connection.fetch(_HOLDS, deck.id)
        log.info("crons: %s", ", ".join(names) or "none")

    async def _advanced(self, name: str) -> bool:
        return await self._db.transact(lambda connection: self._advance(connection, name))

    async def _advance(self, connection: Connection, name: str) -> bool:
        """Materialise a cron's due slots and move it to the next one."""
        found = await connection.fetch(_LOCK, name)
        if not found:
            return False
        row, plan = found[0], _plan(found[0])
        due = due_slots(plan, row["next_at"], row["now"], self._following)
        _log_missed(plan, due)
        outcome, last_fired = MISSED if due.missed else None, row["last_fired"]
        for place, slot in enumerate(due.fire):
            outcome = None
            if plan.overlap is Overlap.SKIP and await _has_not_ended(connection, name, last_fired):
                log.warning("cron %s: the slot %s is %s", name, slot, OVERLAPS)
                outcome = OVERLAPS
                continue
            since = due_at(slot, row["now"], place)
            last_fired = await self._materialise(connection, plan, slot, since)
        last_slot = max((*due.fire, *due.missed), default=None)
        await connection.fetch(_ADVANCE, name, due.next_at, last_slot, outcome, last_fired)
        return True

    async def _materialise(
        self, executor: Executor, plan: CronPlan, slot: datetime, since: datetime
    ) -> str:
        if isinstance(plan.target, StartRun):
            start = plan.start_at(slot, self._ids)
            await schedule(executor, plan.key(slot), start, since, plan.name)
            return start.run_id
        call_id = self._ids.new()
        await put_call(executor, call_id, plan.target, since, cron=plan.name, slot=slot)
        return call_id


def _log_missed(plan: CronPlan, due: DueSlots) -> None:
    if due.missed:
        log.warning(
            "cron %s: %s%d slots were missed, %s to %s; catch_up is %s: %d fire now",
            plan.name,
            "more than " if due.is_cut else "",
            len(due.missed),
            due.missed[0],
            due.missed[-1],
            plan.catch_up.value,
            len(due.fire),
        )
    elif due.is_cut:
        log.warning("cron %s: of the slots that were missed, the latest fire now", plan.name)


async def _has_not_ended(executor: Executor, name: str, last_fired: str | None) -> bool:
    final = [status.value for status in FINAL]
    return bool(await executor.fetch(_NOT_ENDED, name, last_fired, final))


def _manner(plan: CronPlan) -> tuple[str, str, str | None, str | None]:
    """Return the columns that say what a slot does."""
    start, call = None, None
    if isinstance(plan.target, StartRun):
        start = start_to_json(plan.target)
    else:
        caller = plan.target.caller
        roles = sorted(caller.roles)
        call = encode(asdict(plan.target) | {"caller": {"user": caller.user_id, "roles": roles}})
    return plan.catch_up.value, plan.overlap.value, start, call


def _plan(row: Row) -> CronPlan:
    target: StartRun | CallTarget
    if row["start"] is not None:
        target = start_from_json(row["start"])
    else:
        stored: dict[str, Any] = parse_json(row["call"])
        caller = Identity(stored["caller"]["user"], frozenset(stored["caller"]["roles"]))
        target = CallTarget(stored["function"], stored["arguments"], caller)
    return CronPlan(
        row["name"],
        row["expression"],
        row["timezone"],
        target,
        CatchUp(row["catch_up"]),
        Overlap(row["overlap"]),
    )


def _state(row: Row) -> CronState:
    """Return what is shown of a cron, also of one that only another release understands."""
    if row["start"] is not None:
        target = f"agent:{parse_json(row['start'])['agent']}"
    else:
        target = parse_json(row["call"])["function"]
    outcome = row["outcome"] or row["error"] or row["run_status"]
    if outcome is None and row["last_slot"] is not None:
        outcome = "called" if row["made_at"] is not None else "fired"
    return CronState(
        row["name"],
        target,
        row["expression"],
        row["timezone"],
        row["next_at"],
        row["last_slot"],
        outcome,
    )
