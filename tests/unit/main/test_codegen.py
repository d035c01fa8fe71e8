"""``ropewalk codegen`` writes the file when it is not right, and says when it is stale."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.main.cli import cli
from app.main.refusal import Refusal

pytestmark = pytest.mark.req("CLI-09")

ORDERS = """
from app import QueryContext, query

@query
async def count(ctx: QueryContext) -> int:
    return 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "orders.py").write_text(ORDERS)
    return agents


def codegen(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(
        cli, ["codegen", "--agents", str(folder), *arguments], catch_exceptions=False
    )
    return result.output


def test_it_is_written_once_and_again_when_a_function_changes(folder: Path) -> None:
    file = folder.parent / "web" / "api.gen.ts"
    arguments = ("--out", str(file))

    first = codegen(folder, *arguments)
    again = codegen(folder, *arguments)
    (folder / "orders.py").write_text(ORDERS.replace("count", "total"))
    with pytest.raises(Refusal, match="is stale"):
        codegen(folder, *arguments, "--check")
    changed = codegen(folder, *arguments)

    assert [line.rpartition(" ")[2].strip() for line in (first, again, changed)] == [
        "written.",
        "date.",
        "written.",
    ]
    assert '"orders:total"' in file.read_text()
    assert codegen(folder, *arguments, "--check") == ""


def test_without_a_file_it_says_how_to_name_one(folder: Path) -> None:
    with pytest.raises(Refusal, match="--out"):
        codegen(folder)


def test_a_place_that_cannot_be_written_is_one_sentence(folder: Path) -> None:
    with pytest.raises(Refusal, match="cannot be written"):
        codegen(folder, "--out", str(folder / "orders.py" / "api.gen.ts"))
