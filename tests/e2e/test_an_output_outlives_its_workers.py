"""A form that was asked for is in force on whatever worker ends the run, over real stores."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.plays import Call, play, work
from tests.support.sessions import Session
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "agents"
VERDICT: dict[str, Any] = {
    "type": "object",
    "properties": {"fits": {"type": "boolean"}, "count": {"type": "integer"}},
    "required": ["fits", "count"],
}


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {"COUNTER_FILE": str(counted.path), "DRAIN_S": "0", "OPEN_THREADS_DECIDE": "on"}
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


def answer(**fields: object) -> Call:
    return "submit_structured_output", fields


def prompt(dev: DevProcess, session: Session, message: str) -> str:
    body = {"message": message, "sessionId": session.key, "outputSchema": VERDICT}
    started = httpx2.post(f"{dev.url}/agents/{session.agent}", json=body, timeout=10)
    assert started.status_code == 202, started.text
    return str(started.json()["runId"])


@pytest.mark.req("OUT-03", "APR-10", "RUN-08", "RUN-10", "DUR-03")
def test_killed_workers_and_a_person_between_change_nothing_of_the_output(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    """Field case B114."""
    session = Session(dev, "playing")
    turns = play([work(1)], [("sign", {})], [answer(fits="no")], [answer(fits=False, count=0)])
    run = prompt(dev, session, turns)
    wait_until_sync(lambda: counted.started(run) == 1, description="the tool runs")

    os.kill(stored.driver_of(run), signal.SIGKILL)
    waiting = session.until(lambda view: view["pendingApprovals"], description="it asks a person")
    assert waiting["output"] is None
    for pid in dev.pids("worker"):
        os.kill(pid, signal.SIGKILL)
    session.approve(waiting["pendingApprovals"][0]["toolCallId"])
    view = session.until_ended()

    given = {"fits": False, "count": 0}
    shown = httpx2.get(f"{dev.url}/runs/{run}", timeout=10).json()
    assert (view["status"], view["stopped"], view["output"]) == ("completed", "final", given)
    assert (shown["status"], shown["output"]) == ("completed", given)
    assert [row["text"] for row in view["messages"] if row["role"] == "system"] == []
    assert stored.rows("SELECT output FROM agent_runs WHERE id = %s", run) == [
        {"output": {"value": given}}
    ]


@pytest.mark.req("OUT-01", "RUN-08")
def test_the_next_prompt_of_the_session_is_asked_for_no_form(dev: DevProcess) -> None:
    session = Session(dev, "playing")
    prompt(dev, session, play([answer(fits=True, count=1)]))
    assert session.until_ended()["output"] == {"fits": True, "count": 1}

    session.send("hello")
    view = session.until_ended()

    assert (view["messages"][-1]["text"], view["output"]) == ("done", None)
