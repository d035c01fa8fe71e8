"""Every setting is explained where an operator looks, and nothing else is explained there."""

import re
from pathlib import Path

from pydantic.fields import FieldInfo

from app.settings import Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deployment.md"


def _variable(name: str, field: FieldInfo) -> str:
    return str(field.validation_alias or name.upper())


VARIABLES = {_variable(name, field): field for name, field in Settings.model_fields.items()}


def _explained() -> set[str]:
    table = PAGE.read_text().partition("## Settings")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([A-Z0-9_]+)` \|", table, re.MULTILINE))


def test_every_setting_describes_itself() -> None:
    assert [name for name, field in VARIABLES.items() if not field.description] == []


def test_the_page_explains_exactly_the_settings_there_are() -> None:
    assert _explained() == set(VARIABLES)
