"""Tests name requirements that exist, so that coverage of them means something."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_requirement_that_a_test_names_exists() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "coverage-of-requirements"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
