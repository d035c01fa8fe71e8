"""What ``dev`` cannot do, it says in a sentence, with exit code 1 and nothing started."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.support.dev_process import DevProcess, dev_process


@pytest.fixture
def dev() -> Iterator[DevProcess]:
    with dev_process() as made:
        yield made


def _refusal(dev: DevProcess) -> str:
    assert dev.launch().wait(60) == 1
    said = dev.log().strip()
    assert said.startswith("ropewalk: "), said
    assert "\n" not in said
    return said


def test_a_taken_port(dev: DevProcess) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        dev.port = taken.getsockname()[1]

        assert f"port {dev.port} is taken" in _refusal(dev)


def test_a_port_that_there_is_not(dev: DevProcess) -> None:
    dev.port = 99_999

    assert dev.launch().wait(60) == 2
    assert "'--port'" in dev.log()
    assert "Traceback" not in dev.log()


def test_a_port_of_a_dev_whose_gateway_is_away(dev: DevProcess) -> None:
    dev.start()
    other = replace(
        dev, folder=dev.folder / "other", process=None, port=urlsplit(dev.url).port or 0
    )
    other.folder.mkdir()
    dev.kill("gateway")

    assert f"port {other.port} is taken" in _refusal(other)


def test_a_folder_that_cannot_be_written(dev: DevProcess) -> None:
    dev.data_dir.write_text("a file where the folder should be")

    assert f"cannot write to {dev.data_dir}" in _refusal(dev)


def test_a_folder_in_use_by_another_dev(dev: DevProcess) -> None:
    dev.start()
    other = replace(dev, folder=dev.folder / "other", process=None)
    other.folder.mkdir()
    other.options = ("--data-dir", str(dev.data_dir))

    assert f"process {dev.pids('dev')[0]}" in _refusal(other)
    assert dev.is_serving()


def test_a_setting_that_makes_no_sense(dev: DevProcess) -> None:
    dev.env = {"WORKER_SLOTS": "many"}

    assert "WORKER_SLOTS" in _refusal(dev)


def test_a_folder_of_agents_that_is_not_there(dev: DevProcess) -> None:
    dev.agents = dev.folder / "nowhere"

    assert f"{dev.agents} is no folder" in _refusal(dev)


def test_an_agent_that_cannot_be_loaded(dev: DevProcess) -> None:
    (dev.agents / "broken.py").write_text("def (\n")

    assert dev.launch().wait(60) == 1
    assert "broken.py:1" in dev.log()
    assert "has to be mended first" in dev.log()
    assert "Traceback" not in dev.log()
