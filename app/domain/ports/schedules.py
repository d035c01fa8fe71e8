"""Calls of functions that are due later, and crons.

Laws that every implementation keeps:

* due times are compared by the database's clock alone;
* a scheduled call is claimed by one process at a time, for a while; a claim that is not
  renewed is open to others;
* each slot of a cron is materialised once, in the transaction that moves the cron to its next
  slot, whoever asks and however often;
* of the decks that living workers hold, the one declared last says which crons there are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from app.domain.cron import Deck
from app.domain.scheduled import CallTarget, DueCall


class CallStore(Protocol):
    """Calls that wait for their time."""

    async def put(self, call_id: str, target: CallTarget, due_at: datetime) -> None:
        """Store a call that is to be made when it is due, once."""
        ...

    async def cancel(self, call_id: str) -> bool:
        """Take a call back; ``False``: somebody has begun with it, or there is none."""
        ...

    async def claim(
        self, functions: Collection[str], limit: int, lease: timedelta
    ) -> Sequence[DueCall]:
        """Take up to ``limit`` due calls of these functions, the oldest first."""
        ...

    async def renew(self, call_ids: Collection[str], lease: timedelta) -> None:
        """Keep claims."""
        ...

    async def settle(self, call_id: str, error: str | None) -> None:
        """Note that a call was made, or why it will not be."""
        ...

    async def put_off(self, call_id: str, wait: timedelta) -> None:
        """Give a claim back; the call is due again after ``wait``."""
        ...

    async def fail_unknown(self, functions: Collection[str], after: timedelta) -> int:
        """Settle as failed what is due for so long and is no call of these functions; how many."""
        ...


@dataclass(frozen=True, slots=True)
class CronState:
    """A cron as an operator sees it.

    Attributes:
        name: its identity.
        target: ``agent:SLUG``, or the function's reference.
        expression: when, on the clocks of ``timezone``.
        timezone: by its IANA name.
        next_at: its next slot.
        last_slot: the last one that came.
        outcome: what became of it.
    """

    name: str
    target: str
    expression: str
    timezone: str
    next_at: datetime
    last_slot: datetime | None
    outcome: str | None


class CronStore(Protocol):
    """The crons of a deployment."""

    async def hold(self, deck: Deck, *, arriving: bool) -> None:
        """Say that a worker with this deck lives; if it is the newest one, make it hold.

        Args:
            deck: what the worker's code declares.
            arriving: the worker has just started: a deck that no living worker holds counts
                as declared now, even if it was there before (a roll-back).
        """
        ...

    async def advance(self, limit: int) -> int:
        """Materialise the slots of up to ``limit`` crons that are due; how many crons."""
        ...

    async def crons(self) -> Sequence[CronState]:
        """Return all crons, by name."""
        ...
