"""Sleeps, events and children: a run waits for facts of any kind, and holds nothing meanwhile."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.facts import child_fact
from app.domain.ids import child_id
from app.domain.message import text_part
from app.domain.ports import OnBusy, Serves, StartRun
from app.domain.run import Ending, ParentStep, RunStatus, Waits
from app.domain.storable import Json, encode
from app.engine.durable_run import DurableRun
from app.engine.steps import MISSING, Missing, StepContext, StepResult
from app.testing.world import MemoryWorld

START = datetime(2026, 1, 1, tzinfo=UTC)


class HandTime:
    """The database's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.mark.req("DUR-08", "DUR-12")
async def test_a_sleep_parks_and_wakes_when_it_is_due_whoever_restarts() -> None:
    time = HandTime()

    async def program(run: DurableRun) -> None:
        await run.sleep("nap", timedelta(hours=8))
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.database.now = time
        first = world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.WAITING)
        await first.terminate()
        time.now += timedelta(hours=7)
        assert await world.store.fire_due(10) == 0
        time.now += timedelta(hours=1)
        assert await world.store.fire_due(10) == 1
        assert await world.store.fire_due(10) == 0
        world.worker()
        await world.until(started.run_id, RunStatus.COMPLETED)


@pytest.mark.req("RUN-05")
@pytest.mark.parametrize("comes", ["before", "while", "late"])
async def test_an_event_is_seen_whenever_it_comes(comes: str) -> None:
    time, seen = HandTime(), list[Json | Missing]()

    async def program(run: DurableRun) -> None:
        if comes == "before":
            await world.store.send_event(run.run.id, "paid", encode({"cents": 5}))
        seen.append(await run.wait_for_event("paid", within=timedelta(minutes=1)))
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.database.now = time
        world.worker()
        started = await world.start("a")
        if comes != "before":
            await world.until(started.run_id, RunStatus.WAITING)
        if comes == "while":
            assert await world.store.send_event(started.run_id, "paid", encode({"cents": 5}))
        if comes == "late":
            time.now += timedelta(minutes=1)
            assert await world.store.fire_due(10) == 1
        await world.until(started.run_id, RunStatus.COMPLETED)
        assert not await world.store.send_event(started.run_id, "paid", "null")

    assert seen == [MISSING if comes == "late" else {"cents": 5}]


def a_child(run: DurableRun, call: str) -> StartRun:
    """Return the start of the child that this call always has."""
    return StartRun(
        run_id=child_id(run.run.id, call, "run"),
        thread_id=child_id(run.run.id, call, "thread"),
        message_id=child_id(run.run.id, call, "message"),
        thread_key=child_id(run.run.id, call, "key"),
        agent="child",
        parts=encode([text_part("dig")]),
        parent=ParentStep(run.thread.id, run.run.id, child_fact(call)),
    )


async def parent(run: DurableRun) -> None:
    """Start one child twice, wait for it, end."""
    await run.spawn(a_child(run, "call_1"))
    await run.spawn(a_child(run, "call_1"))
    await run.wait_for(Waits.for_all([child_fact("call_1")]))
    await run.finish(Ending.completed("final"))


@pytest.mark.req("TOOL-05", "TOOL-06")
async def test_a_parent_parks_until_its_one_child_has_ended() -> None:
    async def child(run: DurableRun) -> None:
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": parent, "child": child}) as world:
        world.worker(slots=1)
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.COMPLETED)
        children = [run for run in world.database.runs.values() if run.parent is not None]
        facts = world.database.steps[started.run_id]

    assert len(children) == 1
    assert '"status":"completed"' in facts[child_fact("call_1")][1]


async def test_cancelling_a_parent_cancels_its_children() -> None:
    async def child(run: DurableRun) -> None:
        await run.sleep("long", timedelta(days=1))

    async with MemoryWorld({"a": parent, "child": child}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.WAITING)
        (below,) = [run for run in world.database.runs.values() if run.parent is not None]
        await world.until(below.id, RunStatus.WAITING)
        await world.store.cancel(started.thread_id, None)

        assert world.database.runs[below.id].status is RunStatus.CANCELLED
        assert world.database.timers == {}
        assert await world.store.stranded() == []


@pytest.mark.req("CON-03", "CON-04")
async def test_a_thread_that_becomes_free_goes_to_who_waits_for_it() -> None:
    order: list[str] = []

    async def program(run: DurableRun) -> None:
        order.append(run.run.id)
        if len(order) == 1:
            await run.sleep("long", timedelta(days=1))
        await run.finish(Ending.completed("final"))

    def a_start(number: int, on_busy: OnBusy) -> StartRun:
        ids = (f"r{number}", f"t{number}", f"m{number}")
        return StartRun(*ids, "thread", "a", encode([text_part("x")]), on_busy=on_busy)

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        await world.store.start(a_start(1, OnBusy.REJECT))
        await world.until("r1", RunStatus.WAITING)
        second = await world.store.start(a_start(2, OnBusy.QUEUE))
        third = await world.store.start(a_start(3, OnBusy.QUEUE))
        fourth = await world.store.start(a_start(4, OnBusy.REPLACE))
        await world.until("r3", RunStatus.COMPLETED)
        messages = world.database.messages["t1"]

    assert (second.position, third.position, fourth.position) == (1, 2, None)
    assert order == ["r1", "r4", "r2", "r3"]
    assert world.database.runs["r1"].status is RunStatus.CANCELLED
    assert [row.run_id for row in messages] == order
    assert [row.seq for row in messages] == [1, 2, 3, 4]


async def test_a_run_that_kills_its_workers_is_failed_with_its_reason() -> None:
    async def program(run: DurableRun) -> None:
        await run.sleep("never", timedelta(days=1))

    async with MemoryWorld({"a": program}) as world:
        started = await world.start("a")
        for number in range(5):
            last = number == 4
            (claimed,) = await world.store.claim(f"w{number}", _serves(world), 1, last_try=last)
            assert claimed.run.id == started.run_id
            assert await world.store.claim("other", _serves(world), 1) == []
            await world.store.fail_poison(f"w{number}")
            await world.store.take_over(f"w{number}")
        run = world.database.runs[started.run_id]

    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.code == "POISON"


def _serves(world: MemoryWorld) -> Serves:
    return Serves.of(*world.programs)


async def test_a_failed_run_goes_on_where_it_failed() -> None:
    done: list[str] = []

    async def program(run: DurableRun) -> None:
        async def first(_: StepContext) -> StepResult:
            done.append("first")
            return StepResult(None)

        async def second(_: StepContext) -> StepResult:
            done.append("second")
            if done.count("second") == 1:
                raise OSError("no network")
            return StepResult(None)

        await run.step("first", first)
        await run.step("second", second)
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.FAILED)
        await world.store.retry(started.thread_id, started.run_id)
        await world.until(started.run_id, RunStatus.COMPLETED)
        thread = await world.reader.find("thread")

    assert done == ["first", "second", "second"]
    assert thread is not None
    assert thread.error is None
