"""A finished step never runs again, whoever dies where."""

import asyncio
from datetime import timedelta

import pytest

from app.domain.approval import approval_step
from app.domain.message import MessageStatus, Role, result_key, text_part, tool_result_part
from app.domain.record import FilledMessage, NewMessage, Writes
from app.domain.retry import RetryPolicy
from app.domain.run import Ending, RunStatus, Waits
from app.domain.storable import encode
from app.engine.durable_run import DurableRun
from app.engine.steps import StepContext, StepPolicy, StepResult, retry_any
from app.testing.world import MemoryWorld

QUICK = RetryPolicy(attempts=3, base=timedelta(microseconds=1), cap=timedelta(microseconds=1))


class Counter:
    """A side effect outside our stores: what ran, under which key."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def __call__(self, context: StepContext) -> StepResult:
        self.done.append(context.idempotency_key)
        return StepResult(len(self.done))


@pytest.mark.req("DUR-03", "DUR-07")
@pytest.mark.parametrize("killed_after", range(1, 6))
async def test_a_killed_worker_repeats_no_finished_step(killed_after: int) -> None:
    count, reached = Counter(), asyncio.Event()

    async def program(run: DurableRun) -> None:
        for number in range(5):
            await run.step(f"step:{number}", count)
            if len(count.done) == killed_after and not reached.is_set():
                reached.set()
                await asyncio.Event().wait()
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        first = world.worker()
        started = await world.start("a")
        await reached.wait()
        await first.kill()
        await world.take_over(first)
        world.worker()
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert sorted(count.done) == [f"{started.run_id}/step:{number}" for number in range(5)]


@pytest.mark.req("DUR-03")
async def test_a_step_that_only_the_journal_has_is_recorded_by_the_next_worker() -> None:
    count = Counter()

    async def program(run: DurableRun) -> None:
        await run.step("step", count)
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        stuck, record = asyncio.Event(), world.store.record

        async def hang(*_: object) -> None:
            stuck.set()
            await asyncio.Event().wait()

        world.store.record = hang  # type: ignore[method-assign,assignment]  # dies in between
        first = world.worker()
        started = await world.start("a")
        await stuck.wait()
        await first.kill()
        world.store.record = record  # type: ignore[method-assign]
        await world.take_over(first)
        world.worker()
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert count.done == [f"{started.run_id}/step"]


@pytest.mark.req("DUR-04", "DUR-05")
async def test_a_body_that_fails_runs_again_under_the_same_idempotency_key() -> None:
    contexts: list[StepContext] = []

    async def flaky(context: StepContext) -> StepResult:
        contexts.append(context)
        if context.attempt < 3:
            raise OSError("try again")
        return StepResult("done")

    async def program(run: DurableRun) -> None:
        await run.step("tool:x:1", flaky, policy=StepPolicy(retry_any(QUICK)))
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert [context.attempt for context in contexts] == [1, 2, 3]
    assert {context.idempotency_key for context in contexts} == {f"{started.run_id}/tool:x:1"}


@pytest.mark.req("RUN-14")
async def test_a_failure_that_is_no_step_fails_the_run_with_its_reason() -> None:
    async def broken(_: StepContext) -> StepResult:
        raise OSError("the disk is full")

    async def program(run: DurableRun) -> None:
        await run.step("llm:turn:0", broken)

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.FAILED)
        thread = await world.reader.find("thread")

    assert thread is not None
    assert thread.live_run is None
    assert thread.error is not None
    assert "the disk is full" in thread.error.message


async def test_a_replaced_drive_writes_nothing() -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()
    outcomes: list[str] = []

    async def program(run: DurableRun) -> None:
        async def body(context: StepContext) -> StepResult:
            inside.set()
            await go_on.wait()
            outcomes.append(f"epoch {context.fence.epoch}")
            return StepResult(context.fence.epoch)

        value = await run.step("step", body)
        await run.step(f"seen:{value}", Counter())
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        frozen = world.worker(slots=1)
        started = await world.start("a")
        await inside.wait()
        await world.take_over(frozen)  # the table says that it is dead; it only sleeps
        world.worker()
        inside.clear()
        await inside.wait()
        go_on.set()
        await world.until(started.run_id, RunStatus.COMPLETED)
        steps = world.database.steps[started.run_id]

    assert sorted(outcomes) == ["epoch 1", "epoch 3"]
    assert steps["step"][1] == "3"


@pytest.mark.req("DUR-06")
async def test_rows_stand_in_call_order_whoever_finishes_first() -> None:
    async def program(run: DurableRun) -> None:
        async def answer(_: StepContext) -> StepResult:
            rows = tuple(
                NewMessage(
                    run.ids.new(), result_key(run.run.id, 0, n), Role.TOOL, MessageStatus.OPEN, "[]"
                )
                for n in range(3)
            )
            return StepResult(None, Writes(messages=rows, turn=0))

        await run.step("llm:turn:0", answer, turn=0)
        landed = [asyncio.Event() for _ in range(4)]
        landed[3].set()

        async def tool(number: int) -> None:
            async def body(_: StepContext) -> StepResult:
                await landed[number + 1].wait()
                part = tool_result_part(f"call_{number}", "t", number, is_error=False)
                key = result_key(run.run.id, 0, number)
                return StepResult(
                    number,
                    Writes(filled=FilledMessage(key, MessageStatus.COMPLETE, encode([part]))),
                )

            await run.step(f"tool:t:call_{number}", body, turn=0)
            landed[number].set()

        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(tool(number))
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.COMPLETED)
        rows = world.database.messages[started.thread_id]

    assert [row.seq for row in rows] == [1, 2, 3, 4]
    assert [row.parts[0].get("output") for row in rows[1:]] == [0, 1, 2]
    assert rows[1].version > rows[2].version > rows[3].version


async def test_redis_away_or_flushed_does_not_stop_a_drive() -> None:
    count = Counter()

    async def program(run: DurableRun) -> None:
        for number in range(6):
            await run.step(f"step:{number}", count)
            if number == 1:
                world.journal.flush()
            world.journal.is_away = number == 3
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert len(count.done) == 6


@pytest.mark.req("DUR-08")
async def test_a_parked_run_is_in_no_slot_and_holds_no_journal_entry() -> None:
    async def waits(run: DurableRun) -> None:
        await run.step("before", Counter())
        await run.park(Waits.for_all([approval_step("call_1")]))

    async def talks(run: DurableRun) -> None:
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"waits": waits, "talks": talks}) as world:
        world.worker(slots=1)
        parked = [await world.start("waits", key=f"parked-{number}") for number in range(10)]
        for one in parked:
            await world.until(one.run_id, RunStatus.AWAITING_INPUT)
        eleventh = await world.start("talks", key="eleventh")
        await world.until(eleventh.run_id, RunStatus.COMPLETED)
        held = [world.journal.held(one.thread_id) for one in parked]

    assert held == [[]] * 10


@pytest.mark.req("IMP-31")
async def test_a_shutdown_cuts_a_model_request_off_and_lets_a_tool_finish() -> None:
    finished, inside, go_on = Counter(), asyncio.Event(), asyncio.Event()

    async def model(_: StepContext) -> StepResult:
        inside.set()
        await asyncio.Event().wait()
        return StepResult(None)

    async def tool(context: StepContext) -> StepResult:
        inside.set()
        await go_on.wait()
        return await finished(context)

    async def asks(run: DurableRun) -> None:
        await run.step("llm:turn:0", model, policy=StepPolicy(releasable=True))

    async def acts(run: DurableRun) -> None:
        await run.step("tool:t:1", tool)
        await run.step("tool:t:2", finished)
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"asks": asks, "acts": acts}) as world:
        worker = world.worker()
        asking = await world.start("asks", key="asks")
        await inside.wait()
        inside.clear()
        acting = await world.start("acts", key="acts")
        await inside.wait()
        leaving = asyncio.create_task(worker.terminate())
        await world.until(asking.run_id, RunStatus.QUEUED)
        assert world.database.runs[acting.run_id].status is RunStatus.RUNNING
        go_on.set()
        await leaving
        # Its tool was the last thing it had to do: it may have ended before it was let go.
        left = world.database.runs[acting.run_id].status
        assert left in {RunStatus.QUEUED, RunStatus.COMPLETED}
        world.worker()
        await world.until(acting.run_id, RunStatus.COMPLETED)

    assert finished.done == [f"{acting.run_id}/tool:t:1", f"{acting.run_id}/tool:t:2"]


async def test_nothing_starts_while_the_lease_is_not_fresh() -> None:
    count, ready = Counter(), asyncio.Event()

    async def program(run: DurableRun) -> None:
        world.clock.now_s += 2
        ready.set()
        await run.step("step", count)
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": program}) as world:
        worker = world.worker()
        started = await world.start("a")
        await ready.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert count.done == []
        worker.renew()
        await world.until(started.run_id, RunStatus.COMPLETED)

    assert len(count.done) == 1


async def test_what_was_shown_is_kept_when_a_run_is_cancelled() -> None:
    shown = asyncio.Event()

    async def program(run: DurableRun) -> None:
        async def model(context: StepContext) -> StepResult:
            stream = run.tokens.open(context.fence, 0, 100 * context.fence.epoch + 1, run.version)
            stream.add(0, "text", "Once upon ")
            stream.add(0, "text", "a time")
            shown.set()
            await asyncio.Event().wait()
            return StepResult(None)

        await run.step("llm:turn:0", model, policy=StepPolicy(releasable=True))

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await shown.wait()
        await world.store.cancel(started.thread_id, started.run_id)
        last = world.database.messages[started.thread_id][-1]
        again = await world.store.cancel(started.thread_id, started.run_id)
        thread = await world.reader.find("thread")

    assert last.parts == [text_part("Once upon a time")]
    assert last.status is MessageStatus.INTERRUPTED
    assert again is None
    assert thread is not None
    assert thread.is_idle
