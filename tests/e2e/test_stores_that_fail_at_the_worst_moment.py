"""Redis loses a cancel or stands still in a stream; either store dies while a sweep recovers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
import redis

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.late import LATE_S
from tests.support.plays import play, work
from tests.support.sessions import Session, seconds_until
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "agents"
BEAT_S = 0.5
BUSY = 20
WORDS = 60


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {"COUNTER_FILE": str(counted.path)}
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


@contextmanager
def nobody_subscribes(dev: DevProcess) -> Iterator[None]:
    """Kill every subscriber's connection to Redis, again and again."""
    is_over = Event()

    def kill() -> None:
        with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
            while not is_over.wait(0.002):
                client.client_kill_filter(_type="pubsub")

    killer = Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        is_over.set()
        killer.join()


@pytest.mark.req("IMP-31")
def test_b03_a_cancel_that_redis_loses_is_heard_with_the_next_beat(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    for _ in range(3):
        session = Session(dev, "playing")
        run = session.send(play([work(60)]))
        wait_until_sync(lambda: counted.started(run) == 1, description="the tool runs")  # noqa: B023

        with nobody_subscribes(dev):
            assert session.cancel(run)
            settled = stored.run(run)
            took = seconds_until(
                lambda: counted.events("cut", run),  # noqa: B023
                description="the tool is cancelled",
            )

        assert settled["status"] == "cancelled"
        assert session.view()["status"] == "cancelled"
        assert took < 2 * BEAT_S + LATE_S


@pytest.mark.req("SUB-08")
def test_b47_a_redis_that_stands_still_in_a_stream_costs_the_stream_only(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    before = len(counted.keys("spoke"))
    session = Session(dev, "streaming")
    begun = time.monotonic()
    run = session.send(f"{WORDS} 50")
    wait_until_sync(lambda: counted.keys("speaks"), description="the model speaks")

    frozen = dev.pids("redis")[0]
    os.kill(frozen, signal.SIGSTOP)
    try:
        wait_until_sync(lambda: len(counted.keys("spoke")) > before, description="it has spoken")
        view = session.until_ended()
        took = time.monotonic() - begun
    finally:
        os.kill(frozen, signal.SIGCONT)

    assert view["status"] == "completed"
    assert view["messages"][-1]["text"] == "".join(f"word{number} " for number in range(WORDS))
    assert stored.run(run)["attempts"] == 1
    assert took < 5 + LATE_S


@pytest.mark.req("DUR-03", "DUR-07")
def test_b17_stores_that_die_while_the_sweep_recovers_cost_no_run(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    sessions = [Session(dev, "playing") for _ in range(2 * BUSY)]
    message = play([work(2)], [work()])
    with ThreadPoolExecutor(8) as people:
        runs = list(people.map(lambda session: session.send(message), sessions))
    wait_until_sync(lambda: all(counted.started(run) for run in runs), description="all tools run")
    dead = max(dev.pids("worker"), key=lambda pid: len(_runs_of(stored, pid)))
    held = _runs_of(stored, dead)

    os.kill(dead, signal.SIGKILL)
    killed: dict[str, int] = {}
    for store in ("postgres", "redis"):
        with _sweeps_held_up(dev, dead) as is_in_the_sweep:
            wait_until_sync(is_in_the_sweep, description="the sweep is under way")
            killed[store] = dev.kill(store)
    for store, pid in killed.items():
        dev.wait_for_another(store, pid)

    # On a busy machine some of its runs went on while the others were asked for.
    assert len(held) >= BUSY // 4
    assert "sweep failed, all counts start anew" in dev.log()
    assert "the doorbell is not heard, the worker's tick goes on" in dev.log()
    for session, run in zip(sessions, runs, strict=True):
        view = session.until_ended()
        assert (view["status"], view["messages"][-1]["text"]) == ("completed", "done")
        assert [row["status"] for row in view["messages"]] == ["complete"] * 6
        assert counted.repeated(run) == []
        assert stored.run(run)["attempts"] <= 3


def _runs_of(stored: Stored, pid: int) -> list[str]:
    statement = "SELECT id FROM agent_runs WHERE status = 'running' AND worker LIKE %s"
    return [row["id"] for row in stored.rows(statement, f"%-{pid}")]


@contextmanager
def _sweeps_held_up(dev: DevProcess, pid: int) -> Iterator[Callable[[], bool]]:
    """Hold the row of a worker, which a sweep locks before it takes the worker's runs."""
    url, stored = dev.ready()["databaseUrl"], Stored(dev)
    waits = (
        "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
        " AND application_name <> 'ropewalk beat'"
    )
    with suppress(psycopg.OperationalError), _connection(url) as holder:  # it may be killed
        holder.execute("SELECT id FROM agent_workers WHERE id LIKE %s FOR UPDATE", [f"%-{pid}"])
        yield lambda: bool(stored.rows(waits, holder.info.backend_pid))


def _connection(url: str) -> psycopg.Connection:
    """Return a connection as soon as the server takes one: a sweep counts for two seconds more."""
    made: list[psycopg.Connection] = []

    def connect() -> bool:
        with suppress(psycopg.OperationalError):
            made.append(psycopg.connect(url))
        return bool(made)

    wait_until_sync(connect, description="Postgres is back", timeout_s=30)
    return made[0]
