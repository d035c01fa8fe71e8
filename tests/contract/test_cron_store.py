"""What every ``CronStore`` keeps: one firing for each slot, and the newest declaration holds."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.authoring.slots import next_slot
from app.domain.cron import CatchUp, CronPlan, Deck, Overlap
from app.domain.ports import ClaimedRun, StartRun
from app.domain.run import Ending
from app.domain.scheduled import CallTarget
from tests.support.store_world import AGENT, StoreWorld, a_start
from tests.support.wait_until import wait_until

LEASE = timedelta(minutes=1)
HOURLY = f"{(datetime.now(UTC).minute + 30) % 60} * * * *"
"""Half an hour from now, so that the last slot is missed and not merely late."""


def a_plan(name: str = "digest", **changes: Any) -> CronPlan:  # noqa: ANN401  # fields
    start = a_start(run_id="", thread_id="", message_id="", thread_key="")
    return replace(CronPlan(name, HOURLY, "UTC", start), **changes)


async def declare(world: StoreWorld, *plans: CronPlan, arriving: bool = True) -> Deck:
    deck = Deck.of(plans)
    await world.crons.hold(deck, arriving=arriving)
    return deck


Back = Callable[[StoreWorld, timedelta], Any]


@pytest.fixture
def back() -> Back:
    """Let the crons' next slots, and the decks, be so much longer ago."""

    async def go(world: StoreWorld, time: timedelta) -> None:
        database = world.store._db  # type: ignore[attr-defined]  # the store's own
        if hasattr(database, "crons"):
            for cron in database.crons.values():
                cron.next_at -= time
            for deck in database.decks.values():
                deck.seen_at -= time
                deck.declared_at -= time
        else:
            await database.fetch("UPDATE agent_crons SET next_at = next_at - $1::interval", time)
            await database.fetch(
                "UPDATE agent_cron_decks SET seen_at = seen_at - $1::interval, "
                "declared_at = declared_at - $1::interval",
                time,
            )

    return go


async def fire(world: StoreWorld) -> list[str]:
    """Turn and fire everything, as a sweeper does; return the runs that were rung for."""
    world.around.rung.clear()
    await world.crons.advance(10)
    await world.store.fire_due(200)
    return list(world.around.rung)


async def fire_next(world: StoreWorld) -> list[str]:
    """Wait until a slot comes, and fire it; return the runs that were rung for."""
    world.around.rung.clear()

    async def has_come() -> bool:
        return bool(await world.crons.advance(10))

    await wait_until(has_come, description="a slot")
    await world.store.fire_due(200)
    return list(world.around.rung)


async def end(world: StoreWorld, claimed: ClaimedRun) -> None:
    await world.store.finish(claimed.fence, Ending.completed("end"), None)


async def next_at(world: StoreWorld) -> dict[str, datetime]:
    return {cron.name: cron.next_at for cron in await world.crons.crons()}


@pytest.mark.req("SCH-01", "SCH-02", "SCH-03")
async def test_each_slot_starts_a_run_of_its_own_on_a_thread_of_its_own(
    world: StoreWorld, back: Back
) -> None:
    await declare(world, a_plan(catch_up=CatchUp.ALL))
    early = await fire(world)
    await back(world, timedelta(hours=2))

    fired, again = await fire(world), await fire(world)

    assert (early, again) == ([], [])
    runs = [await world.run(run_id) for run_id in fired]
    assert len({run.id for run in runs}) == len({run.thread_id for run in runs}) == 2
    assert {run.agent for run in runs} == {AGENT}


@pytest.mark.req("SCH-03")
async def test_a_thread_key_shares_one_conversation(world: StoreWorld, back: Back) -> None:
    target = a_plan().target
    assert isinstance(target, StartRun)
    shared = replace(target, thread_key="digest", agent="digester")
    await declare(world, a_plan(target=shared, catch_up=CatchUp.ALL))
    await back(world, timedelta(hours=2))

    (first,) = await fire(world)

    thread = await world.reader.find("digest")
    assert thread is not None
    assert thread.live_run == first, "the second waits until the first has ended"
    await end(world, await world.claim("digester"))
    second = (await world.thread(thread.id)).live_run
    assert second not in {None, first}
    assert len(await world.store.history(thread.id)) == 2


@pytest.mark.req("SCH-06")
async def test_the_next_slot_is_the_first_after_now(world: StoreWorld, back: Back) -> None:
    await declare(world, a_plan(expression="0 3 * * *", timezone="Europe/Berlin"))
    before = (await next_at(world))["digest"]
    await back(world, timedelta(days=1))
    await fire(world)

    assert (await next_at(world))["digest"] == before
    assert before == next_slot("0 3 * * *", "Europe/Berlin", before - timedelta(minutes=1))


