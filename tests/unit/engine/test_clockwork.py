"""The clockwork by a frozen clock: a slot fires when it comes, once, and nothing before."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from app.authoring.slots import next_slot
from app.domain.cron import CatchUp, CronPlan, Deck, Overlap, due_at, due_slots
from app.domain.scheduled import CallTarget
from app.engine.clockwork import HOLD_EVERY_S, Clockwork
from app.testing.world import HandClock
from tests.support.store_world import IDS, StoreWorld, a_start, memory_world

NIGHT = datetime(2026, 5, 1, 2, 59, 59, tzinfo=UTC)
DAY_S = 86400


@pytest.fixture
async def world() -> AsyncIterator[StoreWorld]:
    async with memory_world() as made:
        yield made


def a_plan(expression: str = "0 3 * * *", catch_up: CatchUp = CatchUp.ONE) -> CronPlan:
    start = a_start(run_id="", thread_id="", message_id="", thread_key="")
    return CronPlan("digest", expression, "UTC", start, catch_up)


def freeze(world: StoreWorld, now: datetime) -> None:
    """Set the database's clock."""
    world.store._db.now = lambda: now  # type: ignore[attr-defined]  # the memory store's own


@pytest.mark.req("SCH-01", "SCH-02")
async def test_a_daily_cron_fires_at_three_by_a_frozen_clock(world: StoreWorld) -> None:
    clockwork = Clockwork(world.crons, Deck.of([a_plan()]), HandClock())
    fired = []
    for seconds in (0, 0, 1, 2, DAY_S, DAY_S + 1):
        freeze(world, NIGHT + timedelta(seconds=seconds))
        await clockwork.turn()
        fired.append(await world.store.fire_due(10))

    assert fired == [0, 0, 1, 0, 0, 1]
    assert len(set(world.around.rung)) == 2


async def test_a_worker_says_now_and_then_that_it_lives(world: StoreWorld) -> None:
    clock, deck = HandClock(), Deck.of([a_plan()])
    clockwork = Clockwork(world.crons, deck, clock)
    seen = []
    for seconds in (0, 1, HOLD_EVERY_S):
        freeze(world, NIGHT + timedelta(seconds=seconds))
        clock.now_s = 1000 + seconds
        await clockwork.turn()
        seen.append(world.store._db.decks[deck.id].seen_at)  # type: ignore[attr-defined]  # in memory

    assert seen == [NIGHT, NIGHT, NIGHT + timedelta(seconds=HOLD_EVERY_S)]


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2026, 5, 1, 12, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("catch_up", "now", "fire", "missed"),
    [
        pytest.param(CatchUp.SKIP, at(1, 30), [1], [], id="a-little-late-is-not-missed"),
        pytest.param(CatchUp.SKIP, at(3, 31), [], [1, 2, 3], id="skip"),
        pytest.param(CatchUp.SKIP, at(3, 10), [3], [1, 2], id="skip-but-the-fresh-one"),
        pytest.param(CatchUp.ONE, at(3, 31), [3], [1, 2], id="one-for-all-of-them"),
        pytest.param(CatchUp.ONE, at(3, 10), [3], [1, 2], id="one-and-it-is-the-fresh-one"),
        pytest.param(CatchUp.ALL, at(3, 31), [1, 2, 3], [], id="all"),
    ],
)
def test_b95_what_is_missed_and_what_fires(
    catch_up: CatchUp, now: datetime, fire: list[int], missed: list[int]
) -> None:
    due = due_slots(a_plan("* * * * *", catch_up), at(1), now, next_slot)

    assert [slot.minute for slot in due.fire] == fire
    assert [slot.minute for slot in due.missed] == missed
    assert due.next_at == at(now.minute + 1)


def test_a_week_of_seconds_is_not_counted_one_by_one() -> None:
    now = at(0) + timedelta(days=7)

    due = due_slots(a_plan("* * * * * *", CatchUp.ALL), at(0), now, next_slot)

    assert due.fire == tuple(now - timedelta(seconds=99 - count) for count in range(100))
    assert due.is_cut


def test_what_was_missed_keeps_its_order_and_is_not_overdue() -> None:
    now = at(30)
    slots = [at(1), at(2), at(30)]

    since = [due_at(slot, now, place) for place, slot in enumerate(slots)]

    assert since == sorted(set(since))
    assert now - since[0] == timedelta(seconds=30)
    assert since[-1] == at(30)


def test_a_deck_is_what_is_declared_whatever_its_order() -> None:
    one, other = a_plan(), CronPlan("b", "0 4 * * *", "UTC", CallTarget("team:tidy", "{}"))
    changed = CronPlan("b", "0 4 * * *", "UTC", CallTarget("team:tidy", '{"days":1}'))

    assert Deck.of([one, other]) == Deck.of([other, one])
    assert len({Deck.of(plans).id for plans in ([], [one], [one, other], [one, changed])}) == 4


def test_b94_a_slot_has_one_key_wherever_it_is_computed() -> None:
    plan, here = a_plan(), at(0).astimezone(tz=None)

    assert plan.key(at(0)) == plan.key(here) == "cron:digest:2026-05-01T12:00:00Z"
    assert plan.overlap is Overlap.QUEUE


def test_nobody_can_guess_the_thread_of_a_slot() -> None:
    starts = [a_plan().start_at(at(0), IDS) for _ in range(2)]

    assert len({start.thread_key for start in starts}) == 2
    assert len({start.run_id for start in starts}) == 2
