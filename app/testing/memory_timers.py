"""Timers in memory: what happens once when it is due."""

import logging
from dataclasses import replace

from app.domain.approval import EXPIRY
from app.domain.errors import ClientFault
from app.domain.facts import NewTimer
from app.domain.ports import OnBusy
from app.domain.run import Run
from app.testing.memory_database import MemoryDatabase, MemoryTimer, Transaction
from app.testing.memory_deciding import expire
from app.testing.memory_settling import store_fact
from app.testing.memory_starting import start_run

log = logging.getLogger(__name__)


def put_timer(db: MemoryDatabase, timer_id: str, timer: MemoryTimer) -> None:
    """Set a timer, once however often this is asked for."""
    if timer_id not in db.fired:
        db.timers.setdefault(timer_id, timer)


def put_fact_timer(db: MemoryDatabase, run: Run, timer: NewTimer) -> None:
    """Set a timer of a run; that of a decision counts from the moment at which it was asked for."""
    asked = db.approvals.get((run.thread_id, timer.fact.removeprefix(EXPIRY)))
    is_expiry = timer.fact.startswith(EXPIRY)
    since = asked.requested_at if asked is not None and is_expiry else db.now()
    put_timer(db, f"{run.id}/{timer.fact}", MemoryTimer(since + timer.after, run.id, timer.fact))


def cancel_timer(db: MemoryDatabase, timer_id: str) -> bool:
    """Take a scheduled start back; ``False``: it has fired, or there is none."""
    timer = db.timers.get(timer_id)
    if timer is None or timer.start is None:
        return False
    del db.timers[timer_id]
    return True


def fire_due(db: MemoryDatabase, limit: int, tx: Transaction) -> int:
    """Fire due timers, the oldest first; return how many."""
    now = db.now()
    due = sorted(
        (key for key, timer in db.timers.items() if timer.due_at <= now),
        key=lambda key: db.timers[key].due_at,
    )
    for key in due[:limit]:
        timer = db.timers.pop(key)
        db.fired.add(key)
        if timer.run_id is not None and timer.fact is not None:
            run = db.runs[timer.run_id]
            if timer.fact.startswith(EXPIRY):
                expire(db, run, timer.fact.removeprefix(EXPIRY), tx)
            else:
                store_fact(db, run, timer.fact, None, tx, turn=run.turn)
        if timer.start is not None:
            try:
                start_run(db, replace(timer.start, on_busy=OnBusy.QUEUE), tx)
            except ClientFault as error:
                log.warning("the scheduled start %s is refused: %s", key, error.message)
    return len(due[:limit])
