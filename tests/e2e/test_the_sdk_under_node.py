"""The SDK as it is packed, under Node, against a real deployment: as a page and as a server."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dev_process import ROOT, DevProcess, dev_process

STORIES = Path(__file__).parent / "node"
ENTRY = ROOT / "frontend-sdk" / "dist" / "core" / "index.js"


@pytest.fixture(scope="module")
def dev() -> Iterator[DevProcess]:
    with dev_process(agents=ROOT / "agents") as made:
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


def told_by(story: str, dev: DevProcess) -> dict[str, Any]:
    """Return what a script in ``node/`` saw, who has the tokens of Ann and Ben."""
    node = shutil.which("node")
    assert node is not None, "Node.js is missing; `make setup` says which one is needed"
    arguments = [str(ENTRY), dev.url, token(dev, "ann"), token(dev, "ben")]
    done = subprocess.run(
        [node, str(STORIES / story), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.req("SDK-13", "SUB-05", "IMP-01", "IMP-02")
def test_a_page_watches_lays_over_and_reaches_only_its_own(dev: DevProcess) -> None:
    told = told_by("sdk-story.mjs", dev)

    assert told["placed"] == "placed"
    assert told["atTheAnswer"] == [["from-node-1", "placed"]], "the answer came before its effect"
    assert told["wasExpected"]
    assert told["mostAtOnce"] == 1
    assert told["bens"] == []
    assert told["anonymous"] == "UNAUTHENTICATED"
    assert told["foreign"] == {"code": "NOT_FOUND", "message": "there is no order 1"}
    assert told["missing"] == {"code": "NOT_FOUND", "message": "there is no order 99999"}
    assert (
        told["internal"]["message"].replace("changeOrder", "noSuchThing")
        == (told["absent"]["message"])
    )
    assert told["cancelled"] == ["cancelled"]


@pytest.mark.req("SDK-14", "SIG-02", "SIG-07", "RUN-08", "RUN-10")
def test_a_server_prompts_follows_decides_and_signals(dev: DevProcess) -> None:
    told = told_by("http-story.mjs", dev)

    assert {"support", "order-desk"} <= set(told["agents"])
    assert told["once"]
    pieces = told["answer"].pop("pieces")
    assert pieces > 1, "the answer came in one piece"
    assert told["answer"] == {
        "status": "completed",
        "title": "From Node",
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
