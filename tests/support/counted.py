"""What the tools of ``tests/e2e/agents`` did, as they wrote it down outside our stores.

Each line of the file that ``COUNTER_FILE`` names is ``EVENT KEY``: the key of a tool's body is
its idempotency key, which begins with the run's id.
"""

import os
from collections import Counter
from pathlib import Path


def note(event: str, key: str) -> None:
    """Write down, in the process that does it, what happened."""
    line = f"{event} {key}\n".encode()
    descriptor = os.open(Path(os.environ["COUNTER_FILE"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


class Counted:
    """The file that ``COUNTER_FILE`` names."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keys(self, event: str) -> list[str]:
        """Return the keys of all lines of an event, in the order in which they were written."""
        if not self.path.exists():
            return []
        pairs = (line.split(" ", 1) for line in self.path.read_text().splitlines())
        return [key for what, key in pairs if what == event]

    def events(self, event: str, run_id: str) -> "Counter[str]":
        """Return how often each step of a run did this (``start``, ``end`` or ``cut``)."""
        return Counter(key for key in self.keys(event) if key.startswith(f"{run_id}/"))

    def started(self, run_id: str) -> int:
        """Return how many bodies of a run have started."""
        return self.events("start", run_id).total()

    def repeated(self, run_id: str) -> list[str]:
        """Return the steps whose body came to its end more than once."""
        return [key for key, times in self.events("end", run_id).items() if times > 1]
