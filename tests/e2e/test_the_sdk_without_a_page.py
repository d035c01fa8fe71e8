"""The SDK as it is packed, against a real deployment: as a page does and as a server.

Under Node, and under Bun and Deno where they are on the PATH: nothing of ours needs them.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.dev_process import ROOT, DevProcess, dev_process

STORIES = Path(__file__).parent / "node"
ENTRY = ROOT / "frontend-sdk" / "dist" / "core" / "index.js"
RUNTIMES = {
    "node": (),
    "bun": (),
    "deno": ("run", "--no-prompt", "--allow-net", "--allow-read"),
}

ToldBy: TypeAlias = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def dev() -> Iterator[DevProcess]:
    with dev_process(agents=ROOT / "agents", env={"DEMO_DELAY_MS": "10"}) as made:
        yield made.start()


def token(dev: DevProcess, user: str) -> str:
    """Return a token of a user of this deployment."""
    command = [sys.executable, "-m", "app.main.cli", "token", "--user", user]
    minted = subprocess.run(
        [*command, "--data-dir", str(dev.data_dir)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return minted.stdout.strip()


@pytest.fixture(scope="module", params=RUNTIMES)
def told_by(request: pytest.FixtureRequest, dev: DevProcess) -> ToldBy:
    """Run a script of ``node/`` with the tokens of an Ann and a Ben; return what it saw."""
    name: str = request.param
    program = shutil.which(name)
    if program is None and name != "node":
        pytest.skip(f"{name} is not on this machine")
    assert program is not None, "Node.js is missing; `make setup` says which one is needed"
    command = [program, *RUNTIMES[name]]
    people = [token(dev, f"{user}-{name}") for user in ("ann", "ben")]

    def told(story: str) -> dict[str, Any]:
        done = subprocess.run(
            [*command, str(STORIES / story), str(ENTRY), dev.url, *people],
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
            env={each: os.environ[each] for each in ("PATH", "HOME") if each in os.environ},
        )
        assert done.returncode == 0, done.stderr
        saw: dict[str, Any] = json.loads(done.stdout)
        return saw

    return told


@pytest.mark.req("SDK-13", "SUB-05", "IMP-01", "IMP-02")
def test_a_page_watches_lays_over_and_reaches_only_its_own(told_by: ToldBy) -> None:
    told = told_by("sdk-story.mjs")

    assert told["placed"] == "placed"
    assert told["atTheAnswer"] == [["the-first-order", "placed"]], (
        "the answer came before its effect"
    )
    assert told["wasExpected"]
    assert told["mostAtOnce"] == 1
    assert told["bens"] == []
    assert told["anonymous"] == "UNAUTHENTICATED"
    assert told["foreign"] == {
        "code": "NOT_FOUND",
        "message": f"there is no order {told['orderId']}",
    }
    assert told["missing"] == {"code": "NOT_FOUND", "message": "there is no order 99999"}
    assert (
        told["internal"]["message"].replace("changeOrder", "noSuchThing")
        == (told["absent"]["message"])
    )
    assert told["cancelled"] == ["cancelled"]


@pytest.mark.req("SDK-14", "SIG-02", "SIG-07", "RUN-08", "RUN-10")
def test_a_server_prompts_follows_decides_and_signals(told_by: ToldBy) -> None:
    told = told_by("http-story.mjs")

    assert {"support", "order-desk"} <= set(told["agents"])
    assert told["once"]
    pieces = told["answer"].pop("pieces")
    assert pieces > 1, "the answer came in one piece"
    assert told["answer"] == {
        "status": "completed",
        "title": "From a server",
        "goal": None,
        "output": None,
        "asStored": True,
    }
    assert told["form"] == {"city": "string", "ofRun": True, "asStored": True}
    assert told["inbox"]
    assert told["busy"]["woke"] is False
    assert told["decided"] == ["denied"]
    assert told["woke"] is True
    assert told["reply"]
    assert told["stranger"] == {"ours": True, "code": "FORBIDDEN", "status": 403}
    assert told["foreign"] == {"ours": True, "code": "NOT_FOUND", "status": 404}
    assert told["unread"] == told["foreign"]
    assert told["orders"] == []


@pytest.mark.req("SDK-10")
def test_a_conversation_is_streamed_cut_decided_and_rendered(told_by: ToldBy) -> None:
    told = told_by("chat-story.mjs")

    pieces = told.pop("pieces")
    assert pieces > 10, "the answers came in one piece"
    assert told == {
        "connections": 2,
        "asked": [["refund_order", "1002"]],
        "refunded": [1200],
        "asStored": True,
        "asRendered": True,
    }
