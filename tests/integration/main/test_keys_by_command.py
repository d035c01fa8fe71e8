"""``ropewalk keys`` and ``ropewalk revoke``, as an operator types them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.req("IMP-05")


def _ropewalk(database_url: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "app.main.cli", *words, "--data-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_a_key_is_printed_alone_and_listed_without_its_secret(
    database_url: str, tmp_path: Path
) -> None:
    made = _ropewalk(
        database_url,
        *("keys", "create", "--name", "nightly", "--user", "robot", "--role", "ops"),
        *("--scope", "chat:start_run", "--scope", "shop:*", "--expires-in", "90d"),
        folder=tmp_path,
    )
    listed = _ropewalk(database_url, "keys", "list", folder=tmp_path)

    key = made.stdout.strip()
    assert re.fullmatch(r"rw_[a-z0-9]{12}_[\w-]{43}", key)
    assert "not shown again" in made.stderr
    assert key not in made.stderr
    (line,) = listed.stdout.splitlines()
    assert line.startswith(key.split("_")[1])
    assert "ops; chat:startRun shop:*; never used" in line
    assert key.split("_", 2)[2] not in listed.stdout


def test_a_key_is_revoked_by_its_id(database_url: str, tmp_path: Path) -> None:
    made = _ropewalk(
        database_url, "keys", "create", "--name", "n", "--user", "robot", folder=tmp_path
    )
    key_id = made.stdout.split("_")[1]

    revoked = _ropewalk(database_url, "keys", "revoke", key_id, folder=tmp_path)
    again = _ropewalk(database_url, "keys", "revoke", "nobody", folder=tmp_path)

    assert revoked.returncode == 0
    assert "revoked" in _ropewalk(database_url, "keys", "list", folder=tmp_path).stdout
    assert again.returncode == 1
    assert again.stderr == "ropewalk: there is no key nobody; `ropewalk keys list` shows them\n"


def test_a_users_tokens_are_taken_back_and_given_back(database_url: str, tmp_path: Path) -> None:
    taken = _ropewalk(database_url, "revoke", "--user", "ann", folder=tmp_path)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT user_id FROM agent_revocations").fetchall()
    given = _ropewalk(database_url, "revoke", "--user", "ann", "--undo", folder=tmp_path)
    again = _ropewalk(database_url, "revoke", "--user", "ann", "--undo", folder=tmp_path)

    assert rows == [("ann",)]
    assert (taken.returncode, given.returncode, again.returncode) == (0, 0, 1)
    assert taken.stdout.startswith("Nothing issued to ann before 20")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--scope", "functions:chat:startRun"), "is no scope"),
        (("--scope", "*"), "is no scope"),
        (("--expires-in", "soon"), "is no time"),
        (("--expires-in", "0d"), "is no time"),
        (("--user", "a\nb"), "printable"),
        (("--user", ""), "characters"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    database_url: str, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    done = _ropewalk(
        database_url, "keys", "create", "--name", "n", "--user", "robot", *words, folder=tmp_path
    )

    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_without_a_database_it_says_so(tmp_path: Path) -> None:
    done = _ropewalk("", "keys", "list", folder=tmp_path)

    assert done.returncode == 1
    assert "DATABASE_URL is not set, and no `ropewalk dev` runs here" in done.stderr
