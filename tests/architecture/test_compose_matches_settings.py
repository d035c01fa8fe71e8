"""The image and the stack speak of commands, settings and files that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app.main.cli import cli
from app.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
OURS = {name: each for name, each in COMPOSE["services"].items() if each["image"] == "ropewalk"}

VARIABLES = {
    str(field.validation_alias or name.upper()) for name, field in Settings.model_fields.items()
}
PROVIDERS = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}


def _seconds(duration: str) -> float:
    return float(duration.removesuffix("s"))


def test_there_are_two_of_each_part_behind_a_proxy() -> None:
    replicas = {name: each.get("deploy", {}).get("replicas") for name, each in OURS.items()}

    assert replicas == {"migrate": None, "gateway": 2, "worker": 2}
    assert "gateway 8000" in (ROOT / "docker" / "Caddyfile").read_text()


@pytest.mark.parametrize("name", OURS)
def test_its_command_exists(name: str) -> None:
    group: Any = get_command(cli)

    assert OURS[name]["command"] == [name]
    assert name in group.commands


@pytest.mark.parametrize("name", OURS)
def test_its_environment_consists_of_settings(name: str) -> None:
    assert set(OURS[name]["environment"]) <= VARIABLES | PROVIDERS


@pytest.mark.parametrize("name", OURS)
def test_it_is_not_killed_while_it_drains(name: str) -> None:
    drain_s = float(OURS[name]["environment"]["DRAIN_S"])

    assert drain_s == Settings.model_fields["drain_s"].default
    assert _seconds(OURS[name]["stop_grace_period"]) >= drain_s + 5


def test_redis_never_evicts() -> None:
    assert COMPOSE["services"]["redis"]["command"][-2:] == ["--maxmemory-policy", "noeviction"]


def test_the_image_sets_only_settings_and_what_python_reads() -> None:
    line = next(line for line in DOCKERFILE.splitlines() if line.startswith("ENV "))
    names = set(re.findall(r"(\w+)=", line))

    assert names - VARIABLES == {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED"}
    assert "PORT=8000" in line
    assert "EXPOSE 8000" in DOCKERFILE


def test_the_image_copies_files_that_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)

    for path in " ".join(copied).split():
        assert (ROOT / path).exists(), path
        assert f"!{path}" in ignored or f"!{path.split('/')[0]}" in ignored, path


def test_the_image_installs_the_lock_and_nothing_else() -> None:
    assert "pip install --no-cache-dir --require-hashes -r requirements.lock" in DOCKERFILE
    assert DOCKERFILE.count("pip install") == 1


def test_the_image_runs_as_somebody_other_than_root() -> None:
    assert re.search(r"^USER ropewalk$", DOCKERFILE, re.MULTILINE)
