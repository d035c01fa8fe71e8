"""A browser whose every process can be stopped: a laptop that is closed, and opened again.

Its timers stand still, and nobody reads or closes its sockets, while the clock goes on.
"""

import os
import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserType

from app.main.guard import Guard


@contextmanager
def laptop(chromium: BrowserType, path: str, flags: Sequence[str]) -> Iterator["Laptop"]:
    """Start a browser; close it afterwards, awake."""
    name = f"--ropewalk-laptop={uuid.uuid4().hex}"
    browser = chromium.launch(executable_path=path, args=[*flags, name])
    guard = Guard()
    opened = Laptop(browser, name, guard)
    try:
        yield opened
    finally:
        opened.wake()
        browser.close()
        guard.close()


class Laptop:
    """Asleep from ``sleep`` to ``wake``; in between nothing may be asked of its browser."""

    def __init__(self, browser: Browser, name: str, guard: Guard) -> None:
        self.browser = browser
        self._name = name
        self._guard = guard
        self._stopped: list[int] = []

    def sleep(self) -> None:
        """Stop it where it stands: the browser first, so that it starts nothing meanwhile."""
        self._stopped = _with_descendants(_named(self._name))
        for pid in self._stopped:
            # Should pytest be killed now, it would sleep for ever.
            self._guard.watch(pid, rank=0, how=signal.SIGKILL, patience_s=0)
            os.kill(pid, signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        for pid in self._stopped:
            os.kill(pid, signal.SIGCONT)
            self._guard.forget(pid)
        self._stopped = []


def _named(name: str) -> int:
    """Return the process that was started with this argument."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = file.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if name.encode() in arguments:
            return int(file.parent.name)
    raise AssertionError(f"no process with {name}")


def _with_descendants(pid: int) -> list[int]:
    """Return a process and all that it, or what it started, has started."""
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        children.setdefault(parent, []).append(int(file.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found
