"""``ropewalk agents sessions``: what was said, how it stands, going on, stopping."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.counted import Counted
from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.plays import play, work
from tests.support.sessions import Session

AGENTS = Path(__file__).parent / "agents"
KEY = "a/b c?ö"
"""A team makes of its keys what it likes."""


@pytest.fixture(scope="module")
def dev(counted: Counted) -> Iterator[DevProcess]:
    with dev_process(agents=AGENTS, env={"COUNTER_FILE": str(counted.path)}) as made:
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


def _out(dev: DevProcess, *argv: str) -> str:
    done = _agents(dev, *argv)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.req("IMP-27", "CLI-05")
def test_sessions_are_listed_shown_continued_and_signalled(dev: DevProcess) -> None:
    first = play([work()])
    _out(dev, "prompt", "playing", "--message", first, "--session", KEY, "--wait")

    reply = _out(dev, "sessions", "continue", "playing", KEY, "--message", "hello", "--wait")
    told = json.loads(
        _out(dev, "sessions", "signal", "playing", KEY, "--message", "psst", "--mode", "inject")
    )
    shown = _out(dev, "sessions", "show", "playing", KEY).splitlines()
    view = json.loads(_out(dev, "sessions", "show", "playing", KEY, "--json"))
    listed = _out(dev, "sessions", "list", "playing")

    assert reply.strip() == "done"
    assert told["woke"] is True
    assert shown[0].startswith(KEY)
    assert shown[1:6] == [
        f"user: {first}",
        'assistant: calls work {"seconds": 0.0, "says": "worked"}',
        'tool: work: "worked"',
        "assistant: done",
        "user: hello",
    ]
    assert view["sessionId"] == KEY
    assert listed.startswith(KEY)


@pytest.mark.req("IMP-27")
def test_a_session_is_cancelled_once(dev: DevProcess) -> None:
    started = json.loads(_out(dev, "prompt", "playing", "--message", play([work(60)])))
    session = started["sessionId"]

    other = _out(dev, "sessions", "cancel", "playing", session, "--run", "another")
    first = _out(dev, "sessions", "cancel", "playing", session, "--run", started["runId"])
    again = _out(dev, "sessions", "cancel", "playing", session)

    said = [each.strip() for each in (other, first, again)]
    assert said == ["nothing to cancel", "cancelled", "nothing to cancel"]
    assert "cancelled" in _out(dev, "sessions", "show", "playing", session).splitlines()[0]


@pytest.mark.req("IMP-27")
def test_a_session_that_there_is_not_is_one_sentence_and_is_not_begun(dev: DevProcess) -> None:
    for command in (("show",), ("cancel",), ("continue", "--message", "hello")):
        done = _agents(dev, "sessions", command[0], "playing", "nowhere", *command[1:])

        assert done.returncode == 1
        assert done.stderr == "ropewalk: NOT_FOUND: no such session\n"
    assert "nowhere" not in _out(dev, "sessions", "list", "playing", "--json")


@pytest.mark.req("CLI-02", "CLI-03", "OUT-02", "LOOP-12")
def test_a_prompt_with_a_schema_that_waits_prints_the_output_alone(
    dev: DevProcess, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"late": {"type": "boolean"}}, "required": ["late"]}
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    message = play([("submit_structured_output", {"late": False})])
    prompt = ("prompt", "playing", "--message", message, "--wait")

    given = _out(dev, *prompt, "--output-schema", json.dumps(schema))
    from_file = _out(dev, *prompt, "--output-schema-file", str(file))
    array = _agents(dev, *prompt, "--output-schema", '{"type": "array"}')
    broken = _agents(dev, *prompt, "--output-schema", "{")

    declared = _out(dev, "prompt", "judging", "--message", message, "--wait")

    assert [json.loads(each) for each in (given, from_file, declared)] == [{"late": False}] * 3
    assert (array.returncode, broken.returncode) == (1, 1)
    assert 'expected a JSON Schema with "type": "object"' in array.stderr
    assert broken.stderr.startswith("ropewalk: the output schema is no JSON: ")


@pytest.mark.req("IMP-27")
def test_what_a_session_waits_for_is_shown(dev: DevProcess) -> None:
    session = Session(dev, "playing")
    session.send(play([("sign", {})]))
    waiting = session.until(lambda view: view["pendingApprovals"], description="it asks")

    shown = _out(dev, "sessions", "show", "playing", session.key).splitlines()

    asked = waiting["pendingApprovals"][0]["id"]
    assert shown[-1] == f"waits for a person: sign {{}} (approval {asked})"
