"""One to four gated calls of one turn, decided in every order, with workers that come and go."""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

import pytest

from tests.support.agent_world import no_backoff
from tests.support.gates import BY_ITSELF, Course, Event, Fate, play_all

__all__ = ["no_backoff"]

FATES = (Fate.APPROVE, Fate.DENY, Fate.EDIT, Fate.EXPIRE, Fate.LAPSE)
SHAPES = {
    1: ("G", "UG", "GU"),
    2: ("GG", "UGG", "GUG", "GGU"),
    3: ("GGG", "GUGG", "UGUGG"),
    4: ("GGGG", "GUGGUG", "UGGGG"),
}
"""By the number of gated calls: where the ungated ones stand among them."""


def orders(shape: str) -> Iterator[tuple[Event, ...]]:
    """Yield every order of every decision; cut off by a cancel at every place, too."""
    gated = [place for place, kind in enumerate(shape) if kind == "G"]
    for length in range(len(gated) + 1):
        for order in itertools.permutations(gated, length):
            for fates in itertools.product(FATES, repeat=length):
                decided = tuple(zip(fates, order, strict=True))
                yield decided if length == len(gated) else (*decided, (Fate.CANCEL, -1))


def subsets(places: Sequence[int]) -> Iterator[frozenset[int]]:
    for length in range(len(places) + 1):
        yield from map(frozenset, itertools.combinations(places, length))


def may_be_early(course: Course) -> bool:
    """Whether that can happen while the run is at work: what expires by itself waits first."""
    return "U" in course.shape and not any(
        fate in BY_ITSELF for fate, _ in course.events[: course.early]
    )


def everything(count: int) -> Iterator[Course]:
    """Yield every course with so many gated calls."""
    for shape in SHAPES[count]:
        for events in orders(shape):
            for restarts in subsets(range(len(events))):
                for early in range(len(events) + 1):
                    course = Course(shape, events, restarts, early)
                    if not early or may_be_early(course):
                        yield course


def drawn(count: int, chance: random.Random) -> Iterator[Course]:
    """Yield every order of every decision once, and draw all the rest."""
    for number, events in enumerate(orders("G" * count)):
        shape = SHAPES[count][number % len(SHAPES[count])]
        places = [place for place, kind in enumerate(shape) if kind == "G"] + [-1]
        moved = tuple((fate, places[call]) for fate, call in events)
        restarts = frozenset(place for place in range(len(events)) if chance.random() < 0.5)
        course = Course(shape, moved, restarts, chance.randrange(len(events) + 1))
        yield course if may_be_early(course) else Course(shape, moved, restarts)


def sample(courses: Iterable[Course], size: int, chance: random.Random) -> list[Course]:
    return chance.sample(list(courses), size)


def chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  # repeatable, not secret


@pytest.mark.req("APR-02", "APR-05", "APR-06", "APR-08", "APR-09", "APR-33")
async def test_one_gated_call_in_every_course() -> None:
    await play_all(list(everything(1)))


@pytest.mark.req("APR-02", "APR-05", "APR-06", "APR-08", "APR-09", "APR-33")
@pytest.mark.parametrize(("count", "size"), [(2, 200), (3, 130), (4, 80)])
async def test_b28_b29_b37_gated_calls_in_courses_drawn_from_a_seed(count: int, size: int) -> None:
    drawing = chance(count)
    await play_all(sample(drawn(count, drawing) if count > 2 else everything(2), size, drawing))


@pytest.mark.long
@pytest.mark.req("APR-05", "APR-06", "APR-08", "APR-09", "APR-33")
@pytest.mark.parametrize("part", range(10))
async def test_two_gated_calls_in_every_course(part: int) -> None:
    await play_all(list(everything(2))[part::10])


@pytest.mark.long
@pytest.mark.req("APR-05", "APR-06", "APR-08", "APR-09", "APR-33")
@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("part", range(10))
async def test_three_or_four_gated_calls_decided_in_every_order(count: int, part: int) -> None:
    await play_all(list(drawn(count, chance(5)))[part::10])
