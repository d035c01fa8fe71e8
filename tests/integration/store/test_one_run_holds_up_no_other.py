"""A run that cannot be ended ends no sweep: the others that are late are ended behind it."""

from typing import Any

import pytest

from app.domain.errors import RecordRefused
from app.domain.run import Run, RunStatus
from app.domain.thread import Thread
from app.store.database import Database
from app.store.executors import Executor
from app.store.settling import Settler
from tests.support.store_world import StoreWorld


@pytest.mark.req("DUR-12")
async def test_a_run_that_cannot_be_ended_holds_up_no_other(
    world: StoreWorld,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, sound = await world.drive(), await world.drive()
    late = [broken.run.id, sound.run.id]
    async with Database(database_url) as database:
        for run_id, minutes in zip(late, (2, 1), strict=True):
            await database.fetch(
                "UPDATE agent_runs SET time_limit = '1s',"
                " deadline_at = clock_timestamp() - make_interval(mins => $2) WHERE id = $1",
                run_id,
                minutes,
            )
    end = Settler.end

    async def refuses(
        self: Settler,
        executor: Executor,
        thread: Thread,
        run: Run,
        *rest: Any,  # noqa: ANN401
    ) -> None:
        if run.id == broken.run.id:
            raise RecordRefused("Postgres refuses this for good")
        await end(self, executor, thread, run, *rest)

    monkeypatch.setattr(Settler, "end", refuses)
    await world.store.fail_overdue()

    assert (await world.run(sound.run.id)).status is RunStatus.FAILED
    assert (await world.run(broken.run.id)).status is RunStatus.RUNNING
    assert "cannot be ended" in caplog.text
