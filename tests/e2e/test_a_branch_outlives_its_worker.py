"""SIGKILL while a branch answers: it goes on elsewhere, and what it was made from is untouched."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.plays import play, work
from tests.support.sessions import Session
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "agents"


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {"COUNTER_FILE": str(counted.path)}
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


@pytest.mark.req("DUR-03", "DUR-07")
def test_a_branchs_run_goes_on_with_copies_and_steps_as_they_were(
    stored: Stored, counted: Counted
) -> None:
    session = Session(stored._dev, "playing")
    session.send(play([work(0, "before")]))
    session.until_ended()
    original = session.send(play([work(0, "quick")], [work(0.7, "slow")]))
    before = session.until_ended()

    branch, run = session.regenerate()
    wait_until_sync(lambda: counted.started(run) == 2, description="its second tool runs")
    os.kill(stored.driver_of(run), signal.SIGKILL)
    rows = branch.until_ended()["messages"]

    assert session.view()["messages"] == before["messages"]
    assert counted.started(original) == 2
    starts = counted.events("start", run)
    assert sorted(starts.values()) == [1, 2], "the first one was recorded, the second one cut off"
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    copied = [(row["runId"], row["text"], row["parts"]) for row in before["messages"][:4]]
    assert [(row["runId"], row["text"], row["parts"]) for row in rows[:4]] == copied
    outputs = [row["parts"][0]["output"] for row in rows if row["role"] == "tool"]
    assert outputs == ["before", "quick", "slow"]
    assert {row["status"] for row in rows} == {"complete"}
