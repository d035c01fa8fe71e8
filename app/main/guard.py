"""A small process that outlives its parent by a moment, to stop what the parent started.

A parent that is killed with SIGKILL cannot stop its children.  The guard holds one end of a pipe
whose other end only the parent has: when the pipe closes, it stops what is still on its list, in
order, first gently, then for good.  It works alike on Linux and macOS.

This file is also the guard's program: it runs alone, with the standard library only.
Held by ``tests/e2e/test_dev_leaves_nothing_running.py``.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Guard:
    """The parent's end: tell it what to stop."""

    def __init__(self, *, keep_open: tuple[int, ...] = ()) -> None:
        """Start the guard.

        Args:
            keep_open: descriptors that the guard holds until it is done, such as a lock.
        """
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=keep_open,
        )

    def watch(self, pid: int, *, rank: int, how: signal.Signals, patience_s: float) -> None:
        """Put a process on the list.

        Args:
            pid: of a child of ours.
            rank: lower ranks are stopped, and gone, before higher ones are told.
            how: the gentle signal.
            patience_s: how long it may take before SIGKILL.
        """
        self._say(f"+ {pid} {rank} {int(how)} {patience_s}")

    def forget(self, pid: int) -> None:
        """Take a process off the list: it has ended, and its number may be given to another."""
        self._say(f"- {pid}")

    def close(self) -> None:
        """Let the guard go; it stops whatever is still on its list."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # killed by somebody: we go on without it
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that is dead but not collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def _stop(pids: dict[int, tuple[int, float]]) -> None:
    started = time.monotonic()
    for pid, (how, _) in pids.items():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
    left = dict(pids)
    while left:
        left = {pid: each for pid, each in left.items() if is_alive(pid)}
        for pid, (_, patience_s) in left.items():
            if time.monotonic() - started > patience_s:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def main() -> None:
    """Read the list until the parent is gone, then stop what is on it."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    ranks: dict[int, dict[int, tuple[int, float]]] = {}
    for line in sys.stdin:
        match line.split():
            case ["+", pid, rank, how, patience_s]:
                ranks.setdefault(int(rank), {})[int(pid)] = (int(how), float(patience_s))
            case ["-", pid]:
                for pids in ranks.values():
                    pids.pop(int(pid), None)
            case _:
                continue
    for rank in sorted(ranks):
        _stop(ranks[rank])


if __name__ == "__main__":
    main()
