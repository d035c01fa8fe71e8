"""Crons and calls to come, raced by several processes: one firing a slot, one claim a call."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.cron import CronPlan, Deck
from app.domain.ports import StartRun
from app.domain.scheduled import CallTarget
from app.store.database import Database
from app.store.retention import forget_what_is_over
from tests.support.store_world import IDS, StoreWorld, a_start, postgres_world
from tests.support.wait_until import wait_until

LEASE = timedelta(minutes=1)
SLOTS = 4
EACH_SECOND = "* * * * * *"


@pytest.fixture
async def worlds(database_url: str) -> AsyncIterator[list[StoreWorld]]:
    """Five processes' stores on one database."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(postgres_world(database_url, size=3)) for _ in range(5)
        ]


def a_plan(target: StartRun | CallTarget | None = None) -> CronPlan:
    start = a_start(run_id="", thread_id="", message_id="", thread_key="", agent="ticking")
    return CronPlan("tick", EACH_SECOND, "UTC", target or start)


async def turn(world: StoreWorld) -> None:
    await world.crons.advance(10)
    await world.store.fire_due(100)


async def slots_of(database: Database) -> list[datetime]:
    rows = await database.fetch("SELECT due_at FROM agent_timers ORDER BY due_at")
    return [row["due_at"] for row in rows]


@pytest.mark.req("SCH-02", "SCH-06")
async def test_b91_five_workers_start_one_run_each_second(
    worlds: list[StoreWorld], database_url: str
) -> None:
    deck = Deck.of([a_plan()])
    await asyncio.gather(*(world.crons.hold(deck, arriving=True) for world in worlds))
    async with Database(database_url, size=1) as database:

        async def have_come() -> bool:
            await asyncio.gather(*(turn(world) for world in worlds))
            return len(await slots_of(database)) >= SLOTS

        await wait_until(have_come, description="slots have come")
        slots = await slots_of(database)
        (runs,) = await database.fetch("SELECT count(*), count(DISTINCT id) FROM agent_runs")
        (fired,) = await database.fetch("SELECT count(*) FROM agent_timers WHERE error IS NULL")

    rung = Counter(run_id for world in worlds for run_id in world.around.rung)
    assert slots == [slots[0] + timedelta(seconds=count) for count in range(len(slots))]
    assert all(slot.microsecond == 0 for slot in slots)
    assert runs["count"] == fired["count"] == len(slots)
    assert set(rung.values()) == {1}
    assert len(rung) == len(slots)


async def test_a_worker_of_an_older_release_fires_what_the_newer_one_declared(
    worlds: list[StoreWorld], database_url: str
) -> None:
    old, new = worlds[:2]
    target = a_plan().target
    assert isinstance(target, StartRun)
    await old.crons.hold(Deck.of([a_plan()]), arriving=True)
    await new.crons.hold(Deck.of([a_plan(replace(target, agent="renamed"))]), arriving=True)

    async def has_come() -> bool:
        await turn(old)
        return bool(old.around.rung)

    await wait_until(has_come, description="a slot")

    run = await old.run(old.around.rung[0])
    assert run.agent == "renamed"
    async with Database(database_url, size=1) as database:
        decks = await database.fetch("SELECT holds FROM agent_cron_decks ORDER BY declared_at")
    assert [deck["holds"] for deck in decks] == [False, True]


async def test_a_call_is_claimed_by_one_of_five_processes(worlds: list[StoreWorld]) -> None:
    first = worlds[0]
    calls = [IDS.new() for _ in range(40)]
    for call_id in calls:
        await first.calls.put(call_id, CallTarget("team:tidy", "{}"), datetime.now(UTC))

    claimed: list[str] = []
    while len(claimed) < len(calls):
        batches = await asyncio.gather(
            *(world.calls.claim(["team:tidy"], 3, LEASE) for world in worlds)
        )
        claimed += [call.id for batch in batches for call in batch]

    assert Counter(claimed) == Counter(calls)


