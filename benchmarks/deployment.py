"""What every benchmark needs: a real ``ropewalk dev`` on a fresh folder, and figures said alike."""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support.dev_process import DevProcess, dev_process

AGENTS = Path(__file__).parent / "agents"


@contextmanager
def deployment(*, agents: Path = AGENTS, workers: int = 1) -> Iterator[DevProcess]:
    """Yield a serving ``dev``: gateway and workers as processes of their own, stores with fsync."""
    with dev_process(agents=agents, workers=workers) as dev:
        yield dev.start()


def percentile(figures: Sequence[float], percent: float) -> float:
    """Return the figure that this share of all figures does not exceed."""
    ordered = sorted(figures)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def spread(figures: Sequence[float]) -> str:
    """Return median, 99th percentile and maximum, in milliseconds, of figures in milliseconds."""
    middle, high = statistics.median(figures), percentile(figures, 99)
    return f"p50 {middle:7.2f}   p99 {high:7.2f}   max {max(figures):7.2f} ms   n={len(figures)}"


def commit_ms(database_url: str, times: int = 200) -> list[float]:
    """Return how long one-row commits take here: the floor under everything durable."""
    figures = []
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS benchmark_commits (n int)")
        for number in range(times):
            begun = time.perf_counter()
            connection.execute("INSERT INTO benchmark_commits VALUES (%s)", [number])
            figures.append((time.perf_counter() - begun) * 1000)
        connection.execute("DROP TABLE benchmark_commits")
    return figures
