"""What a durable step costs: alone, among 64 runs, and at turn 500.

One worker process, a scripted model that answers at once, a tool that does nothing; each
turn is two steps.  Times are read from ``agent_steps``, so they hold everything between one
step's record and the next.  Run with ``python -m benchmarks.steps``.

Goals (one small machine): under 3 ms p50 alone, over 400 steps/s at 64, turn 500 as turn 5.
"""

import statistics
import time
import uuid
from itertools import pairwise
from typing import Any

import httpx2
import psycopg

from benchmarks.deployment import commit_ms, deployment, spread
from tests.support.wait_until import wait_until_sync

ALONE_TURNS = 200
TOGETHER, TOGETHER_TURNS = 64, 20
LONG_TURNS = 520

Connection = psycopg.Connection[Any]


def start(url: str, turns: int) -> str:
    answer = httpx2.post(
        f"{url}/agents/ticker", json={"message": str(turns), "sessionId": uuid.uuid4().hex}
    )
    assert answer.status_code == 202, answer.text
    return str(answer.json()["runId"])


def wait_for(connection: Connection, runs: list[str]) -> None:
    def all_ended() -> bool:
        row = connection.execute(
            "SELECT count(*) FILTER (WHERE status = 'completed'),"
            " count(*) FILTER (WHERE status = 'failed') FROM agent_runs WHERE id = ANY (%s)",
            [runs],
        ).fetchone()
        assert row is not None
        assert row[1] == 0, "a run failed"
        return bool(row[0] == len(runs))

    wait_until_sync(all_ended, description="all runs end", timeout_s=180, interval_s=0.1)


def gaps_ms(connection: Connection, run: str) -> list[float]:
    """Return the times between one step's record and the next, in order."""
    rows = connection.execute(
        "SELECT extract(epoch FROM created_at)::float8 FROM agent_steps WHERE run = %s"
        " ORDER BY created_at",
        [run],
    ).fetchall()
    return [(later[0] - earlier[0]) * 1000 for earlier, later in pairwise(rows)]


def per_second(connection: Connection, runs: list[str]) -> float:
    row = connection.execute(
        "SELECT count(*), extract(epoch FROM max(created_at) - min(created_at))::float8"
        " FROM agent_steps WHERE run = ANY (%s)",
        [runs],
    ).fetchone()
    assert row is not None
    return float(row[0]) / float(row[1])


def main() -> None:
    with (
        deployment() as dev,
        psycopg.connect(dev.ready()["databaseUrl"], autocommit=True) as connection,
    ):
        warm = start(dev.url, 20)
        wait_for(connection, [warm])
        print(f"a commit here              {spread(commit_ms(dev.ready()['databaseUrl']))}")

        alone = start(dev.url, ALONE_TURNS)
        wait_for(connection, [alone])
        print(f"a step, one run            {spread(gaps_ms(connection, alone))}")

        begun = time.perf_counter()
        together = [start(dev.url, TOGETHER_TURNS) for _ in range(TOGETHER)]
        wait_for(connection, together)
        took = time.perf_counter() - begun
        rate = per_second(connection, together)
        print(f"{TOGETHER} runs at once            {rate:7.0f} steps/s   ({took:.1f} s in all)")

        long = start(dev.url, LONG_TURNS)
        wait_for(connection, [long])
        figures = gaps_ms(connection, long)
        early, late = statistics.median(figures[4:44]), statistics.median(figures[-40:])
        print(f"turns 3 to 22, 500 to 519  {early:7.2f}, {late:7.2f} ms p50   x{late / early:.2f}")


if __name__ == "__main__":
    main()
