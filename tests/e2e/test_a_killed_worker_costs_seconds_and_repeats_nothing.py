"""SIGKILL at a tool, in a stream, between steps; FLUSHALL in the middle: nothing is lost or twice.

Real processes that are really killed, two workers, tools that count outside our stores.
"""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.late import LATE_S
from tests.support.plays import play, work
from tests.support.sessions import Session, seconds_until
from tests.support.standstill import seconds_since, watch_for_standstills
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "agents"
GOES_ON_WITHIN_S = 3.0
HANDS_OVER_WITHIN_S = 0.5
CALLS = 20


@pytest.fixture(scope="module")
def stored(dev: DevProcess) -> Stored:
    return Stored(dev)


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {"COUNTER_FILE": str(counted.path)}
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


def assert_whole(view: dict[str, Any], calls: int) -> None:
    """Hold a finished count to the laws that a user sees."""
    rows = view["messages"]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert len({row["id"] for row in rows}) == len(rows)
    asked = [p["toolCallId"] for row in rows for p in row["parts"] if p["type"] == "tool_call"]
    given = [p["toolCallId"] for row in rows for p in row["parts"] if p["type"] == "tool_result"]
    assert asked == given == [f"call_{number}" for number in range(calls)]
    assert rows[-1]["text"] == f"counted {calls}"
    assert {row["status"] for row in rows} == {"complete"}


@pytest.mark.req("DUR-03", "DUR-07")
def test_killed_in_a_tool(dev: DevProcess, stored: Stored, counted: Counted) -> None:
    stored.wait_for_workers()
    session = Session(dev, "counting")
    run = session.send("count 2 1.0")
    wait_until_sync(lambda: counted.started(run) == 1, description="the first tool runs")

    os.kill(stored.driver_of(run), signal.SIGKILL)
    took = seconds_until(lambda: counted.started(run) == 2, description="it runs elsewhere")
    view = session.until_ended()

    assert took < GOES_ON_WITHIN_S + LATE_S
    assert_whole(view, 2)
    assert counted.repeated(run) == []


@pytest.mark.req("DUR-03", "DUR-07")
@pytest.mark.parametrize("ends", [1, 6, 13])
def test_killed_between_steps(dev: DevProcess, stored: Stored, counted: Counted, ends: int) -> None:
    stored.wait_for_workers()
    session = Session(dev, "counting")
    run = session.send(f"count {CALLS} 0.02")
    wait_until_sync(
        lambda: counted.events("end", run).total() >= ends,
        description="a body has returned; its record is on its way",
        interval_s=0.0005,
    )

    os.kill(stored.driver_of(run), signal.SIGKILL)
    before = counted.started(run)
    took = seconds_until(lambda: counted.started(run) > before, description="it goes on elsewhere")
    view = session.until_ended()

    assert took < GOES_ON_WITHIN_S + LATE_S
    assert_whole(view, CALLS)
    # A body in flight at the kill may start again; its step is recorded once all the same.
    assert counted.started(run) <= CALLS + 1
    assert max(counted.events("end", run).values()) <= 2
    assert len(counted.repeated(run)) <= 1


@pytest.mark.req("DUR-03", "DUR-07")
def test_b11_parallel_calls_that_had_finished_stay_so_and_all_keep_their_order(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    rng = random.Random(11)  # noqa: S311  # repeatable
    plays = [[rng.randrange(200), rng.randrange(200), 1200] for _ in range(5)]
    for sleeps in plays:
        rng.shuffle(sleeps)
    sessions = [Session(dev, "playing") for _ in plays]
    runs = [
        session.send(play([work(ms / 1000, f"after {ms} ms") for ms in sleeps]))
        for session, sleeps in zip(sessions, plays, strict=True)
    ]
    wait_until_sync(
        lambda: len(_finished(stored, runs)) == 10, description="two calls of each have finished"
    )

    for pid in dev.pids("worker"):
        os.kill(pid, signal.SIGKILL)
    kept = _finished(stored, runs)

    for session, run, sleeps in zip(sessions, runs, plays, strict=True):
        rows = session.until_ended()["messages"]
        starts = counted.events("start", run)
        assert sorted(starts.values()) == [1, 1, 2]
        assert {key for key, times in starts.items() if times == 1} <= kept
        results = [row["parts"][0] for row in rows if row["role"] == "tool"]
        assert [each["toolCallId"] for each in results] == ["call_0_0", "call_0_1", "call_0_2"]
        assert [each["output"] for each in results] == [f"after {ms} ms" for ms in sleeps]
        assert [row["seq"] for row in rows] == [1, 2, 3, 4, 5, 6]
        assert rows[-1]["text"] == "done"


def _finished(stored: Stored, runs: list[str]) -> set[str]:
    """Return the idempotency keys of all finished calls."""
    statement = "SELECT run, name FROM agent_steps WHERE run = ANY (%s) AND name LIKE 'tool:%%'"
    return {f"{row['run']}/{row['name']}" for row in stored.rows(statement, runs)}


@pytest.mark.req("DUR-03", "SUB-08")
def test_killed_in_a_stream(dev: DevProcess, stored: Stored) -> None:
    stored.wait_for_workers()
    session = Session(dev, "telling")
    run = session.send("go")
    session.until(lambda view: view["status"] == "running", description="it runs")

    os.kill(stored.driver_of(run), signal.SIGKILL)
    watch_for_standstills()
    begun = time.time()
    view = session.until_ended()

    assert seconds_since(begun) < GOES_ON_WITHIN_S + 100 * 0.02 + 1.5 + LATE_S
    assert [row["role"] for row in view["messages"]] == ["user", "assistant"]
    assert view["messages"][-1]["text"] == "".join(f"word{number} " for number in range(100))


@pytest.mark.req("DUR-03")
def test_redis_is_flushed_in_the_middle(dev: DevProcess, counted: Counted) -> None:
    session = Session(dev, "counting")
    run = session.send(f"count {CALLS} 0.02")
    wait_until_sync(lambda: counted.started(run) >= 5, description="five calls are made")

    with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
        client.flushall()
    view = session.until_ended()

    assert_whole(view, CALLS)
    assert counted.started(run) == CALLS
    assert counted.repeated(run) == []


@pytest.mark.req("IMP-31")
def test_a_worker_that_is_told_to_stop_hands_its_run_over(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    stored.wait_for_workers()
    session = Session(dev, "telling")
    run = session.send("go")
    session.until(lambda view: view["status"] == "running", description="it runs")
    first = stored.driver_of(run)

    os.kill(first, signal.SIGTERM)
    watch_for_standstills()
    begun = time.time()
    session.until(
        lambda _: stored.worker_of(run) not in {None, first}, description="it runs elsewhere"
    )

    assert seconds_since(begun) < HANDS_OVER_WITHIN_S + LATE_S
    assert session.until_ended()["status"] == "completed"
    assert counted.repeated(run) == []
