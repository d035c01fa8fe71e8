"""Where a process dies, freezes, or is held."""

from dataclasses import dataclass

DEEDS = {"kill": "kill", "freeze": "freeze", "hold": "freeze"}
"""What a process does for each deed."""
WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a process dies.

    Attributes:
        who: ``worker``, or the act that a caller does.
        deed: ``kill``; ``freeze``: it goes on after another worker has taken over; ``hold``: it
            goes on when what the scenario has for that moment is done, or waits for it to go on.
    """

    point: str
    visit: int
    who: str = WORKER
    deed: str = "kill"

    @property
    def way_on(self) -> str:
        """The point behind the await that this one is before."""
        return self.point.removesuffix(":before") + ":after"

    def __str__(self) -> str:
        """Return it as a command line takes it."""
        return f"{self.who}/{self.deed}/{self.point}/{self.visit}"

    @classmethod
    def parse(cls, text: str) -> "Kill":
        """Return what ``str`` wrote."""
        who, deed, point, visit = text.split("/")
        return cls(point, int(visit), who, deed)
