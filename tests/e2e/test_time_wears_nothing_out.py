"""A wait of thirty hours, and a tool that lets nobody else run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.plays import play, work
from tests.support.sessions import Session
from tests.support.stored import Stored

AGENTS = Path(__file__).parent / "agents"
HOGS_FOR_S = 5
"""Twice and a half as long as a silent worker is thought to be alive."""

_MOMENTS = """
SELECT table_name, column_name FROM information_schema.columns
 WHERE table_schema = 'public' AND table_name LIKE 'agent\\_%'
   AND data_type = 'timestamp with time zone'
"""


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {"COUNTER_FILE": str(counted.path), "OPEN_THREADS_DECIDE": "true"}
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


@pytest.fixture(scope="module")
def stored(dev: DevProcess) -> Stored:
    return Stored(dev)


@pytest.mark.req("DUR-12", "APR-09")
def test_b08_a_run_that_waited_for_thirty_hours_needs_nothing_in_redis(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([("sign", {})], [work()]))
    session.until(lambda view: view["pendingApprovals"], description="it waits for a person")

    with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
        client.flushall()
    for each in stored.rows(_MOMENTS):
        table, column = each["table_name"], each["column_name"]
        stored.rows(f"UPDATE {table} SET {column} = {column} - interval '30 hours'")  # noqa: S608
    session.approve("call_0_0")
    view = session.until_ended()

    assert (view["status"], view["messages"][-1]["text"]) == ("completed", "done")
    assert set(counted.events("end", run).values()) == {1}
    assert counted.started(run) == 2


@pytest.mark.req("DUR-03", "RUN-12")
def test_b09_a_tool_that_lets_nobody_else_run_is_called_once_and_named(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([("hog_the_loop", {"seconds": HOGS_FOR_S})]))
    view = session.until_ended()

    assert (view["status"], view["messages"][-1]["text"]) == ("completed", "done")
    assert counted.started(run) == 1
    assert (stored.run(run)["attempts"], stored.run(run)["crashes"]) == (1, 0)
    _, _, warning = dev.log().partition("the event loop is held up by task 'tool:hog_the_loop:")
    assert f" of run {run}'" in warning.splitlines()[0]
