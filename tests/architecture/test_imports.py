"""The layers of STYLE: every contract of pyproject.toml is kept."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_import_contract_is_kept() -> None:
    lint = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([lint], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


def test_every_package_has_a_place_in_the_layers() -> None:
    packages = {each.parent.name for each in (ROOT / "app").glob("*/__init__.py")}

    layers = (ROOT / "pyproject.toml").read_text().partition("layers = [")[2].partition("]")[0]

    assert {name for name in packages if f"({name})" not in layers} == set()
