"""``CronStore`` in memory."""

from collections.abc import Sequence
from datetime import timedelta

from app.domain.cron import CronPlan, Deck, Following, Overlap, due_at, due_slots
from app.domain.ports import Ids, StartRun
from app.domain.ports.schedules import CronState
from app.domain.run import FINAL
from app.testing.memory_database import (
    MemoryCall,
    MemoryCron,
    MemoryDatabase,
    MemoryDeck,
    MemoryTimer,
)
from app.testing.memory_timers import put_timer

LIVES_FOR = timedelta(seconds=30)


class MemoryCrons:
    """Implements ``app.domain.ports.schedules.CronStore``."""

    def __init__(self, database: MemoryDatabase, following: Following, ids: Ids) -> None:
        self._db = database
        self._following = following
        self._ids = ids

    async def hold(self, deck: Deck, *, arriving: bool) -> None:
        """See ``CronStore.hold``."""
        await self._db.turn()
        now = self._db.now()
        held = self._db.decks.setdefault(deck.id, MemoryDeck(now, now))
        if arriving and held.seen_at < now - LIVES_FOR:
            held.declared_at = now
        held.seen_at = now
        living = [each for each in self._db.decks.items() if each[1].seen_at >= now - LIVES_FOR]
        newest, _ = max(living, key=lambda each: (each[1].declared_at, each[0]))
        if newest == deck.id and not held.holds:
            self._deal(deck)

    async def advance(self, limit: int) -> int:
        """See ``CronStore.advance``."""
        await self._db.turn()
        due = [cron for cron in self._db.crons.values() if cron.next_at <= self._db.now()][:limit]
        for cron in due:
            self._advance(cron)
        return len(due)

    async def crons(self) -> Sequence[CronState]:
        """See ``CronStore.crons``."""
        await self._db.turn()
        return [self._state(self._db.crons[name]) for name in sorted(self._db.crons)]

    def _deal(self, deck: Deck) -> None:
        plans = {plan.name: plan for plan in deck.plans}
        gone = self._db.crons.keys() - plans.keys()
        for name in gone:
            del self._db.crons[name]
        for call_id, call in list(self._db.calls.items()):
            if call.cron in gone and call.made_at is None and not call.attempts:
                del self._db.calls[call_id]
        for name, plan in plans.items():
            known = self._db.crons.get(name)
            if known and _timing(known.plan) == _timing(plan):
                known.plan = plan
                continue
            next_at = self._following(*_timing(plan), self._db.now())
            if known:
                known.plan, known.next_at = plan, next_at
            else:
                self._db.crons[name] = MemoryCron(plan, next_at)
        for deck_id, each in self._db.decks.items():
            each.holds = deck_id == deck.id

    def _advance(self, cron: MemoryCron) -> None:
        plan = cron.plan
        now = self._db.now()
        due = due_slots(plan, cron.next_at, now, self._following)
        cron.outcome = "missed: no worker was there" if due.missed else None
        for place, slot in enumerate(due.fire):
            since = due_at(slot, now, place)
            cron.outcome = None
            if plan.overlap is Overlap.SKIP and self._has_not_ended(cron):
                cron.outcome = "skipped: the firing before it has not ended"
            elif isinstance(plan.target, StartRun):
                start = plan.start_at(slot, self._ids)
                put_timer(self._db, plan.key(slot), MemoryTimer(since, start=start, cron=plan.name))
                cron.last_fired = start.run_id
            else:
                cron.last_fired = self._ids.new()
                call = MemoryCall(plan.target, since, plan.name, slot)
                self._db.calls[cron.last_fired] = call
        cron.next_at = due.next_at
        cron.last_slot = max((*due.fire, *due.missed), default=cron.last_slot)

    def _has_not_ended(self, cron: MemoryCron) -> bool:
        name, run = cron.plan.name, self._db.runs.get(cron.last_fired or "")
        return (
            any(timer.cron == name for timer in self._db.timers.values())
            or any(c.cron == name and c.made_at is None for c in self._db.calls.values())
            or (run is not None and run.status not in FINAL)
        )

    def _state(self, cron: MemoryCron) -> CronState:
        plan, fired = cron.plan, cron.last_fired or ""
        target = plan.target
        named = f"agent:{target.agent}" if isinstance(target, StartRun) else target.function
        outcome = cron.outcome
        if outcome is None and fired in self._db.runs:
            outcome = self._db.runs[fired].status.value
        elif outcome is None and fired in self._db.calls:
            call = self._db.calls[fired]
            outcome = call.error or ("fired" if call.made_at is None else "called")
        elif outcome is None and cron.last_slot is not None:
            outcome = "fired"
        return CronState(
            plan.name,
            named,
            plan.expression,
            plan.timezone,
            cron.next_at,
            cron.last_slot,
            outcome,
        )


def _timing(plan: CronPlan) -> tuple[str, str]:
    return plan.expression, plan.timezone
