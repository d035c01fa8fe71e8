"""``crons``: what happens by the clock, declared beside the agents and functions that it is for.

    crons.daily("digest", {"hour_utc": 3, "minute_utc": 0}, support, {"input": "sum up"})
    crons.cron("report", "30 2 * * 1-5", "reports:make", {}, timezone="Europe/Berlin")

A declaration is a statement of a module; nothing has to be bound to a name.  What it says is
checked when the folder has been loaded: only then is it known which agents and functions there
are.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

from app.authoring.agent_reference import AgentReference
from app.authoring.functions import ServerFunction
from app.authoring.place import Place, calling_place
from app.authoring.producer import RunOptions
from app.authoring.slots import NoSuchSlots, check
from app.domain.cron import CatchUp, Overlap
from app.domain.errors import DeclarationError

MAX_NAME = 100

W = TypeVar("W", bound=StrEnum)

CronTarget: TypeAlias = AgentReference | ServerFunction[..., Any]
CronArgs: TypeAlias = RunOptions | Mapping[str, object]
CatchUpWord: TypeAlias = Literal["skip", "one", "all"]
OverlapWord: TypeAlias = Literal["queue", "skip"]


class DailyAt(TypedDict, total=False):
    """A time of day: in UTC, or by the clocks of ``timezone``."""

    hour_utc: int
    minute_utc: int
    hour: int
    minute: int


class HourlyAt(TypedDict, total=False):
    """A minute of every hour."""

    minute_utc: int
    minute: int


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Cron:
    """One declaration, not yet checked against what there is."""

    name: str
    expression: str
    timezone: str
    target: CronTarget
    args: Mapping[str, Any]
    catch_up: CatchUp
    overlap: Overlap
    place: Place

    def error(self, message: str) -> DeclarationError:
        """Return the error for this declaration."""
        return self.place.error(f"cron {self.name!r}: {message}")


_collected: ContextVar[list[Cron] | None] = ContextVar("crons", default=None)


@contextmanager
def collecting() -> Iterator[list[Cron]]:
    """Yield a list that gets every cron which is declared in the block."""
    found: list[Cron] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


class Crons:
    """Declares what happens by the clock.

    Every kind takes these options:

    * ``catch_up``: what becomes of slots that came while no worker was there: ``one`` run for
      all of them (the default), ``all`` (the latest hundred), or ``skip``.
    * ``overlap``: what becomes of a slot while the firing before it has not ended: ``queue``
      (the default; runs on one thread, and calls of one cron, follow one another) or ``skip``.
    * ``timezone``: whose clocks are meant, by IANA name; UTC by default.
    """

    def daily(
        self,
        name: str,
        at: DailyAt,
        target: CronTarget,
        args: CronArgs | None = None,
        *,
        timezone: str | None = None,
        catch_up: CatchUpWord = "one",
        overlap: OverlapWord = "queue",
    ) -> None:
        """Declare what happens once a day, on each day.

        Args:
            name: its identity, and what it is called in logs.
            at: ``{"hour_utc": 3, "minute_utc": 0}``, or with ``timezone``
                ``{"hour": 3, "minute": 0}``.
            target: an agent (also ``agents.SLUG`` or its slug), or a mutation or action (also
                as ``"module:name"``), internal ones included.
            args: of a run, ``{"input": ..., "thread_key": ...}``: with a ``thread_key`` all
                firings share one conversation, without each has its own; of a function, its
                arguments by name.
            timezone: see the class.
            catch_up: see the class.
            overlap: see the class.

        Raises:
            DeclarationError: a value is out of its bounds.
        """
        place = calling_place()
        time = _time(name, at, DailyAt, timezone, place)
        if "hour" not in time:
            raise place.error(f'cron {name!r}: say at which hour, as {{"hour_utc": 3}}')
        expression = f"{time.get('minute', 0)} {time['hour']} * * *"
        _declare(
            name,
            expression,
            target,
            args,
            timezone=timezone,
            catch_up=catch_up,
            overlap=overlap,
            place=place,
        )

    def hourly(
        self,
        name: str,
        at: HourlyAt,
        target: CronTarget,
        args: CronArgs | None = None,
        *,
        timezone: str | None = None,
        catch_up: CatchUpWord = "one",
        overlap: OverlapWord = "queue",
    ) -> None:
        """Declare what happens every hour; see ``daily``.

        Args:
            name: see ``daily``.
            at: ``{"minute_utc": 5}``.
            target: see ``daily``.
            args: see ``daily``.
            timezone: see the class.
            catch_up: see the class.
            overlap: see the class.

        Raises:
            DeclarationError: a value is out of its bounds.
        """
        place = calling_place()
        time = _time(name, at, HourlyAt, timezone, place)
        expression = f"{time.get('minute', 0)} * * * *"
        _declare(
            name,
            expression,
            target,
            args,
            timezone=timezone,
            catch_up=catch_up,
            overlap=overlap,
            place=place,
        )

    def cron(
        self,
        name: str,
        expression: str,
        target: CronTarget,
        args: CronArgs | None = None,
        *,
        timezone: str | None = None,
        catch_up: CatchUpWord = "one",
        overlap: OverlapWord = "queue",
    ) -> None:
        """Declare what happens by a cron expression; see ``daily``.

        Args:
            name: see ``daily``.
            expression: minute, hour, day of the month, month, weekday; a sixth field in front
                is the second.
            target: see ``daily``.
            args: see ``daily``.
            timezone: see the class.
            catch_up: see the class.
            overlap: see the class.

        Raises:
            DeclarationError: a value is out of its bounds.
        """
        place = calling_place()
        _declare(
            name,
            expression,
            target,
            args,
            timezone=timezone,
            catch_up=catch_up,
            overlap=overlap,
            place=place,
        )


crons = Crons()


def _time(
    name: str,
    at: object,
    kind: type,
    timezone: str | None,
    place: Place,
) -> dict[str, int]:
    """Return hour and minute, whichever way they are spelled."""
    known = tuple(kind.__annotations__)
    if not isinstance(at, Mapping) or not set(at) <= set(known):
        raise place.error(f"cron {name!r}: {at!r} is no time; it takes {', '.join(known)}")
    in_utc = [key for key in at if key.endswith("_utc")]
    if in_utc and timezone not in {None, "UTC"}:
        plain = in_utc[0].removesuffix("_utc")
        raise place.error(
            f"cron {name!r}: {in_utc[0]} is in UTC, and timezone={timezone!r} is not; "
            f"say {plain} instead"
        )
    time: dict[str, int] = {}
    for key, value in at.items():
        plain = key.removesuffix("_utc")
        top = 23 if plain == "hour" else 59
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= top:
            raise place.error(f"cron {name!r}: {key} is from 0 to {top}, got {value!r}")
        if plain in time:
            raise place.error(f"cron {name!r}: {plain} is said twice")
        time[plain] = value
    return time


def _declare(
    name: str,
    expression: str,
    target: CronTarget,
    args: object,
    *,
    timezone: str | None,
    catch_up: str,
    overlap: str,
    place: Place,
) -> None:
    if not (0 < len(name) <= MAX_NAME and name.isprintable()):
        raise place.error(f"a cron's name has 1 to {MAX_NAME} printable characters, got {name!r}")
    if args is not None and not isinstance(args, Mapping):
        raise place.error(f"cron {name!r}: its arguments are a mapping, got {args!r}")
    zone = "UTC" if timezone is None else timezone
    try:
        check(expression, zone)
    except NoSuchSlots as error:
        raise place.error(f"cron {name!r}: {error}") from None
    cron = Cron(
        name=name,
        expression=" ".join(expression.split()),
        timezone=zone,
        target=target,
        args=args or {},
        catch_up=_word("catch_up", CatchUp, catch_up, name, place),
        overlap=_word("overlap", Overlap, overlap, name, place),
        place=place,
    )
    found = _collected.get()
    if found is not None:
        found.append(cron)


def _word(option: str, kind: type[W], word: str, name: str, place: Place) -> W:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        raise place.error(f"cron {name!r}: {option}={word!r}; it is one of {known}") from None
