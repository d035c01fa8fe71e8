"""Messages of a thread are numbered 1, 2, 3 ... whoever writes at the same time (case B69)."""

import asyncio

import pytest

from app.domain.ports import OnBusy, Recorded
from app.domain.record import Record
from app.domain.run import Fence
from app.domain.signal import SignalMode
from tests.support.store_world import StoreWorld, a_result, a_signal, a_turn, an_answer

pytestmark = pytest.mark.req("DUR-06", "SUB-04")

WRITERS = 400


async def test_four_hundred_writers_leave_no_gap(world: StoreWorld) -> None:
    threads = [await world.drive() for _ in range(2)]
    turns = [
        (claimed.fence, an_answer(claimed.fence, turn))
        for turn in range(WRITERS // 2)
        for claimed in threads
    ]

    answers = await asyncio.gather(*(world.store.record(*turn) for turn in turns))

    assert all(answer is not None and answer.was_new for answer in answers)
    for claimed in threads:
        rows = await world.store.history(claimed.thread.id)
        assert [row.seq for row in rows] == list(range(1, WRITERS // 2 + 2))
        assert [row.version for row in rows[1:]] == list(range(3, WRITERS // 2 + 3))


async def test_a_record_sent_many_times_at_once_is_stored_once(world: StoreWorld) -> None:
    claimed = await world.drive()
    record = a_turn(claimed.fence, 0, ["call_1", "call_2"])

    answers = await asyncio.gather(*(world.store.record(claimed.fence, record) for _ in range(20)))

    assert [answer for answer in answers if answer is None] == []
    assert [answer.was_new for answer in answers if answer].count(True) == 1
    assert {answer.version for answer in answers if answer} == {claimed.thread.version + 1}
    assert len(await world.store.history(claimed.thread.id)) == 4


async def test_parallel_results_and_other_steps_all_land(world: StoreWorld) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    calls = [f"call_{n}" for n in range(40)]
    await world.store.record(fence, a_turn(fence, 0, calls))
    records = [a_result(fence, 0, n, call, n) for n, call in enumerate(calls)]
    records += [a_step_in_between(fence, n) for n in range(40)]

    answers = await asyncio.gather(*(world.store.record(fence, record) for record in records))

    rows = await world.store.history(claimed.thread.id)
    versions = sorted(answer.version for answer in answers if isinstance(answer, Recorded))
    assert versions == list(range(versions[0], versions[0] + len(records)))
    assert [row.seq for row in rows] == list(range(1, 43))
    assert [row.parts[0]["output"] for row in rows[2:]] == list(range(40))
    assert len({row.version for row in rows[2:]}) == 40


@pytest.mark.req("CON-04", "CON-07")
async def test_b69_results_sends_and_signals_on_one_thread_at_once_all_land(
    world: StoreWorld,
) -> None:
    claimed = await world.drive()
    fence, thread = claimed.fence, claimed.thread
    calls = [f"call_{n}" for n in range(20)]
    await world.store.record(fence, a_turn(fence, 0, calls))
    results = [a_result(fence, 0, n, call, n) for n, call in enumerate(calls)]
    signals = [a_signal(thread.id, f"signal {n}", mode=SignalMode.INJECT) for n in range(20)]
    to_thread = {"thread_key": thread.key, "agent": claimed.run.agent}

    await asyncio.gather(
        *(world.store.record(fence, result) for result in results),
        *(world.store.signal(signal) for signal in signals),
        *(world.start(on_busy=OnBusy.STEER, **to_thread) for _ in range(20)),
        *(world.start(on_busy=OnBusy.QUEUE, **to_thread) for _ in range(20)),
    )

    rows = await world.store.history(thread.id)
    waiting = (await world.snapshot(thread.id)).waiting
    assert [row.seq for row in rows] == list(range(1, 23))
    assert [row.parts[0]["output"] for row in rows[2:]] == list(range(20))
    assert len({each.id for each in waiting}) == 60
    assert await world.store.stranded() == []


def a_step_in_between(fence: Fence, number: int) -> Record:
    return Record(fence.run_id, fence.thread_id, f"memory:{number}", None, "null")
