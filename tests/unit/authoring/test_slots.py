"""When a cron expression is due: each slot once, whatever the clocks of its zone do."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.authoring.slots import NoSuchSlots, next_slot

MINUTE = timedelta(minutes=1)
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 28, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 24, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 7, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 10, 31, tzinfo=UTC)),
]


def slots(expression: str, timezone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = next_slot(expression, timezone, after)
    while slot <= until:
        yield slot
        slot = next_slot(expression, timezone, slot)


def walls(expression: str, timezone: str, after: datetime, count: int) -> list[str]:
    """Return what the clocks show at the next slots."""
    shown = []
    for _ in range(count):
        after = next_slot(expression, timezone, after)
        shown.append(f"{after.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M%z}")
    return shown


@pytest.mark.req("SCH-01")
def test_a_daily_slot_is_at_its_hour_by_a_frozen_clock() -> None:
    before, at = datetime(2026, 5, 1, 2, 59, 59, tzinfo=UTC), datetime(2026, 5, 1, 3, tzinfo=UTC)

    assert next_slot("0 3 * * *", "UTC", before) == at
    assert next_slot("0 3 * * *", "UTC", at) == at + timedelta(days=1)


@pytest.mark.parametrize(
    ("begin", "shown"),
    [
        pytest.param(
            datetime(2026, 3, 28, tzinfo=UTC),
            ["2026-03-28 02:30+0100", "2026-03-29 03:00+0200", "2026-03-30 02:30+0200"],
            id="a-time-that-is-leapt-over-comes-after-the-leap",
        ),
        pytest.param(
            datetime(2026, 10, 24, tzinfo=UTC),
            ["2026-10-24 02:30+0200", "2026-10-25 02:30+0200", "2026-10-26 02:30+0100"],
            id="a-time-that-comes-twice-counts-the-first-time",
        ),
    ],
)
def test_b92_a_daily_slot_comes_once_a_day_when_the_clocks_change(
    begin: datetime, shown: list[str]
) -> None:
    assert walls("30 2 * * *", "Europe/Berlin", begin, 3) == shown


@pytest.mark.parametrize("minute", [0, 30, 59])
@pytest.mark.parametrize("hour", [0, 1, 2, 3, 23])
@pytest.mark.parametrize(("timezone", "day"), CHANGES)
def test_b92_there_is_one_slot_on_each_day_wherever_the_search_begins(
    timezone: str, day: datetime, hour: int, minute: int
) -> None:
    expression, zone = f"{minute} {hour} * * *", ZoneInfo(timezone)
    found = list(slots(expression, timezone, day - timedelta(days=1), day + timedelta(days=4)))
    days = [slot.astimezone(zone).date() for slot in found]

    assert days == sorted(set(days))
    assert days[-1] - days[0] == timedelta(days=len(days) - 1)
    for minutes in range(0, 3 * 24 * 60, 17):  # a restart at any moment finds the same slots
        moment = day + minutes * MINUTE
        assert next_slot(expression, timezone, moment) == next(s for s in found if s > moment)


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("*/5 * * * *", lambda at: at.minute % 5 == 0),
        ("45 * * * *", lambda at: at.minute == 45),
        ("*/30 2 * * *", lambda at: at.minute % 30 == 0 and at.hour == 2),
        ("15 */3 * * 0", lambda at: at.minute == 15 and at.hour % 3 == 0 and at.weekday() == 6),
    ],
)
@pytest.mark.parametrize(("timezone", "day"), CHANGES)
def test_b92_a_star_means_time_as_it_passes(
    timezone: str,
    day: datetime,
    expression: str,
    matches: object,
) -> None:
    zone, until = ZoneInfo(timezone), day + timedelta(days=2)
    every = [day + count * MINUTE for count in range(1, 2 * 24 * 60 + 1)]
    shown = [minute for minute in every if matches(minute.astimezone(zone))]  # type: ignore[operator]  # a predicate

    assert list(slots(expression, timezone, day, until)) == shown


def test_b92_days_that_a_month_does_not_have_do_not_come_in_it() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    assert [day[5:10] for day in walls("0 3 31 * *", "UTC", begin, 4)] == [
        "01-31",
        "03-31",
        "05-31",
        "07-31",
    ]
    assert [day[:10] for day in walls("0 3 29 2 *", "Europe/Berlin", begin, 2)] == [
        "2028-02-29",
        "2032-02-29",
    ]


@pytest.fixture(params=["America/Los_Angeles", "Asia/Tokyo"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have the machine be somewhere else."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
def test_b92_the_zone_of_the_machine_plays_no_part() -> None:
    begin = datetime(2026, 3, 28, tzinfo=UTC)

    assert walls("30 2 * * *", "Europe/Berlin", begin, 2)[1] == "2026-03-29 03:00+0200"
    assert next_slot("30 2 * * *", "UTC", begin) == datetime(2026, 3, 28, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "timezone", "said"),
    [
        ("61 * * * *", "UTC", "Bad minute"),
        ("* * * *", "UTC", "Wrong number of fields"),
        ("0 0 30 2 *", "UTC", "Bad day-of-month"),
        ("0 0 * * *", "Mars/Base", "no time zone 'Mars/Base'"),
        ("0 0 * * *", "", "no time zone ''"),
        ("0 0 * * *", "../etc/passwd", "no time zone"),
        ("* * */20 * 1L", "UTC", "never comes"),
    ],
)
def test_what_cannot_be_read_is_refused(expression: str, timezone: str, said: str) -> None:
    with pytest.raises(NoSuchSlots, match=said):
        next_slot(expression, timezone, datetime(2026, 1, 1, tzinfo=UTC))
