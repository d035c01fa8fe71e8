"""How many runs are unfinished, by status, and how many workers there are: for the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.store.executors import Executor

_RUNS = """
SELECT status, count(*) AS runs FROM agent_runs
 WHERE status IN ('queued', 'running', 'awaiting_input', 'waiting') GROUP BY status
UNION ALL
SELECT 'pending', count(*) FROM agent_runs WHERE status = 'pending'
"""
_WORKERS = "SELECT count(*) AS workers FROM agent_workers WHERE gone_at IS NULL"

UNFINISHED = ("pending", "queued", "running", "awaiting_input", "waiting")


@dataclass(frozen=True, slots=True)
class Census:
    """One count.  ``runs`` has every unfinished status."""

    runs: Mapping[str, int]
    workers: int


async def count_everybody(executor: Executor) -> Census:
    """Return how many there are now; reads indexes that hold unfinished runs alone."""
    found = {row["status"]: int(row["runs"]) for row in await executor.fetch(_RUNS)}
    workers = int((await executor.fetch(_WORKERS))[0]["workers"])
    return Census({status: found.get(status, 0) for status in UNFINISHED}, workers)
