"""A number that code gives as its reason can be looked up by whoever reads it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r"\b[BR]\d{1,2}\b")


def test_every_reason_that_code_names_stands_on_the_page() -> None:
    page = (ROOT / "docs" / "reasons.md").read_text()
    listed = set(re.findall(r"^\| ([BR]\d+) ", page, re.MULTILINE))

    files = [file for folder in ("app", "tests") for file in (ROOT / folder).rglob("*.py")]
    named = {number for file in files for number in _NUMBER.findall(file.read_text())}

    assert named <= listed, f"not on docs/reasons.md: {sorted(named - listed)}"
