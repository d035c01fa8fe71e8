"""From a class in the folder to a table in the database, beside a running ``dev``."""

import subprocess
import sys

import psycopg
import pytest

from tests.support.dev_process import ROOT, START_PATIENCE_S, DevProcess, dev_process
from tests.support.wait_until import wait_until_sync

pytestmark = pytest.mark.req("AGT-16", "IMP-25")

THREADS = """
from sqlmodel import Field, SQLModel

class Thread(SQLModel, table=True):
    __tablename__ = "threads"
    id: int | None = Field(default=None, primary_key=True)
"""


def _ropewalk(dev: DevProcess, *argv: str) -> str:
    """Run a command that has to find the database of ``dev`` by itself."""
    where = ("--agents", str(dev.agents), "--data-dir", str(dev.data_dir))
    done = subprocess.run(
        [sys.executable, "-m", "app.main.cli", *argv, *where],
        cwd=ROOT,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _has_threads(dev: DevProcess) -> bool:
    with psycopg.connect(dev.ready()["databaseUrl"]) as database:
        return database.execute("SELECT to_regclass('threads')").fetchone() != (None,)


def _wait_for(dev: DevProcess, words: str) -> None:
    wait_until_sync(
        lambda: words in dev.log(),
        description=f"dev says: {words}; it said: {dev.log()}",
        timeout_s=START_PATIENCE_S,
    )


def test_dev_says_what_to_run_and_writes_and_applies_nothing_by_itself() -> None:
    with dev_process() as dev:
        dev.start()
        (dev.agents / "chat.py").write_text(THREADS)
        _wait_for(dev, 'of threads: run `ropewalk migration "what changes"`')

        _ropewalk(dev, "migration", "add threads")
        _wait_for(dev, "does not have all of your migrations: run `ropewalk migrate`")
        assert not _has_threads(dev)
        _ropewalk(dev, "migrate")
        assert _has_threads(dev)


def test_a_new_database_gets_both_histories_from_dev() -> None:
    with dev_process() as dev:
        folder = dev.agents / "migrations" / "versions"
        folder.mkdir(parents=True)
        (dev.agents / "chat.py").write_text(THREADS)
        (folder / "20270101_0000_add_threads.py").write_text(
            'from alembic import op\nimport sqlalchemy as sa\n\nrevision = "1"\n'
            "down_revision = None\n\ndef upgrade() -> None:\n"
            '    op.create_table("threads", sa.Column("id", sa.Integer(), primary_key=True))\n'
        )

        dev.start()

        assert _has_threads(dev)
        assert "migration" not in dev.log()
        assert dev.is_serving()


def test_a_migration_that_fails_is_one_sentence_and_nothing_is_left_running() -> None:
    with dev_process() as dev:
        folder = dev.agents / "migrations" / "versions"
        folder.mkdir(parents=True)
        broken = folder / "20270101_0000_break.py"
        broken.write_text("1 / 0\n")

        code = dev.launch().wait(START_PATIENCE_S)

        assert code == 1
        assert f"ropewalk: {broken}:1: ZeroDivisionError: division by zero\n" in dev.log()
        assert "Traceback" not in dev.log()
