"""A wait of thirty hours, a tool that lets nobody else run, three hundred steps beside fifty."""

import statistics
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
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
STEPS = 300
SAMPLE = 50
MAY_GROW_BY = 2

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


@pytest.mark.req("DUR-07", "RUN-12")
def test_b16_the_last_of_three_hundred_steps_cost_what_the_first_did(
    dev: DevProcess, stored: Stored
) -> None:
    old, new = Session(dev, "playing"), Session(dev, "playing")
    sample = [[work()]] * SAMPLE
    runs = [
        (old, old.send(play(*[[work()]] * (STEPS - SAMPLE), [("sign", {})], *sample))),
        (new, new.send(play([("sign", {})], *sample))),
    ]
    calls = [
        session.until(
            lambda view: view["pendingApprovals"], description="it waits for a person", within_s=60
        )["pendingApprovals"][0]["toolCallId"]
        for session, _ in runs
    ]
    # Side by side, so that whatever else the machine has to do slows both.
    for (session, _), call in zip(runs, calls, strict=True):
        session.approve(call)
    for session, _ in runs:
        assert session.until_ended(within_s=60)["status"] == "completed"

    for kind in ("llm", "tool"):
        late, early = (_costs(stored, run, kind)[-SAMPLE:] for _, run in runs)
        assert len(late) == len(early) == SAMPLE
        assert _typical(late) < MAY_GROW_BY * _typical(early)


def _costs(stored: Stored, run: str, kind: str) -> list[float]:
    """Return the seconds from the step before each step of a kind to its own end."""
    steps = stored.rows(
        "SELECT split_part(name, ':', 1) AS kind, created_at AS at FROM agent_steps"
        " WHERE run = %s ORDER BY turn, name",
        run,
    )
    return [
        _seconds(before["at"], step["at"])
        for before, step in pairwise(steps)
        if step["kind"] == kind
    ]


def _seconds(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()


def _typical(costs: list[float]) -> float:
    """Return what three of four steps took longer than: a busy machine disturbs that least."""
    return statistics.quantiles(costs, n=4)[0]
