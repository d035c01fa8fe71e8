"""What waits is listed and decided at a terminal, and by every other way in after a restart."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.counted import Counted
from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.wait_until import wait_until_sync

AGENTS = Path(__file__).parent / "agents"
TERMINAL = "at a terminal / #1?"
SESSIONS = ("one", "many", "function", TERMINAL, "denied", "foreign")


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    with dev_process(agents=AGENTS, env={"COUNTER_FILE": str(counted.path)}) as made:
        yield made.start()


def ropewalk(dev: DevProcess, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "app.main.cli", *argv, "--data-dir", str(dev.data_dir)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def a_client(dev: DevProcess) -> httpx2.Client:
    """Return a client of the user that commands speak for."""
    token = ropewalk(dev, "token", "--user", "dev-user").stdout.strip()
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.Client(base_url=dev.url, headers=headers, timeout=30)


def waiting(client: httpx2.Client) -> dict[str, dict[str, Any]]:
    """Return what waits, by session."""
    rows = client.get("/approvals", params={"limit": 100}).json()["approvals"]
    return {row["key"]: row for row in rows}


@pytest.mark.req("APR-04", "APR-09", "APR-28", "APR-31", "APR-32", "CLI-02")
def test_b36_after_a_restart_of_everything_each_way_in_decides(
    dev: DevProcess, counted: Counted
) -> None:
    with a_client(dev) as client:
        runs = {}
        for key in SESSIONS:
            body = {"message": "sign it", "sessionId": key}
            runs[key] = client.post("/agents/signing", json=body).json()["runId"]
        wait_until_sync(lambda: len(waiting(client)) == len(SESSIONS), description="every run asks")
    dev.stop()
    dev.ready_file.unlink(missing_ok=True)
    dev.start()

    with a_client(dev) as client:
        asked = waiting(client)
        one, many = asked["one"]["id"], asked["many"]["id"]
        sessions = "/agents/signing/sessions"
        answers = [
            client.post(f"{sessions}/one/approvals/{one}", json={"decision": "approved"}),
            client.post(
                f"{sessions}/many/approvals",
                json={"decisions": [{"approvalId": many, "decision": "approved"}]},
            ),
            client.post(
                "/functions/agents:agentResolveApproval",
                json={
                    "key": "function",
                    "toolCallId": asked["function"]["toolCallId"],
                    "decision": "approved",
                    "via": "dashboard",
                },
            ),
        ]
        assert [each.status_code for each in answers] == [200, 200, 200], answers

        listed = ropewalk(dev, "approvals", "list")
        terminal, denied = asked[TERMINAL]["id"], asked["denied"]["id"]
        approved = ropewalk(dev, "approvals", "approve", terminal)
        refused = ropewalk(dev, "approvals", "deny", denied, "--reason", "not today")
        again = ropewalk(dev, "approvals", "deny", terminal)
        stranger = ropewalk(
            dev, "approvals", "approve", asked["foreign"]["id"], "--user", "somebody"
        )

        def is_over() -> bool:
            views = [
                client.get(f"{sessions}/{quote(key, safe='')}").json() for key in SESSIONS[:-1]
            ]
            return all(view["status"] == "completed" for view in views)

        wait_until_sync(is_over, description="the decided runs end")
        history = ropewalk(dev, "approvals", "list", "--all", "--json")
        rows = {row["key"]: row for row in json.loads(history.stdout)}

    assert len(listed.stdout.splitlines()) == 3
    assert all("signing/sign" in line for line in listed.stdout.splitlines())
    assert (approved.stdout, approved.returncode) == ("approved: signing/sign\n", 0)
    assert (refused.stdout, refused.returncode) == ("denied: signing/sign\n", 0)
    assert (again.returncode, stranger.returncode) == (1, 1)
    assert "CONFLICT: the call was already approved" in again.stderr
    assert "no approval" in stranger.stderr
    assert {key: (row["status"], row.get("place")) for key, row in rows.items()} == {
        "one": ("approved", "api"),
        "many": ("approved", "api"),
        "function": ("approved", "dashboard"),
        TERMINAL: ("approved", "cli"),
        "denied": ("denied", "cli"),
        "foreign": ("pending", None),
    }
    assert rows["denied"]["reason"] == "not today"
    ran = {key: counted.started(run) for key, run in runs.items()}
    assert ran == dict.fromkeys(SESSIONS, 1) | {"denied": 0, "foreign": 0}
