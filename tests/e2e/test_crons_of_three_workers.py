"""Three real workers and one clock: one run a slot, whoever dies; what was missed is caught up."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.backend import SECRET, token_for
from tests.support.counted import Counted
from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "ticking"
SECOND = timedelta(seconds=1)
_SLOTS = """
SELECT m.due_at, r.id, r.status, r.thread FROM agent_timers m
  JOIN agent_runs r ON r.id = m.start ->> 'run_id'
 WHERE m.cron = %s AND m.fired_at IS NOT NULL AND m.error IS NULL ORDER BY m.due_at
"""


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    far = (datetime.now(UTC).minute + 30) % 60
    env = {"COUNTER_FILE": str(counted.path), "JWT_SECRET": SECRET, "FAR_MINUTE": str(far)}
    with dev_process(agents=AGENTS, env=env, workers=3) as process:
        yield process.start()


@pytest.fixture
def stored(dev: DevProcess) -> Stored:
    stored = Stored(dev)
    stored.wait_for_workers(3)
    return stored


def _slots(stored: Stored, cron: str) -> list[dict[str, Any]]:
    return stored.rows(_SLOTS, cron)


@pytest.mark.req("SCH-02", "SCH-06")
def test_b91_each_second_starts_one_run_though_a_worker_is_killed_between_slots(
    dev: DevProcess, stored: Stored
) -> None:
    wait_until_sync(lambda: len(_slots(stored, "tick")) >= 2, description="two slots")
    begun = len(_slots(stored, "tick"))
    killed = dev.kill("worker")
    dev.wait_for_another("worker", killed)
    wait_until_sync(
        lambda: len(_slots(stored, "tick")) >= begun + 5, description="more slots", timeout_s=20
    )

    slots = _slots(stored, "tick")
    wait_until_sync(
        lambda: all(s["status"] == "completed" for s in _slots(stored, "tick")[: len(slots)]),
        description="the runs come to their ends",
        timeout_s=30,
    )

    assert {later["due_at"] - slot["due_at"] for slot, later in pairwise(slots)} == {SECOND}
    assert len({slot["id"] for slot in slots}) == len({slot["thread"] for slot in slots})
    assert len({slot["id"] for slot in slots}) == len(slots)


def test_b94_an_action_that_takes_longer_than_its_interval_is_called_once_a_slot(
    stored: Stored, counted: Counted
) -> None:
    wait_until_sync(lambda: len(counted.keys("end")) >= 3, description="three calls", timeout_s=20)

    lines = [line.split()[0] for line in counted.path.read_text().splitlines()]
    calls = [word for word in lines if word in {"start", "end"}]
    (made,) = stored.rows(
        "SELECT count(*) AS calls, count(DISTINCT slot) AS slots FROM agent_scheduled_calls "
        "WHERE cron = 'dawdle'"
    )
    assert made["calls"] == made["slots"] >= 3
    assert all(first != second for first, second in pairwise(calls)), "never two at a time"


@pytest.mark.parametrize(("policy", "fires"), [("skip", 0), ("one", 1), ("all", 3)])
def test_b95_three_slots_that_were_missed_are_caught_up_as_declared(
    stored: Stored, policy: str, fires: int
) -> None:
    def cron() -> dict[str, Any]:
        return stored.rows("SELECT * FROM agent_crons WHERE name = %s", policy)[0]

    before = cron()["next_at"]
    stored.rows(
        "UPDATE agent_crons SET next_at = next_at - interval '3 hours' WHERE name = %s", policy
    )
    wait_until_sync(lambda: cron()["next_at"] == before, description="it is caught up")
    wait_until_sync(lambda: len(_slots(stored, policy)) == fires, description="as many have fired")

    slots = _slots(stored, policy)
    assert cron()["last_slot"] == before - timedelta(hours=1)
    assert len({slot["thread"] for slot in slots}) == min(fires, 1), "one conversation"


@pytest.mark.req("SCH-04")
def test_a_call_that_a_mutation_scheduled_is_made_once_by_three_workers(
    dev: DevProcess, stored: Stored, counted: Counted
) -> None:
    for number in range(5):
        httpx2.post(
            f"{dev.url}/functions/clock:tidyLater",
            json={"key": f"k{number}"},
            headers={"authorization": f"Bearer {token_for('ann')}"},
        ).raise_for_status()

    wait_until_sync(lambda: len(counted.keys("tidied")) >= 5, description="all are made")

    def are_marked() -> bool:
        statement = "SELECT 1 FROM agent_scheduled_calls WHERE cron IS NULL AND made_at IS NULL"
        return not stored.rows(statement)

    wait_until_sync(are_marked, description="all are marked")
    assert sorted(counted.keys("tidied")) == [f"k{number}/ann" for number in range(5)]


def test_the_crons_of_a_deployment_are_listed(dev: DevProcess, stored: Stored) -> None:
    ready = dev.ready()
    env = {"DATABASE_URL": ready["databaseUrl"], "REDIS_URL": ready["redisUrl"]}

    def listed(*options: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "app.main.cli", "crons", *options],
            cwd=ROOT,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=True,
            timeout=50,
        ).stdout

    rows = {row["name"]: row for row in json.loads(listed("--json"))}
    assert list(rows) == ["all", "dawdle", "one", "skip", "tick"]
    assert (rows["tick"]["target"], rows["dawdle"]["target"]) == ("agent:ticking", "clock:dawdle")
    assert rows["tick"]["last_slot"]
    assert "agent:ticking" in listed()
