"""SIGTERM to workers and gateways, one after the other: all goes on, nobody sees an error."""

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from app.protocol.calls import AGENT_RUN
from tests.support.backend import SECRET, token_for
from tests.support.chaos.client import ChaosClient
from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.late import LATE_S
from tests.support.plays import play, work
from tests.support.sessions import Session, seconds_until
from tests.support.stored import Stored
from tests.support.wait_until import wait_until, wait_until_sync

AGENTS = Path(__file__).parent / "agents"
DRAIN_S = 5
"""Far longer than any tool here takes."""
HANDS_OVER_WITHIN_S = 0.5
TALKERS = 20
TURNS = 4


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {
        "COUNTER_FILE": str(counted.path),
        "OPEN_THREADS_DECIDE": "true",
        "JWT_SECRET": SECRET,
        "DRAIN_S": str(DRAIN_S),
    }
    with dev_process(agents=AGENTS, env=env, workers=2) as process:
        yield process.start()


@pytest.mark.req("IMP-31")
def test_b07_a_tool_in_flight_ends_and_is_recorded_and_then_its_run_is_handed_over(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    session = Session(dev, "playing")
    run = session.send(play([work(1)], [work(0.5)]))
    wait_until_sync(lambda: counted.started(run) == 1, description="the tool runs")
    first = stored.driver_of(run)

    os.kill(first, signal.SIGTERM)
    wait_until_sync(lambda: counted.events("end", run), description="the tool ends")
    took = seconds_until(
        lambda: stored.worker_of(run) not in {None, first}, description="another has it"
    )

    assert took < HANDS_OVER_WITHIN_S + LATE_S
    assert (stored.run(run)["status"], stored.run(run)["crashes"]) == ("running", 0)
    assert session.until_ended()["status"] == "completed"
    assert (counted.started(run), counted.repeated(run)) == (2, [])
    assert counted.events("cut", run).total() == 0


class Talker:
    """A person at a page of their own, who says the next thing when the last is answered."""

    def __init__(self, dev: DevProcess, number: int) -> None:
        self.key = f"talk-{number}"
        self.violations: list[str] = []
        self.client = ChaosClient(
            [f"{dev.url.replace('http', 'ws')}/ws"],
            token_for(f"user-{number}"),
            Random(number),  # noqa: S311  # repeatable
            self.violations.append,
        )
        self.view = self.client.watch(self.key)
        self.thread = self.client.watch_thread(self.key)
        self.runs: list[str] = []

    async def talk(self, is_over: asyncio.Event) -> None:
        """Talk until told to stop; the last thing is answered as well."""
        message = play(*[[work(0.2)]] * TURNS)
        for number in itertools.count():
            if is_over.is_set():
                return
            args = {"agent": "playing", "key": self.key, "input": message}
            started = await self.client.call(AGENT_RUN, args, dedupe=f"{self.key}-{number}")
            self.runs.append(started["id"])
            await wait_until(self._is_answered, description="an answer", timeout_s=30)

    def _is_answered(self) -> bool:
        shown, rows = self.thread.value, self.view.rows
        return (
            shown is not None
            and (shown["runId"], shown["status"]) == (self.runs[-1], "completed")
            and (rows[-1]["runId"], rows[-1]["text"]) == (self.runs[-1], "done")
        )


@pytest.mark.req("IMP-31", "DUR-12", "SUB-03")
async def test_b18_a_rolling_restart_under_load_is_a_pause_and_nothing_else(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    talkers = [Talker(dev, number) for number in range(TALKERS)]
    parked = await asyncio.to_thread(_park, dev, stored)
    before = {*dev.pids("worker"), *dev.pids("gateway")}
    is_over = asyncio.Event()

    async with asyncio.TaskGroup() as group:
        pages = [group.create_task(talker.client.run()) for talker in talkers]
        async with asyncio.TaskGroup() as talks:
            for talker in talkers:
                talks.create_task(talker.talk(is_over))
            await wait_until(lambda: all(talker.runs for talker in talkers), description="all talk")
            await asyncio.to_thread(_replace, dev, stored, ["worker"])
            await asyncio.to_thread(_replace, dev, stored, ["worker", "gateway"])
            is_over.set()
        for page in pages:
            page.cancel()

    assert before.isdisjoint({*dev.pids("worker"), *dev.pids("gateway")})
    for talker in talkers:
        assert (talker.violations, talker.client.errors) == ([], [])
        assert talker.client.sockets == 2
        rows = talker.view.rows
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        assert len(rows) == len(talker.runs) * (2 * TURNS + 2)
        assert {row["status"] for row in rows} == {"complete"}
        assert [counted.repeated(run) for run in talker.runs] == [[]] * len(talker.runs)
    await asyncio.to_thread(_wake, stored, counted, parked)


def _replace(dev: DevProcess, stored: Stored, parts: list[str]) -> None:
    """Tell the oldest process of each part to stop, and wait for those that come instead."""
    told = [(part, min(dev.pids(part), key=_started_at)) for part in parts]
    for _, pid in told:
        os.kill(pid, signal.SIGTERM)
    for part, pid in told:
        dev.wait_for_another(part, pid)
    stored.wait_for_workers(beats=0)


def _started_at(pid: int) -> int:
    """Return when a process was started, in ticks since the machine was."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[19])


def _park(dev: DevProcess, stored: Stored) -> dict[str, Session]:
    """Return sessions whose runs wait for a person, for a child, and for a child until a time."""
    gated = play([("sign", {})])
    parked = {
        "approval": Session(dev, "playing"),
        "child": Session(dev, "asking"),
        "timer": Session(dev, "asking"),
    }
    for waits_for, session in parked.items():
        session.send(gated if waits_for == "approval" else play([("ask", {"message": gated})]))
    wait_until_sync(
        lambda: (
            stored.rows("SELECT count(*) AS found FROM agent_approvals WHERE status = 'pending'")
            == [{"found": 3}]
        ),
        description="three runs wait for a person, two of them children",
    )
    return parked


def _wake(stored: Stored, counted: Counted, parked: dict[str, Session]) -> None:
    """Let what they wait for happen, and see each of them go on."""
    children = {
        row["key"]: row
        for row in stored.rows(
            "SELECT p.key, c.key AS child, r.id FROM agent_runs r"
            " JOIN agent_threads c ON c.id = r.thread"
            " JOIN agent_threads p ON p.id = r.parent_thread"
        )
    }
    approval, child, timer = parked["approval"], parked["child"], parked["timer"]
    approval.approve("call_0_0")
    assert approval.until_ended()["messages"][-1]["text"] == "done"

    of_child = children[child.key]
    child.approve("call_0_0", key=of_child["child"])
    rows = child.until_ended()["messages"]
    assert (rows[2]["parts"][0]["output"], rows[-1]["text"]) == ("done", "done")
    assert counted.started(of_child["id"]) == 1

    stored.rows(
        "UPDATE agent_timers m SET due_at = now() FROM agent_threads t"
        " WHERE t.id = m.thread AND m.fired_at IS NULL AND t.key = %s",
        timer.key,
    )
    rows = timer.until_ended()["messages"]
    assert "has not answered within 60 s" in rows[2]["parts"][0]["output"]
    assert rows[-1]["text"] == "done"
    assert counted.started(children[timer.key]["id"]) == 0
