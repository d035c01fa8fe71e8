"""The SDK as it is packed, under Node, against a real deployment: live queries and their gates."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dev_process import ROOT, DevProcess, dev_process

STORY = Path(__file__).parent / "node" / "sdk-story.mjs"
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


@pytest.mark.req("SDK-13", "SUB-05", "IMP-01", "IMP-02")
def test_a_page_watches_lays_over_and_reaches_only_its_own(dev: DevProcess) -> None:
    node = shutil.which("node")
    assert node is not None, "Node.js is missing; `make setup` says which one is needed"
    arguments = [str(ENTRY), dev.url, token(dev, "ann"), token(dev, "ben")]
    done = subprocess.run(
        [node, str(STORY), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"]},
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
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
