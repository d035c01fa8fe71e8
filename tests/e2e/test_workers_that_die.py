"""A worker ends: by its own tool again and again, just before a cancel, amid sends, told to.

arq's own limits are hours here: how soon a run goes on has nothing to do with them.
"""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.late import LATE_S
from tests.support.plays import play, work
from tests.support.sessions import Session, seconds_until
from tests.support.standstill import seconds_since, watch_for_standstills
from tests.support.stored import Stored
from tests.support.wait_until import wait_until, wait_until_sync
from tests.support.ws_client import ws_client

AGENTS = Path(__file__).parent / "agents"
GOES_ON_WITHIN_S = 3.0
HANDS_OVER_WITHIN_S = 0.5
MAX_ATTEMPTS = 2
HOUR_S = 3600


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {
        "COUNTER_FILE": str(counted.path),
        "JOBS_MAY_TAKE_S": str(HOUR_S),
        "MAX_ATTEMPTS": str(MAX_ATTEMPTS),
        "DRAIN_S": "0",
    }
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


@pytest.mark.req("DUR-03")
async def test_b01_a_run_that_kills_every_worker_fails_and_frees_its_thread(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([("die", {})]))
    async with ws_client(f"{dev.url.replace('http', 'ws')}/ws") as client:
        seen = await client.watch_thread(session.key)
        await wait_until(
            lambda: seen.value["status"] == "failed", description="it fails", timeout_s=30
        )

    error = {
        "code": "POISON",
        "message": f"{MAX_ATTEMPTS} workers in a row died while they drove this run",
    }
    view = session.view()
    assert counted.started(run) == MAX_ATTEMPTS
    assert seen.value["error"] == view["error"] == error
    assert [row["status"] for row in view["messages"]] == ["complete", "complete", "interrupted"]
    assert stored.rows(
        "SELECT r.status, r.worker, t.live_run, r.xmin = t.xmin AS at_once"
        " FROM agent_runs r JOIN agent_threads t ON t.id = r.thread WHERE r.id = %s",
        run,
    ) == [{"status": "failed", "worker": None, "live_run": None, "at_once": True}]
    session.send("hello")
    assert session.until_ended()["messages"][-1]["text"] == "done"


@pytest.mark.req("APR-02", "DUR-03")
def test_b02_a_cancel_before_the_death_is_noticed_is_the_end(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([work(60), ("sign", {})]))
    session.until(lambda view: view["pendingApprovals"], description="it asks a person")
    wait_until_sync(lambda: counted.started(run) == 1, description="the long tool runs")
    dead = stored.run(run)["worker"]

    os.kill(stored.driver_of(run), signal.SIGKILL)
    assert stored.run(run)["status"] == "running"
    watch_for_standstills()
    begun = time.time()
    assert session.cancel(run)
    view = session.view()

    assert seconds_since(begun) < 1 + LATE_S
    assert (view["status"], view["runId"], view["pendingApprovals"]) == ("cancelled", None, [])
    assert stored.rows("SELECT status FROM agent_approvals WHERE run = %s", run) == [
        {"status": "cancelled"}
    ]
    wait_until_sync(
        lambda: stored.rows("SELECT gone_at FROM agent_workers WHERE id = %s", dead)[0]["gone_at"],
        description="the death is noticed",
    )
    session.send(play([work()]))
    assert session.until_ended()["status"] == "completed"
    row = stored.run(run)
    assert (row["status"], row["worker"], row["attempts"]) == ("cancelled", None, 1)
    assert counted.started(run) == 1


@pytest.mark.req("DUR-03", "RUN-12")
def test_b05_b06_no_limit_of_a_job_delays_a_recovery(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([work(1)], [work()]))
    wait_until_sync(lambda: counted.started(run) == 1, description="the tool runs")

    os.kill(stored.driver_of(run), signal.SIGKILL)
    took = seconds_until(lambda: counted.started(run) == 2, description="it runs elsewhere")

    assert took < GOES_ON_WITHIN_S + LATE_S
    assert session.until_ended()["status"] == "completed"
    assert min(float(limit) for limit in counted.keys("limit")) >= 6 * HOUR_S


@pytest.mark.req("IMP-31")
def test_b07_a_stop_without_patience_is_no_crash_no_cancel_and_no_timeout(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([work(1)]))
    wait_until_sync(lambda: counted.started(run) == 1, description="the tool runs")
    first = stored.driver_of(run)

    os.kill(first, signal.SIGTERM)
    took = seconds_until(
        lambda: stored.worker_of(run) not in {None, first}, description="another has it"
    )

    row, view = stored.run(run), session.view()
    assert took < HANDS_OVER_WITHIN_S + LATE_S
    assert (row["status"], row["crashes"], row["error"]) == ("running", 0, None)
    assert (view["status"], view["messages"][-1]["status"]) == ("running", "open")
    assert session.until_ended()["status"] == "completed"
    assert counted.events("cut", run).total() == 1
    assert (counted.started(run), counted.repeated(run)) == (2, [])


@pytest.mark.req("CON-04", "CON-05")
def test_b25_what_is_sent_during_a_turn_is_there_once_and_read_once(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "queueing")
    first = play([work(1)])
    run = session.send(first)
    wait_until_sync(lambda: counted.started(run) == 1, description="the turn is under way")

    sent: dict[str, list[str]] = {}
    for number in ("1", "2", "3", "4", "5"):
        if number == "3":
            os.kill(stored.driver_of(run), signal.SIGKILL)
        sent[number] = [session.send(number, dedupe=f"{session.key}-{number}") for _ in range(2)]
        time.sleep(0.05)  # as people do who send again and again
    view = session.until(
        lambda view: view["status"] == "completed" and not view["waiting"],
        description="all is answered",
    )

    rows = [row for row in view["messages"] if row["role"] == "user"]
    assert [row["text"] for row in rows] == [first, *sent]
    assert [[row["runId"]] * 2 for row in rows[1:]] == list(sent.values())
    heard = [json.loads(line) for line in counted.keys("heard")]
    assert Counter(prompts[-1] for prompts in heard) == {first: 2} | dict.fromkeys(sent, 1)
    assert all(prompts == [first, *sent][: len(prompts)] for prompts in heard)
