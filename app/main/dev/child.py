"""One of our own processes under ``dev``: started, watched, started again.

The first time at once; one that keeps dying young is started ever more slowly, up to once in five
seconds.  How long to wait is pure (``pause_before_s``).
"""

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.main.guard import Guard
from app.main.refusal import WRONG_DECLARATION

_YOUNG_S = 5.0
_LONGEST_PAUSE_S = 5.0


def pause_before_s(young_deaths: int) -> float:
    """Return how long to wait before a start, after so many deaths in a row at a young age."""
    if young_deaths < 2:
        return 0.0
    return float(min(0.1 * (1 << min(young_deaths, 10)), _LONGEST_PAUSE_S))


@dataclass
class Child:
    """A ``ropewalk`` command kept running."""

    command: str
    env: Mapping[str, str]
    guard: Guard
    patience_s: float
    pass_fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _young_deaths: int = 0
    _due: float = 0.0

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self.process.pid if self.process is not None else None

    def start(self) -> None:
        """Start it now."""
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "app.main.cli", self.command],
            stdin=subprocess.DEVNULL,
            env=dict(self.env),
            start_new_session=True,
            pass_fds=self.pass_fds,
        )
        self._started = time.monotonic()
        self.guard.watch(self.process.pid, rank=0, how=signal.SIGTERM, patience_s=self.patience_s)

    def tend(self) -> str | None:
        """Notice its death, or start it again after its pause; return what there is to say."""
        if self.process is None:
            if time.monotonic() >= self._due:
                self.start()
            return None
        code = self.process.poll()
        if code is None:
            return None
        self.forget()
        if code == WRONG_DECLARATION:
            self._due = math.inf
            return f"the {self.command} waits for a change of the agents"
        is_young = time.monotonic() - self._started < _YOUNG_S
        self._young_deaths = self._young_deaths + 1 if is_young else 0
        pause_s = pause_before_s(self._young_deaths)
        self._due = time.monotonic() + pause_s
        how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended (code {code})"
        return f"the {self.command} {how}; starting it again" + (
            f" in {pause_s:g} s" * (pause_s > 0)
        )

    @property
    def is_waiting_for_a_change(self) -> bool:
        """Whether it ended because a declaration is wrong: it stays away until told to start."""
        return self._due == math.inf

    def start_afresh(self) -> None:
        """Start it without a pause: what made it die may have been mended."""
        self._young_deaths = 0
        self._due = 0.0
        self.start()

    def forget(self) -> None:
        """Let go of a process that has ended."""
        if self.process is not None:
            self.guard.forget(self.process.pid)
            self.process = None


def stop_all(children: Sequence[Child], in_a_hurry: Callable[[], bool]) -> None:
    """Tell all to stop, wait, and kill those that take longer than they may.

    Args:
        children: running or not.
        in_a_hurry: whether nobody wants to wait any longer.
    """
    started = time.monotonic()
    left = [(child, child.process) for child in children if child.process is not None]
    for _, process in left:
        process.terminate()
    while left:
        for child, process in list(left):
            if process.poll() is not None:
                child.forget()
                left.remove((child, process))
            elif in_a_hurry() or time.monotonic() - started > child.patience_s:
                process.kill()
        time.sleep(0.01)
