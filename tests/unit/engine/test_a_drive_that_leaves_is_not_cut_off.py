"""Between the commit of an end and its answer, a run looks as if somebody had taken it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from app.domain.run import Ending, RunStatus, Waits
from app.engine.durable_run import DurableRun
from app.engine.steps import StepContext, StepResult
from app.testing.world import MemoryWorld
from tests.support.wait_until import wait_until

T = TypeVar("T")


async def said(_: StepContext) -> StepResult:
    return StepResult("said")


async def ends(run: DurableRun) -> None:
    """Take a step, whose record stays in the journal until it is dropped, and end."""
    await run.step("say", said)
    await run.finish(Ending.completed("final"))


async def waits(run: DurableRun) -> None:
    """Take a step and wait for something that never comes."""
    await run.step("say", said)
    await run.park(Waits.for_all(["event:never#0"]))


def answered_late(
    call: Callable[..., Awaitable[T]], meanwhile: Callable[[], Awaitable[None]]
) -> Callable[..., Awaitable[T]]:
    """Return ``call``, with something happening between its commit and its answer."""

    async def late(*arguments: object) -> T:
        answer = await call(*arguments)
        await meanwhile()
        return answer

    return late


@pytest.mark.parametrize(
    ("program", "call", "status"),
    [
        pytest.param(ends, "finish", RunStatus.COMPLETED, id="settling"),
        pytest.param(waits, "park", RunStatus.WAITING, id="parking"),
    ],
)
async def test_a_beat_that_crosses_it_leaves_the_drive_alone(
    program: Callable[[DurableRun], Awaitable[None]],
    call: str,
    status: RunStatus,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with MemoryWorld({"a": program}) as world:
        worker = world.worker()

        async def beat() -> None:
            world.clock.now_s += 1
            worker.pool.on_beat(world.clock.boot_s(), ours=[])
            await asyncio.sleep(0)

        monkeypatch.setattr(world.store, call, answered_late(getattr(world.store, call), beat))
        started = await world.start("a")
        await world.until(started.run_id, status)
        await wait_until(lambda: worker.pool.size == 0, description="the drive is over")

        assert world.journal.held(started.thread_id) == []
        assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


@pytest.mark.req("IMP-31")
async def test_a_shutdown_waits_until_its_journal_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with MemoryWorld({"a": waits}) as world:
        worker, committed, answers = world.worker(), asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            committed.set()
            await answers.wait()

        monkeypatch.setattr(world.store, "park", answered_late(world.store.park, slow))
        started = await world.start("a")
        await committed.wait()
        leaving = asyncio.create_task(worker.terminate())
        for _ in range(5):
            await asyncio.sleep(0)
        answers.set()
        await leaving

        assert world.database.runs[started.run_id].status is RunStatus.WAITING
        assert world.journal.held(started.thread_id) == []


async def test_a_run_that_cancels_its_own_task_fails_and_is_not_taken_up_again() -> None:
    async def cancels_itself(_: StepContext) -> StepResult:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return StepResult(None)

    async def program(run: DurableRun) -> None:
        await run.step("tool:t:1", cancels_itself)

    async with MemoryWorld({"a": program}) as world:
        world.worker()
        started = await world.start("a")
        await world.until(started.run_id, RunStatus.FAILED)
        run = world.database.runs[started.run_id]

    assert run.attempts == 1
    assert run.error is not None
    assert "cancelled" in run.error.message
