"""A missing prerequisite is one sentence that says what to install; nothing is done twice."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ["sh", "cat", "cksum", "mkdir", "cp", "dirname", "find", "sort", "tr", "xargs"]
TOOLS += ["mktemp", "rm", "env", "touch"]

PYTHON = """#!/bin/sh
case "$*" in
  --version) echo "Python 3.12.1" ;;
  "-m venv --clear .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  "-m pip"*) echo pip >> calls ;;
esac
"""
OLD_PYTHON = """#!/bin/sh
case "$*" in --version) echo "Python 3.9.2" ;; *) exit 1 ;; esac
"""
PYTHON_WITHOUT_VENV = """#!/bin/sh
case "$*" in *ensurepip*) exit 1 ;; esac
"""
NODE = """#!/bin/sh
case "$1" in --version) echo v20.19.0 ;; esac
"""
OLD_NODE = """#!/bin/sh
case "$1" in --version) echo v18.20.4 ;; *) exit 1 ;; esac
"""
NPM = """#!/bin/sh
echo "npm $*" >> ../calls
mkdir -p node_modules ../app/http/static/chat ../app/http/static/admin
touch ../app/http/static/chat/index.html ../app/http/static/admin/index.html
"""


@dataclass
class Machine:
    """A clone on a machine that has these programs and no others."""

    folder: Path

    def install(self, name: str, program: str) -> None:
        file = self.folder / "bin" / name
        file.write_text(program)
        file.chmod(0o755)

    def setup(self, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", "scripts/setup"],
            cwd=self.folder / "clone",
            env={"PATH": str(self.folder / "bin"), **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        return (self.folder / "clone" / "calls").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    (clone / "frontend-sdk" / "src").mkdir(parents=True)
    (clone / "frontend-sdk" / "apps").mkdir()
    for name in ("requirements-dev.lock", "pyproject.toml"):
        (clone / name).write_text("one\n")
    for name in ("package.json", "package-lock.json"):
        (clone / "frontend-sdk" / name).write_text("{}\n")
    made = Machine(tmp_path)
    made.install("python3", PYTHON)
    made.install("node", NODE)
    made.install("npm", NPM)
    return made


def _sentence(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode != 0
    said = done.stderr.strip()
    assert said.startswith("ropewalk: "), said
    assert "\n" not in said
    return said


def test_python_is_too_old(machine: Machine) -> None:
    machine.install("python3", OLD_PYTHON)

    assert "3.11, 3.12 or 3.13 is needed (found: Python 3.9.2)" in _sentence(machine.setup())


def test_python_is_missing(machine: Machine) -> None:
    (machine.folder / "bin" / "python3").unlink()

    assert "(found: none)" in _sentence(machine.setup())


def test_the_named_python_is_too_old(machine: Machine) -> None:
    machine.install("python9", OLD_PYTHON)

    assert "PYTHON=python9" in _sentence(machine.setup(PYTHON="python9"))


def test_the_venv_module_is_missing(machine: Machine) -> None:
    machine.install("python3", PYTHON_WITHOUT_VENV)

    assert "apt install python3-venv" in _sentence(machine.setup())


def test_node_is_missing(machine: Machine) -> None:
    (machine.folder / "bin" / "node").unlink()

    assert "Node.js is missing: install 20.19" in _sentence(machine.setup())


def test_node_is_too_old(machine: Machine) -> None:
    machine.install("node", OLD_NODE)

    assert "Node.js v18.20.4 is too old" in _sentence(machine.setup())


def test_npm_is_missing(machine: Machine) -> None:
    (machine.folder / "bin" / "npm").unlink()

    assert "apt install npm" in _sentence(machine.setup())


def test_what_is_done_is_not_done_again(machine: Machine) -> None:
    assert machine.setup().returncode == 0
    first = machine.calls()

    assert machine.setup().returncode == 0

    assert machine.calls() == first
    assert [call for call in first if call != "pip"] == [
        "npm ci --no-audit --no-fund --loglevel=error",
        "npm run --silent build",
        "npm run --silent build:apps",
    ]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("requirements-dev.lock", ["pip", "pip"]),
        ("frontend-sdk/src/index.ts", ["npm run --silent build", "npm run --silent build:apps"]),
    ],
)
def test_a_change_does_again_what_depends_on_it(
    machine: Machine, file: str, expected: list[str]
) -> None:
    machine.setup()
    before = len(machine.calls())

    (machine.folder / "clone" / file).write_text("two\n")
    machine.setup()

    assert machine.calls()[before:] == expected


def test_a_clone_that_was_moved_gets_an_environment_that_knows_its_place(machine: Machine) -> None:
    machine.setup()
    before = len(machine.calls())

    moved = machine.folder / "moved"
    moved.mkdir()
    (machine.folder / "clone").rename(moved / "clone")
    (machine.folder / "bin").rename(moved / "bin")
    machine = Machine(moved)
    machine.setup()

    assert machine.calls()[before : before + 2] == ["pip", "pip"]
