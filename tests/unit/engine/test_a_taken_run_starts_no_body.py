"""The beat that renews the lease also says which runs were taken: their bodies must not start."""

import asyncio

from app.domain.run import Ending, RunStatus
from app.engine.durable_run import DurableRun
from app.engine.steps import StepContext, StepResult
from app.testing.world import MemoryWorld
from tests.support.wait_until import wait_until


async def test_parallel_calls_that_waited_for_a_fresh_lease_do_not_start() -> None:
    started: list[str] = []
    waiting = asyncio.Event()

    async def body(context: StepContext) -> StepResult:
        started.append(f"{context.fence.epoch} {context.name}")
        return StepResult(None)

    async def calls(run: DurableRun) -> None:
        async with asyncio.TaskGroup() as group:
            if run.run.attempts == 1:
                world.clock.now_s += 60  # this worker was frozen, and thaws
                waiting.set()
            for name in ("tool:a", "tool:b"):
                group.create_task(run.step(name, body))
        await run.finish(Ending.completed("final"))

    async with MemoryWorld({"a": calls}) as world:
        frozen = world.worker()
        run = await world.start("a")
        await waiting.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        await world.take_over(frozen)
        frozen.pool.on_beat(world.clock.boot_s(), ours=[])
        await wait_until(lambda: frozen.pool.size == 0, description="its drive is stopped")
        frozen.pool.ring()
        await world.until(run.run_id, RunStatus.COMPLETED)

    assert started == ["3 tool:a", "3 tool:b"]
