"""Commands that need no server: help, token, generate."""

import subprocess
import sys
import time
from pathlib import Path

import jwt
import pytest

from app.main.cli import main
from app.main.dev.folder import DataFolder

ROOT = Path(__file__).resolve().parents[3]


def _run(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    monkeypatch.setattr(sys, "argv", ["ropewalk", *argv])
    with pytest.raises(SystemExit) as ended:
        main()
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_help_loads_no_framework() -> None:
    script = (
        "import sys; from app.main.cli import main\n"
        "heavy = {'pydantic_ai', 'sqlalchemy', 'starlette', 'redis'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.req("ACC-01")
def test_a_token_is_signed_with_the_secret_that_dev_keeps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    secret = DataFolder(tmp_path).secret()

    code = _run(
        monkeypatch, "token", "--user", "ada", "--role", "admin", "--data-dir", str(tmp_path)
    )

    claims = jwt.decode(capsys.readouterr().out.strip(), secret, algorithms=["HS256"])
    assert code == 0
    assert (claims["sub"], claims["roles"]) == ("ada", ["admin"])
    assert claims["exp"] > time.time()


def test_the_secret_is_kept_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    first = DataFolder(tmp_path).secret()

    assert DataFolder(tmp_path).secret() == first
    assert (tmp_path / "jwt-secret").stat().st_mode & 0o077 == 0


def test_without_a_secret_there_is_no_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(monkeypatch, "token", "--user", "ada", "--data-dir", str(tmp_path)) == 1
    assert "JWT_SECRET" in capsys.readouterr().err


@pytest.mark.req("CLI-08")
def test_generated_agents_can_be_imported_side_by_side(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "agents"
    for name in ("support", "order-desk"):
        assert _run(monkeypatch, "generate", "agent", f"--name={name}", f"--agents={folder}") == 0

    script = (
        "from agents.support import support; from agents.order_desk import order_desk\n"
        "print(support.slug, order_desk.slug)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == ["support", "order-desk"], done.stderr


def test_generate_never_overwrites(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "support.py"
    file.write_text("# ours\n")

    assert _run(monkeypatch, "generate", "agent", "--name=support", f"--agents={tmp_path}") == 1
    assert file.read_text() == "# ours\n"
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "Support", "class", "a--b", "9lives", "../x", "a_"])
def test_what_cannot_be_a_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    assert _run(monkeypatch, "generate", "agent", f"--name={name}", f"--agents={tmp_path}") == 1
    assert list(tmp_path.iterdir()) == []
