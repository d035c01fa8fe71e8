"""The HTTP client's types are those of the routes' models, and a stale file is noticed."""

from pathlib import Path

import pytest

from app.http import export


@pytest.mark.req("SDK-14")
def test_the_exported_types_are_fresh() -> None:
    assert export.main(["--check"]) == 0


def test_a_stale_file_fails_the_check_until_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "http.gen.ts"
    target.write_text("export type Old = 1;\n", encoding="utf-8")
    monkeypatch.setattr(export, "TARGET", target)

    assert export.main(["--check"]) == 1
    assert "python -m app.http.export" in capsys.readouterr().err
    assert export.main([]) == 0
    assert export.main(["--check"]) == 0
