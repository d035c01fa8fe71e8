"""The SDK's types are those of the models, and a stale file is noticed."""

from pathlib import Path

import pytest

from app.protocol import export


def test_the_exported_types_are_fresh() -> None:
    assert export.main(["--check"]) == 0


@pytest.mark.parametrize("which", ["TARGET", "ADMIN_TARGET"])
def test_a_stale_file_fails_the_check_and_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    which: str,
) -> None:
    target = tmp_path / "types.gen.ts"
    target.write_text("export type Old = 1;\n", encoding="utf-8")
    monkeypatch.setattr(export, which, target)

    assert export.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "export type Old = 1;\n"


def test_writing_makes_it_fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(export, "TARGET", tmp_path / "core" / "protocol.gen.ts")
    monkeypatch.setattr(export, "ADMIN_TARGET", tmp_path / "admin" / "admin.gen.ts")

    assert export.main([]) == 0
    assert export.main(["--check"]) == 0
