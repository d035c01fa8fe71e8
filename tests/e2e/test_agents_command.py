"""``ropewalk agents`` speaks to a running server as a person at a terminal would."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dev_process import ROOT, DevProcess, dev_process

AGENTS = Path(__file__).parent / "agents"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    counter = tmp_path_factory.mktemp("counter") / "count"
    with dev_process(agents=AGENTS, env={"COUNTER_FILE": str(counter)}) as made:
        yield made.start()


def _agents(dev: DevProcess, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "app.main.cli", "agents", *argv, "--data-dir", str(dev.data_dir)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


@pytest.mark.req("CLI-02")
def test_list_shows_what_is_served(dev: DevProcess) -> None:
    done = _agents(dev, "list")

    assert done.returncode == 0, done.stderr
    slugs = [line.split()[0] for line in done.stdout.splitlines()]
    assert {"counting", "signing", "telling"} < set(slugs)
    assert slugs == sorted(slugs)


@pytest.mark.req("CLI-02")
def test_prompt_answers_with_the_session_and_the_run(dev: DevProcess) -> None:
    done = _agents(dev, "prompt", "counting", "--message", "count 1 0")

    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {"sessionId", "runId"}


@pytest.mark.req("CLI-02")
def test_prompt_waits_for_the_reply_and_continues_a_session(dev: DevProcess) -> None:
    first = _agents(
        dev, "prompt", "counting", "--message", "count 2 0", "--session", "cli-two", "--wait"
    )
    second = _agents(
        dev, "prompt", "counting", "--message", "count 1 0", "--session", "cli-two", "--wait"
    )

    assert (first.stdout.strip(), second.stdout.strip()) == ("counted 2", "counted 1"), first.stderr


@pytest.mark.req("CLI-02")
def test_prompt_with_another_model_runs_on_that_one(dev: DevProcess) -> None:
    done = _agents(dev, "prompt", "counting", "--message", "hello", "--model", "demo:", "--wait")

    assert done.returncode == 0, done.stderr
    assert "counted" not in done.stdout


def test_an_unknown_agent_is_one_sentence(dev: DevProcess) -> None:
    done = _agents(dev, "prompt", "nobody", "--message", "hello")

    assert done.returncode == 1
    assert done.stderr.startswith("ropewalk: NOT_FOUND: ")


def test_a_server_that_is_not_there_is_one_sentence(dev: DevProcess) -> None:
    done = _agents(dev, "list", "--url", "http://127.0.0.1:9")

    assert done.returncode == 1
    assert "no server answers at http://127.0.0.1:9" in done.stderr
