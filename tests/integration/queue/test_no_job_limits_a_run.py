"""No limit of a job is a limit of a run: the job rings, and the run is driven elsewhere."""

import asyncio

import pytest

from app import Agent, tool
from app.domain.run import RunStatus
from app.queue import worker as queue_worker
from tests.integration.queue.conftest import House
from tests.support.agent_world import AgentWorld
from tests.support.running import running
from tests.support.scripted_model import Asks, Says, ScriptedModel

JOB_S = 0.1


class RungByTheQueue(AgentWorld):
    """A world whose workers hear the real bell only."""

    async def ring(self, run_id: str) -> None:
        del run_id


@pytest.mark.req("RUN-12")
async def test_b07_a_run_outlives_the_time_limit_of_the_job_that_started_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_worker, "JOB_S", JOB_S)
    bodies: list[str] = []

    @tool
    async def long_work() -> str:
        bodies.append("begun")
        await asyncio.sleep(5 * JOB_S)
        bodies.append("done")
        return "worth it"

    model = ScriptedModel(Says(calls=[Asks("long_work")]), "Done.")
    async with RungByTheQueue(Agent(model=model, tools=[long_work])) as world:
        pool = world.worker().pool
        await asyncio.sleep(0)  # its first look, which finds nothing
        arq = house.worker(claim=pool.ring, has_room=lambda: pool.has_room)
        async with running(arq.serve()):
            run_id = await world.say()
            await house.bell.ring(run_id)
            run = await world.ended(run_id)

    assert (run.status, run.stopped) == (RunStatus.COMPLETED, "final")
    assert bodies == ["begun", "done"]
    assert arq.rings == 1
    assert await house.waiting() == 0
