"""What every ``CallStore`` keeps of calls that are due later."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.identity import Identity
from app.domain.scheduled import CallTarget
from tests.support.store_world import IDS, StoreWorld

LEASE = timedelta(seconds=30)
OVER = timedelta(seconds=-1)
"""A claim that has run out already."""
PAST = timedelta(minutes=-1)


def a_call(function: str = "team:tidy") -> CallTarget:
    return CallTarget(function, '{"days":3}', Identity("ann", frozenset({"editor"})))


async def put(world: StoreWorld, function: str = "team:tidy", due: timedelta = PAST) -> str:
    call_id = IDS.new()
    await world.calls.put(call_id, a_call(function), datetime.now(UTC) + due)
    return call_id


@pytest.mark.req("SCH-04")
async def test_a_call_is_claimed_when_it_is_due_and_by_one_alone(world: StoreWorld) -> None:
    due = await put(world)
    await put(world, due=timedelta(hours=1))

    (claimed,) = await world.calls.claim(["team:tidy"], 10, LEASE)
    again = await world.calls.claim(["team:tidy"], 10, LEASE)

    assert (claimed.id, claimed.target, claimed.attempts) == (due, a_call(), 1)
    assert again == []


async def test_only_calls_of_known_functions_are_claimed(world: StoreWorld) -> None:
    known = await put(world)
    unknown = await put(world, "team:other")

    claimed = await world.calls.claim(["team:tidy"], 10, LEASE)
    lost = await world.calls.fail_unknown(["team:tidy"], timedelta(0))

    assert [call.id for call in claimed] == [known]
    assert lost == 1
    assert await world.calls.claim(["team:other"], 10, LEASE) == []
    assert not await world.calls.cancel(unknown)


async def test_a_call_that_was_begun_and_that_nobody_knows_any_more_is_given_up(
    world: StoreWorld,
) -> None:
    await put(world, "team:gone")
    going_on = await put(world, "team:older")
    await world.calls.claim(["team:gone"], 10, OVER)
    await world.calls.claim(["team:older"], 10, LEASE)

    lost = await world.calls.fail_unknown(["team:tidy"], timedelta(0))
    await world.calls.renew([going_on], OVER)

    assert lost == 1
    left = await world.calls.claim(["team:gone", "team:older"], 10, LEASE)
    assert [call.id for call in left] == [going_on]


async def test_a_claim_that_ran_out_is_open_to_others_and_they_know(world: StoreWorld) -> None:
    call_id = await put(world)
    await world.calls.claim(["team:tidy"], 10, OVER)

    (claimed,) = await world.calls.claim(["team:tidy"], 10, OVER)
    await world.calls.renew([call_id], LEASE)

    assert (claimed.id, claimed.attempts) == (call_id, 2)
    assert await world.calls.claim(["team:tidy"], 10, LEASE) == []


@pytest.mark.parametrize(
    "error", [None, "it failed", "\0\ud800"], ids=["made", "failed", "in no words of ours"]
)
async def test_a_call_that_was_made_is_over(world: StoreWorld, error: str | None) -> None:
    call_id = await put(world)
    await world.calls.claim(["team:tidy"], 10, OVER)

    await world.calls.settle(call_id, error)

    assert await world.calls.claim(["team:tidy"], 10, LEASE) == []


async def test_a_call_that_is_put_off_comes_again(world: StoreWorld) -> None:
    call_id = await put(world)
    await world.calls.claim(["team:tidy"], 10, LEASE)
    await world.calls.put_off(call_id, timedelta(hours=1))
    before = await world.calls.claim(["team:tidy"], 10, LEASE)
    await world.calls.put_off(call_id, timedelta(0))

    (claimed,) = await world.calls.claim(["team:tidy"], 10, LEASE)

    assert before == []
    assert (claimed.id, claimed.attempts) == (call_id, 2)


async def test_a_call_can_be_taken_back_until_somebody_begins(world: StoreWorld) -> None:
    waiting, begun = await put(world, due=timedelta(hours=1)), await put(world)
    await world.calls.claim(["team:tidy"], 10, LEASE)

    assert await world.calls.cancel(waiting)
    assert not await world.calls.cancel(waiting)
    assert not await world.calls.cancel(begun)


async def test_the_oldest_calls_come_first(world: StoreWorld) -> None:
    late = await put(world, due=timedelta(minutes=-1))
    later = await put(world, due=timedelta(minutes=-3))

    first = await world.calls.claim(["team:tidy"], 1, LEASE)
    second = await world.calls.claim(["team:tidy"], 1, LEASE)

    assert [call.id for call in (*first, *second)] == [later, late]
