"""Hints and sources of chance.  A hint is best effort: losing one costs time, not truth."""

from typing import Protocol

from app.domain.run import Fence
from app.domain.tables import TableWrites


class Doorbell(Protocol):
    """Tells free workers that something is queued."""

    async def ring(self, run_id: str) -> None:
        """Ring; a lost ring costs a second at most.  Never raises for Redis being away."""
        ...


class Aborts(Protocol):
    """Tells a worker to stop a drive."""

    async def abort(self, worker: str, fence: Fence) -> None:
        """Tell it; the next beat tells it as well.  Never raises for Redis being away."""
        ...


class Announce(Protocol):
    """Called after each commit that changed a thread; gathers and sends hints by itself."""

    def __call__(self, thread_id: str, version: int) -> None:
        """Note that the thread has this version now.  Never waits, never raises."""
        ...


class AnnounceWrites(Protocol):
    """Called after each commit that wrote the team's tables."""

    def __call__(self, writes: TableWrites) -> None:
        """Note what was written.  Never waits, never raises."""
        ...


class Clock(Protocol):
    """Time that goes on while the machine sleeps, and the wall's."""

    def boot_s(self) -> float:
        """Return seconds of a clock that no one sets and that counts suspend."""
        ...

    def unix_ms(self) -> int:
        """Return Unix time in milliseconds."""
        ...


class Ids(Protocol):
    """Fresh identifiers."""

    def new(self) -> str:
        """Return a time-ordered id."""
        ...
