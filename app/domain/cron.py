"""What a cron declaration becomes, and which of its slots are to fire now.  Pure.

A slot is an instant that the expression names.  One that is late by more than ``GRACE`` was
missed: nobody was there to fire it, and the declaration says what to do about it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from app.domain.ports.nudges import Ids
from app.domain.ports.runs import StartRun
from app.domain.scheduled import CallTarget
from app.domain.storable import encode

GRACE = timedelta(seconds=30)
"""So late may a slot be and simply fire: a deploy or a short outage is no downtime."""
MOST = 100
"""So many missed slots are fired, or written down, at most; the latest of them."""
_FIRST_REACH = timedelta(minutes=2)

Following: TypeAlias = Callable[[str, str, datetime], datetime]
"""Returns the first slot of an expression in a zone after a time; see ``authoring.slots``."""


class CatchUp(StrEnum):
    """What becomes of slots that were missed."""

    SKIP = "skip"
    ONE = "one"
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of a slot while the firing before it has not ended."""

    QUEUE = "queue"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class CronPlan:
    """A cron as it is declared.

    Attributes:
        name: its identity.
        expression: when, on the clocks of ``timezone``.
        target: the run to start or the function to call.  A run's ids are made anew for each
            slot; a thread key that is empty means a thread of its own.
        catch_up: see ``CatchUp``.
        overlap: see ``Overlap``.
    """

    name: str
    expression: str
    timezone: str
    target: StartRun | CallTarget
    catch_up: CatchUp = CatchUp.ONE
    overlap: Overlap = Overlap.QUEUE

    def key(self, slot: datetime) -> str:
        """Return what a slot of this cron is known by, everywhere and for ever."""
        return f"cron:{self.name}:{slot.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def start_at(self, slot: datetime, ids: Ids) -> StartRun:
        """Return the start of a slot, under fresh ids.

        None is made from the slot: whoever can guess when a cron fires could otherwise name its
        run and its thread, which belongs to nobody and so answers to whoever knows its key.
        """
        if not isinstance(self.target, StartRun):
            raise TypeError(f"cron {self.name} calls a function, at {self.key(slot)}")
        thread_id = ids.new()
        return replace(
            self.target,
            run_id=ids.new(),
            thread_id=thread_id,
            message_id=ids.new(),
            thread_key=self.target.thread_key or thread_id,
        )


@dataclass(frozen=True, slots=True)
class Deck:
    """All crons of a team's code, and what tells them from those of another release."""

    id: str
    plans: Sequence[CronPlan] = ()

    @classmethod
    def of(cls, plans: Sequence[CronPlan]) -> "Deck":
        """Return the deck of these plans; their order does not count."""
        ordered = sorted(plans, key=lambda plan: plan.name)
        text = "\n".join(encode(_plain(asdict(plan))) for plan in ordered)
        return cls(hashlib.sha256(text.encode()).hexdigest(), tuple(ordered))


def due_at(slot: datetime, now: datetime, place: int) -> datetime:
    """Return since when a slot that fires now is due; of missed ones, the ``place`` keeps order.

    What was missed for a day has not been overdue for a day: nobody could fire it.
    """
    return max(slot, now - GRACE + timedelta(microseconds=place))


@dataclass(frozen=True, slots=True)
class DueSlots:
    """What is to be done about a cron that is due."""

    fire: tuple[datetime, ...]
    missed: tuple[datetime, ...]
    """Not fired; the latest ``MOST`` of them."""
    next_at: datetime
    is_cut: bool = False
    """Whether more were missed than ``missed`` says."""


def due_slots(plan: CronPlan, first: datetime, now: datetime, following: Following) -> DueSlots:
    """Return what to do about a cron whose earliest slot that nobody fired is ``first``.

    Args:
        plan: the cron.
        first: due, that is, not after ``now``.
        now: by the database's clock.
        following: returns the slot after a time.

    Raises:
        ValueError: the expression or its zone cannot be read here.
    """
    slots, is_cut = _latest(plan, first, now, following)
    late = tuple(slot for slot in slots if now - slot > GRACE)
    fresh = tuple(slots[len(late) :])
    next_at = following(plan.expression, plan.timezone, now)
    match plan.catch_up:
        case CatchUp.ALL:
            return DueSlots(late + fresh, (), next_at, is_cut)
        case CatchUp.ONE if not fresh:
            return DueSlots(late[-1:], late[:-1], next_at, is_cut)
        case CatchUp.ONE | CatchUp.SKIP:
            return DueSlots(fresh, late, next_at, is_cut)


def _latest(
    plan: CronPlan, first: datetime, now: datetime, following: Following
) -> tuple[list[datetime], bool]:
    """Return the latest ``MOST`` slots from ``first`` to ``now``; whether there were more."""
    reach = _FIRST_REACH
    while True:
        is_whole = now - reach <= first
        slots = [first] if is_whole else []
        slot = following(plan.expression, plan.timezone, first if is_whole else now - reach)
        while slot <= now:
            slots.append(slot)
            slot = following(plan.expression, plan.timezone, slot)
        if is_whole or len(slots) > MOST:
            return slots[-MOST:], len(slots) > MOST
        reach *= 2


def _plain(value: Any) -> Any:  # noqa: ANN401  # whatever a plan is made of
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case set() | frozenset():
            return sorted(map(str, value))
        case None | str() | int() | float() | bool():
            return value
        case _:
            return str(value)
