"""Ten runs wait for a person, one slot: an eleventh runs; after a restart each one goes on."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.sessions import Session

AGENTS = Path(__file__).parent / "agents"


@pytest.fixture
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {
        "COUNTER_FILE": str(counted.path),
        "WORKER_SLOTS": "1",
        "OPEN_THREADS_DECIDE": "true",
    }
    with dev_process(agents=AGENTS, env=env) as process:
        yield process.start()


@pytest.mark.req("DUR-08", "APR-02", "APR-05", "APR-09")
def test_parked_runs_survive_every_process(dev: DevProcess, counted: Counted) -> None:
    parked = [Session(dev, "signing") for _ in range(10)]
    runs = [session.send("sign it") for session in parked]
    for session in parked:
        session.until(lambda view: view["pendingApprovals"], description="it waits for a person")

    eleventh = Session(dev, "counting")
    eleventh.send("count 1 0.0")
    assert eleventh.until_ended()["status"] == "completed"
    with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
        left = [key for key in client.scan_iter("*") if b"{queue}" not in key]
    assert left == [], "a parked run has no key in Redis"

    dev.stop()
    dev.ready_file.unlink(missing_ok=True)
    dev.start()

    for session in parked:
        session.approve("call_sign")
    for session, run in zip(parked, runs, strict=True):
        assert session.until_ended()["messages"][-1]["text"] == "done"
        assert counted.started(run) == 1
    with psycopg.connect(dev.ready()["databaseUrl"]) as connection:
        steps = connection.execute(
            "SELECT count(*) FROM agent_steps WHERE name = 'tool:sign:call_sign'"
        ).fetchone()
    assert steps == (10,)
