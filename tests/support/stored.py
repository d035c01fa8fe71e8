"""What the database of a running ``dev`` says, read past the product."""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.support.dev_process import DevProcess
from tests.support.wait_until import wait_until_sync

_BEATING = """
SELECT count(*) AS found FROM agent_workers
 WHERE beat > %s AND gone_at IS NULL AND split_part(id, '-', 3) = ANY (%s)
"""


class Stored:
    """The database of one ``dev``."""

    def __init__(self, dev: DevProcess) -> None:
        self._dev = dev

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """Return what a statement answers, over a connection of its own: servers are killed."""
        url = self._dev.ready()["databaseUrl"]
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def run(self, run_id: str) -> Mapping[str, Any]:
        """Return the row of a run."""
        (row,) = self.rows("SELECT * FROM agent_runs WHERE id = %s", run_id)
        return row

    def worker_of(self, run_id: str) -> int | None:
        """Return the process that drives a run, if one does."""
        worker = self.run(run_id)["worker"]
        return None if worker is None else int(str(worker).rpartition("-")[2])

    def driver_of(self, run_id: str) -> int:
        """Return the process that drives a run."""
        worker = self.worker_of(run_id)
        assert worker is not None, "no worker has the run"
        return worker

    def wait_for_workers(self, count: int = 2, *, beats: int = 2) -> None:
        """Wait until so many workers have been up long enough to notice a death.

        Args:
            count: how many there are.
            beats: how many of its own each has sent; with none it claims runs already.
        """

        def beat() -> bool:
            pids = [str(pid) for pid in self._dev.pids("worker")]
            found: int = self.rows(_BEATING, beats, pids)[0]["found"]
            return len(pids) == count == found

        wait_until_sync(beat, description=f"{count} workers are up", timeout_s=30)
