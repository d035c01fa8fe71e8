"""What ran, written down outside our stores: when each body started and ended, and where.

One file per thread, appended to with one ``write`` a line, so that a line is whole whenever its
writer dies:

    start RUN/STEP ATTEMPT PID UNIX_NANOSECONDS
    end   RUN/STEP ATTEMPT PID UNIX_NANOSECONDS
"""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

FOLDER = "BODY_LOG"
"""The variable that names the folder of the files."""

Event = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Line:
    """One body's start or end.

    Attributes:
        key: its idempotency key, ``RUN/STEP``.
        attempt: counted from 1 within a drive.
        at_ns: by the system's clock.
    """

    event: Event
    key: str
    attempt: int
    pid: int
    at_ns: int


def note(event: Event, thread_key: str, key: str, attempt: int) -> None:
    """Write down that a body starts or ends; nothing is written without a folder to write to."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    line = f"{event} {key} {attempt} {os.getpid()} {time.time_ns()}\n".encode()
    descriptor = os.open(Path(folder) / thread_key, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def lines(folder: Path, thread_keys: Iterable[str]) -> list[Line]:
    """Return what was written about these threads, in order of time."""
    found = []
    for key in thread_keys:
        file = folder / key
        if file.exists():
            found += [_line(each) for each in file.read_text().splitlines()]
    return sorted(found, key=lambda line: line.at_ns)


def _line(written: str) -> Line:
    event, rest = written.split(" ", 1)
    key, attempt, pid, at_ns = rest.rsplit(" ", 3)
    return Line(cast("Event", event), key, int(attempt), int(pid), int(at_ns))
