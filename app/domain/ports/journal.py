"""The write-ahead log that bridges "the body returned" and "Postgres has it"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.ports.tokens import ShownText
from app.domain.record import Record
from app.domain.run import Fence


@dataclass(frozen=True, slots=True)
class OpenedJournal:
    """What was left there.

    ``fence_above`` is set when the journal remembers an epoch not below ours (a Postgres
    failover): nothing was opened, raise the epoch first.
    """

    entries: Sequence[Record] = ()
    fence_above: int | None = None


@dataclass(frozen=True, slots=True)
class Salvage:
    """What a journal held when it was closed: finished steps and text that was seen."""

    entries: Sequence[Record] = ()
    shown: Sequence[ShownText] = ()


class JournalFenceLost(Exception):
    """The journal's fence is missing or another one.  Postgres decides what that means."""


class Journal(Protocol):
    """The write-ahead log of a thread's live run.  Each call is one round trip.

    Every method raises ``JournalUnavailable`` when Redis does not answer.  Keys of one
    thread share a hash tag and carry a TTL (24 h; text so far 10 min).
    """

    async def open(self, fence: Fence) -> OpenedJournal:
        """Set the fence and return the entries of this run that were left there.

        Entries of another run are dropped.  Text so far of an older turn stays until it is
        replaced.
        """
        ...

    async def complete(
        self, fence: Fence, record: Record, confirmed: Sequence[str]
    ) -> Record | None:
        """Write an entry and drop those of the steps ``confirmed``.

        Returns the entry that was there already under this name (adopt it), else ``None``.

        Raises:
            JournalFenceLost: see there.
        """
        ...

    async def close(self, thread_id: str, epoch: int) -> Salvage:
        """Refuse further writes of this epoch and return what is there, deleting nothing."""
        ...

    async def drop(self, thread_id: str, epoch: int) -> None:
        """Delete the thread's keys unless a newer epoch holds them."""
        ...
