"""What the tools of ``tests/e2e/agents`` did, as they wrote it down outside our stores."""

from collections import Counter
from pathlib import Path


class Counted:
    """The file that ``COUNTER_FILE`` names."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def events(self, event: str, run_id: str) -> "Counter[str]":
        """Return how often each step of a run did this (``start`` or ``end``)."""
        if not self.path.exists():
            return Counter()
        pairs = (line.split(" ", 1) for line in self.path.read_text().splitlines())
        return Counter(key for what, key in pairs if what == event and key.startswith(f"{run_id}/"))

    def started(self, run_id: str) -> int:
        """Return how many bodies of a run have started."""
        return self.events("start", run_id).total()

    def repeated(self, run_id: str) -> list[str]:
        """Return the steps whose body came to its end more than once."""
        return [key for key, times in self.events("end", run_id).items() if times > 1]