@pytest.mark.parametrize(
    ("catch_up", "fires"), [(CatchUp.SKIP, 0), (CatchUp.ONE, 1), (CatchUp.ALL, 3)]
)
async def test_b95_slots_that_were_missed_are_caught_up_as_declared(
    world: StoreWorld, back: Back, catch_up: CatchUp, fires: int
) -> None:
    await declare(world, a_plan(catch_up=catch_up))
    await back(world, timedelta(hours=3))

    fired = await fire(world)

    (state,) = await world.crons.crons()
    assert len(set(fired)) == fires
    assert state.last_slot is not None
    assert state.next_at > state.last_slot
    assert (state.outcome == "missed: no worker was there") == (fires == 0)
    assert await fire(world) == []


async def test_what_was_missed_is_not_overdue(world: StoreWorld, back: Back) -> None:
    await declare(world, a_plan(catch_up=CatchUp.ALL))
    await back(world, timedelta(hours=3))
    await world.crons.advance(10)

    assert await world.store.stranded() == []


async def test_b95_no_more_than_a_hundred_are_caught_up(world: StoreWorld, back: Back) -> None:
    await declare(world, a_plan(catch_up=CatchUp.ALL))
    await back(world, timedelta(hours=300))

    assert len(await fire(world)) == 100


async def test_b94_a_slot_is_skipped_while_the_run_before_has_not_ended(
    world: StoreWorld,
) -> None:
    target = a_plan().target
    assert isinstance(target, StartRun)
    each_second = a_plan(
        expression="* * * * * *", target=replace(target, agent="slow"), overlap=Overlap.SKIP
    )
    await declare(world, each_second)
    first = await fire_next(world)
    second = await fire_next(world)
    (state,) = await world.crons.crons()
    await end(world, await world.claim("slow"))

    third = await fire_next(world)

    assert [len(first), len(second), len(third)] == [1, 0, 1]
    assert state.outcome == "skipped: the firing before it has not ended"


@pytest.mark.parametrize("overlap", list(Overlap))
async def test_b94_calls_of_a_cron_follow_one_another(
    world: StoreWorld, back: Back, overlap: Overlap
) -> None:
    call = CallTarget("team:tidy", '{"days":3}')
    await declare(world, a_plan(target=call, overlap=overlap, catch_up=CatchUp.ALL))
    await back(world, timedelta(hours=2))
    await world.crons.advance(10)

    first = await world.calls.claim(["team:tidy"], 10, LEASE)
    meanwhile = await world.calls.claim(["team:tidy"], 10, LEASE)
    await world.calls.settle(first[0].id, None)
    second = await world.calls.claim(["team:tidy"], 10, LEASE)

    assert [each.target for each in first] == [call]
    assert meanwhile == []
    assert len(second) == (1 if overlap is Overlap.QUEUE else 0)


async def test_the_same_declaration_again_changes_nothing(world: StoreWorld, back: Back) -> None:
    deck = await declare(world, a_plan())
    await back(world, timedelta(hours=1))
    before = await next_at(world)

    await world.crons.hold(deck, arriving=True)

    assert await next_at(world) == before, "a slot that is due is not lost by a restart"


async def test_another_release_changes_expressions_adds_and_removes(world: StoreWorld) -> None:
    await declare(world, a_plan("stays"), a_plan("changes"), a_plan("goes"))
    before = await next_at(world)

    await declare(world, a_plan("stays"), a_plan("changes", expression="0 0 1 1 *"), a_plan("new"))

    after = await next_at(world)
    assert sorted(after) == ["changes", "new", "stays"]
    assert after["stays"] == before["stays"]
    assert (after["changes"].month, after["changes"].day) == (1, 1)


async def test_an_old_worker_that_restarts_does_not_bring_back_the_old_crons(
    world: StoreWorld, back: Back
) -> None:
    old = await declare(world, a_plan("old"))
    await back(world, timedelta(seconds=5))
    new = await declare(world, a_plan("new"))

    await world.crons.hold(old, arriving=True)
    await world.crons.hold(old, arriving=False)
    await world.crons.hold(new, arriving=False)

    assert list(await next_at(world)) == ["new"]


async def test_a_roll_back_brings_back_the_old_crons(world: StoreWorld, back: Back) -> None:
    old = await declare(world, a_plan("old"))
    await back(world, timedelta(seconds=5))
    await declare(world, a_plan("new"))
    await back(world, timedelta(seconds=60))

    await world.crons.hold(old, arriving=True)

    assert list(await next_at(world)) == ["old"]


async def test_old_crons_come_back_when_nobody_has_the_new_ones_any_more(
    world: StoreWorld, back: Back
) -> None:
    old = await declare(world, a_plan("old"))
    await back(world, timedelta(seconds=5))
    await declare(world, a_plan("new"))
    await world.crons.hold(old, arriving=True)
    await back(world, timedelta(seconds=31))

    await world.crons.hold(old, arriving=False)

    assert list(await next_at(world)) == ["old"]


async def test_a_cron_that_was_removed_takes_back_the_calls_that_nobody_began(
    world: StoreWorld, back: Back
) -> None:
    await declare(world, a_plan(target=CallTarget("team:tidy", "{}")))
    await back(world, timedelta(hours=1))
    await world.crons.advance(10)

    await declare(world)

    assert await world.crons.crons() == []
    assert await world.calls.claim(["team:tidy"], 10, LEASE) == []
