"""What happens when it is due, once, whoever restarts: a fact of a run, or the start of one.

Due times are compared by Postgres's clock alone.  Each timer fires in a transaction of its own,
with what it wakes or starts; a thread that somebody else holds just now is passed over until
the next time, so that one stuck thread does not hold up the others.
"""

import logging
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from typing import Any

from asyncpg.exceptions import LockNotAvailableError

from app.domain.approval import EXPIRY
from app.domain.errors import ClientFault, RecordRefused, StoreUnavailable
from app.domain.ports import OnBusy, StartRun
from app.domain.run import ParentStep, Terms
from app.domain.storable import encode, storable_text
from app.store.executors import Executor, Row
from app.store.locking import lock_free_thread, read_run
from app.store.owed import Owed
from app.store.rows import parse_json
from app.store.settling import Settler
from app.store.showing import lock_roots
from app.store.starting import is_held, start_run
from app.store.transacting import Transacting
from app.store.waiting import expire
from app.store.waking import store_fact

log = logging.getLogger(__name__)

_SCHEDULE = """
INSERT INTO agent_timers (id, start, due_at, cron) VALUES ($1, $2::text::json, $3, $4)
    ON CONFLICT (id) DO NOTHING
"""
UNDERSTOOD_WITHIN = timedelta(hours=1)
"""So long may a release that brings a new kind of start take to arrive at the workers."""

_DUE = """
SELECT id, thread, run, fact, due_at < clock_timestamp() - $2::interval AS is_given_up
  FROM agent_timers m
 WHERE fired_at IS NULL AND due_at <= clock_timestamp()
   AND (start IS NULL OR due_at < clock_timestamp() - $2::interval
        OR NOT EXISTS (SELECT FROM json_object_keys(m.start) k WHERE NOT k = ANY ($3::text[])))
 ORDER BY due_at LIMIT $1
"""
"""A start that says more than this release knows is left to the one that wrote it, for a while."""
_START = """
SELECT start FROM agent_timers m
 WHERE id = $1 AND fired_at IS NULL
   AND (cron IS NULL OR NOT EXISTS (
        SELECT FROM agent_timers e
         WHERE e.cron = m.cron AND e.due_at < m.due_at AND e.fired_at IS NULL))
   FOR UPDATE SKIP LOCKED
"""
"""The slots of a cron start in their order: one whose thread is held makes the next wait."""
_CANCEL = "DELETE FROM agent_timers WHERE id = $1 AND run IS NULL AND fired_at IS NULL RETURNING 1"
_FIRED = """
UPDATE agent_timers SET fired_at = clock_timestamp(), error = $2
 WHERE id = $1 AND fired_at IS NULL
RETURNING 1
"""


async def schedule(
    executor: Executor, timer_id: str, start: StartRun, due_at: datetime, cron: str | None = None
) -> None:
    """Note that a run is to start when it is due, once however often this is asked for."""
    await executor.fetch(_SCHEDULE, timer_id, start_to_json(start), due_at, cron)


async def cancel(executor: Executor, timer_id: str) -> bool:
    """Take a scheduled start back; ``False``: it has fired, or there is none."""
    return bool(await executor.fetch(_CANCEL, timer_id))


async def fire_due(transacting: Transacting, settler: Settler, limit: int) -> int:
    """Fire due timers, the oldest first; return how many."""
    fired = 0
    known = [each.name for each in fields(StartRun)]
    for row in await transacting.database.fetch(_DUE, limit, UNDERSTOOD_WITHIN, known):
        try:
            fired += await _fire(transacting, settler, row)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, LockNotAvailableError):
                raise
            # Somebody makes the thread that it starts on, in a transaction that takes its time.
            log.warning("the timer %s has to wait: %s", row["id"], error.message)
    return fired


async def _fire(transacting: Transacting, settler: Settler, row: Row) -> bool:
    if row["run"] is not None:
        return await _fire_fact(transacting, row)
    try:
        return await transacting.run(lambda c, owed: _start(c, row["id"], settler, owed))
    except (ClientFault, RecordRefused) as error:
        log.warning("the scheduled start %s is refused: %s", row["id"], error.message)
        reason = error.message
    except (LookupError, TypeError, ValueError) as error:
        if not row["is_given_up"]:
            log.info("the scheduled start %s is left to another release: %r", row["id"], error)
            return False
        # Nobody understands it: the other timers must not wait behind it for ever.
        log.exception("the scheduled start %s is not understood", row["id"])
        reason = f"not understood: {error!r}"
    return bool(await transacting.database.fetch(_FIRED, row["id"], storable_text(reason)))


async def _fire_fact(transacting: Transacting, row: Row) -> bool:
    try:
        return await transacting.run(lambda c, owed: _store_fact(c, row, owed))
    except (ClientFault, RecordRefused, LookupError):
        # Rows that the laws do not allow: it stays due, so that they are looked for, and the
        # other timers must not wait behind it for ever.
        log.exception("the timer %s cannot fire", row["id"])
        return False


async def _store_fact(executor: Executor, row: Row, owed: Owed) -> bool:
    """Store what is due; return whether it was."""
    fact: str = row["fact"]
    call = fact.removeprefix(EXPIRY) if fact.startswith(EXPIRY) else None
    if call is not None and await lock_roots(executor, row["thread"], [call], wait=False) is None:
        return False
    if await lock_free_thread(executor, row["thread"]) is None:
        return False
    if not await executor.fetch(_FIRED, row["id"], None):
        return False
    run = await read_run(executor, row["run"])
    if call is not None:
        await expire(executor, run, call, owed)
    else:
        await store_fact(executor, run, fact, "null", owed)
    return True


async def _start(executor: Executor, timer_id: str, settler: Settler, owed: Owed) -> bool:
    found = await executor.fetch(_START, timer_id)
    if not found:
        return False
    start = replace(start_from_json(found[0]["start"]), on_busy=OnBusy.QUEUE)
    if await is_held(executor, start):
        return False
    await start_run(executor, start, settler, owed)
    return bool(await executor.fetch(_FIRED, timer_id, None))


def start_to_json(start: StartRun) -> str:
    """Return a start as it is stored."""
    stored = {each.name: getattr(start, each.name) for each in fields(start)}
    parent = start.parent and asdict(start.parent)
    return encode(stored | {"terms": start.terms.to_json(), "parent": parent})


def start_from_json(text: str) -> StartRun:
    """Return the start that ``start_to_json`` wrote."""
    stored: dict[str, Any] = parse_json(text)
    parent = stored["parent"]
    return StartRun(
        **stored
        | {
            "terms": Terms.from_json(stored["terms"]),
            "parent": parent and ParentStep(**parent),
            "on_busy": OnBusy(stored["on_busy"]),
        }
    )
