"""When a cron expression is due: its slots, as instants, in any time zone.

An expression that names its hours and minutes means the clock on the wall: each of its times
comes exactly once on each of its days.  One that the clocks leap over comes when the leap is
over; one that they show twice comes the first time.  An expression with ``*`` as its minute or
its hour (``*/5`` as well) means time as it passes: it comes whenever the clock shows it, so
every hour is every hour, whatever the clocks do.

Days that a month does not have (the 31st, 29 February) do not come in it.  The zone of the
machine plays no part.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

_SECOND = timedelta(seconds=1)
_LONGEST_LEAP = timedelta(hours=25)
"""Samoa left out a whole day once."""
_FAR = timedelta(days=2)
"""Within it the clocks change once at most."""
_ANY_TIME = datetime(2026, 1, 1)  # noqa: DTZ001  # an expression is parsed beside a time


class NoSuchSlots(ValueError):
    """An expression or a zone that cannot be read, or a time that never comes."""


def check(expression: str, timezone: str) -> None:
    """Refuse what ``next_slot`` could not answer.

    Raises:
        NoSuchSlots: says what is wrong.
    """
    next_slot(expression, timezone, datetime.now(UTC))


def next_slot(expression: str, timezone: str, after: datetime) -> datetime:
    """Return the first slot after a time, in UTC.

    Args:
        expression: five fields (minute, hour, day, month, weekday), or six that begin with
            the second.
        timezone: whose clock the fields are about, by its IANA name.
        after: an aware time.

    Raises:
        NoSuchSlots: an argument cannot be read, or no slot comes within fifty years.
    """
    zone, begin = _zone(timezone), after.astimezone(UTC).replace(microsecond=0)
    try:
        if _means_the_wall(expression):
            return _on_the_wall(expression, zone, begin)
        return _as_time_passes(expression, zone, begin)
    except CronSimError as error:
        raise NoSuchSlots(f"the expression {expression!r} cannot be read: {error}") from None
    except (StopIteration, OverflowError):
        raise NoSuchSlots(f"the expression {expression!r} never comes") from None


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NoSuchSlots(
            f"there is no time zone {name!r}; take an IANA name, as Europe/Berlin"
        ) from None


def _means_the_wall(expression: str) -> bool:
    """Whether neither the minute nor the hour is a star."""
    fields = expression.split()
    minute, hour = fields[-5:-3] if len(fields) in {5, 6} else ("", "")
    return not minute.startswith("*") and not hour.startswith("*")


def _on_the_wall(expression: str, zone: ZoneInfo, after: datetime) -> datetime:
    for wall in CronSim(expression, _shown(zone, after) - _LONGEST_LEAP):
        instant = _first_at(zone, wall)
        if instant > after:
            return instant
    raise StopIteration


def _first_at(zone: ZoneInfo, wall: datetime) -> datetime:
    """Return when the clocks show a time first; if they leap over it, when they have."""
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if _shown(zone, instant) == wall:
        return instant
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change(zone, before, instant)


def _as_time_passes(expression: str, zone: ZoneInfo, after: datetime) -> datetime:
    # Between two changes of the clocks, a zone is an offset; each stretch is looked at in turn.
    known, base = after, after
    while True:
        offset = _offset(zone, known)
        shown = (base + offset).replace(tzinfo=None)
        reach: timedelta = next(CronSim(expression, shown)) - shown
        if reach > _FAR:  # nothing matches on the way, so what the clocks do there is no matter
            known = base = base + reach - _FAR + timedelta(hours=1)
            continue
        found = base + reach
        if _offset(zone, found) == offset:
            return found
        known = _change(zone, known, found)
        base = known - _SECOND


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """Return the first second with another offset than ``before``'s; by ``after`` it has come."""
    offset = _offset(zone, before)
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None, "a zone has one"  # noqa: S101
    return offset


def _shown(zone: ZoneInfo, instant: datetime) -> datetime:
    """Return what the clocks show."""
    return instant.astimezone(zone).replace(tzinfo=None)