async def test_calls_that_were_made_and_old_decks_are_forgotten_after_a_day(
    worlds: list[StoreWorld], database_url: str
) -> None:
    world = worlds[0]
    for call_id in ("old", "new", "due"):
        await world.calls.put(call_id, CallTarget("team:tidy", "{}"), datetime.now(UTC))
    for call_id in ("old", "new"):
        await world.calls.settle(call_id, None)
    await world.crons.hold(Deck.of([a_plan()]), arriving=True)
    await world.crons.hold(Deck.of([]), arriving=True)
    async with Database(database_url, size=1) as database:
        for statement in (
            "UPDATE agent_scheduled_calls SET made_at = made_at - interval '25 hours' "
            "WHERE id = 'old'",
            "UPDATE agent_cron_decks SET seen_at = seen_at - interval '25 hours'",
        ):
            await database.fetch(statement)
        forgotten = [await forget_what_is_over(database) for _ in range(2)]
        left = await database.fetch("SELECT id FROM agent_scheduled_calls ORDER BY id")
        decks = await database.fetch("SELECT id FROM agent_cron_decks")

    assert forgotten == [2, 0]
    assert [row["id"] for row in left] == ["due", "new"]
    assert [row["id"] for row in decks] == [Deck.of([]).id]


async def test_b26_a_cron_that_is_not_understood_does_not_stop_the_others(
    worlds: list[StoreWorld], database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds[0]
    await world.crons.hold(Deck.of([replace(a_plan(), name="a"), a_plan()]), arriving=True)
    async with Database(database_url, size=1) as database:
        await database.fetch("UPDATE agent_crons SET timezone = 'Mars/Base' WHERE name = 'a'")

    async def has_come() -> bool:
        await turn(world)
        return len(world.around.rung) >= 2

    await wait_until(has_come, description="the other one's slots")

    assert caplog.text.count("the cron a is not understood here") == 1


async def test_a_cron_of_a_newer_release_is_listed_beside_the_others(
    worlds: list[StoreWorld], database_url: str
) -> None:
    world = worlds[0]
    await world.crons.hold(Deck.of([replace(a_plan(), name="a"), a_plan()]), arriving=True)
    async with Database(database_url, size=1) as database:
        await database.fetch(
            "UPDATE agent_crons SET overlap = 'novel', "
            "start = (start::jsonb || '{\"novel\": 1}'::jsonb)::json WHERE name = 'a'"
        )

    listed = await world.crons.crons()

    assert [(cron.name, cron.target) for cron in listed] == [
        ("a", "agent:ticking"),
        ("tick", "agent:ticking"),
    ]


@pytest.mark.parametrize("more", ['"novel": 1', '"on_busy": "novel"'], ids=["field", "word"])
async def test_a_start_of_a_newer_release_is_left_to_its_workers_for_a_while(
    worlds: list[StoreWorld], database_url: str, more: str
) -> None:
    world, past = worlds[0], datetime.now(UTC) - timedelta(minutes=1)
    for timer_id, due in (("newer", past), ("known", past + timedelta(seconds=1))):
        await world.store.schedule(timer_id, a_start(run_id=timer_id, thread_key=timer_id), due)
    async with Database(database_url, size=1) as database:
        await database.fetch(
            "UPDATE agent_timers SET start = (start::jsonb || $1::text::jsonb)::json "
            "WHERE id = 'newer'",
            f"{{{more}}}",
        )
        fired = await world.store.fire_due(10)
        (left,) = await database.fetch("SELECT id FROM agent_timers WHERE fired_at IS NULL")

        await database.fetch("UPDATE agent_timers SET due_at = due_at - interval '1 hour'")
        given_up = await world.store.fire_due(10)
        (failed,) = await database.fetch(
            "SELECT id, error FROM agent_timers WHERE error IS NOT NULL"
        )

    assert (fired, left["id"]) == (1, "newer")
    assert (given_up, failed["id"]) == (1, "newer")
    assert failed["error"].startswith("not understood")
    assert world.around.rung == ["known"]


@pytest.mark.req("SCH-06")
async def test_b95_what_was_missed_is_logged(
    worlds: list[StoreWorld], database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds[0]
    minute = (datetime.now(UTC).minute + 30) % 60
    plan = replace(a_plan(), expression=f"{minute} * * * *")
    await world.crons.hold(Deck.of([plan]), arriving=True)
    async with Database(database_url, size=1) as database:
        await database.fetch("UPDATE agent_crons SET next_at = next_at - interval '3 hours'")

    await turn(world)

    assert len(world.around.rung) == 1
    assert "cron tick: 2 slots were missed" in caplog.text
    assert "catch_up is one: 1 fire now" in caplog.text
