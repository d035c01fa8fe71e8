"""What a transaction owes to others once it has committed, and not a moment earlier."""

import asyncio
from dataclasses import dataclass, field

from app.domain.errors import JournalUnavailable
from app.domain.notice import Notice
from app.domain.ports import Aborts, Announce, Doorbell, Journal
from app.domain.run import Fence


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told.  Every one of them is a hint: losing it costs time, not truth."""

    announce: Announce
    doorbell: Doorbell
    journal: Journal
    aborts: Aborts
    notices: bool = False
    """Whether notices are kept for another system."""


@dataclass(slots=True)
class Owed:
    """Gathered while the transaction is open; a repeated transaction gathers anew."""

    versions: dict[str, int] = field(default_factory=dict)
    """The newest version by thread."""
    queued: list[str] = field(default_factory=list)
    """Runs that became ``queued``."""
    ended: list[Fence] = field(default_factory=list)
    """Runs that were ended from outside: their journal is of no use any more."""
    shown: set[str] = field(default_factory=set)
    """Threads at the top whose people saw a card that is closed now."""
    driven: list[tuple[str, Fence]] = field(default_factory=list)
    """Workers that drive a run which was taken from them."""
    has_no_journal: bool = False
    """Redis did not answer, and nobody waits for it a second time under the same locks."""
    notices: list[Notice] | None = None
    """What another system is told, in the same transaction; ``None``: there is none to tell."""

    def tell(self, notice: Notice | None) -> None:
        """Owe a notice to another system, if there is one."""
        if self.notices is not None and notice is not None:
            self.notices.append(notice)

    def announce(self, thread_id: str, version: int) -> None:
        """Owe word of a thread's version."""
        self.versions[thread_id] = version

    async def pay(self, listeners: Listeners) -> None:
        """Tell everybody everything; call it after the commit."""
        for thread_id, version in self.versions.items():
            listeners.announce(thread_id, version)
        async with asyncio.TaskGroup() as telling:  # a dead worker may have had hundreds
            for run_id in self.queued:
                telling.create_task(listeners.doorbell.ring(run_id))
            for worker, fence in self.driven:
                telling.create_task(listeners.aborts.abort(worker, fence))
        for fence in self.ended:
            try:
                await listeners.journal.drop(fence.thread_id, fence.epoch)
            except JournalUnavailable:
                return  # what stays there expires, and belongs to no live run
