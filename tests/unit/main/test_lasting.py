"""No collection looks again at what a process loaded for good."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from app.main.lasting import lasting


class Thing:
    """Something that can refer to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _nothing_stays_frozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_is_made_in_the_block_is_not_looked_at_again() -> None:
    with lasting():
        made = Thing()

    assert not any(each is made for each in gc.get_objects())


def test_what_was_left_over_in_the_block_is_not_kept() -> None:
    with lasting():
        left_over = weakref.ref(Thing())

    assert left_over() is None


def test_what_is_made_later_is_collected_as_ever() -> None:
    with lasting(), pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    left_over = weakref.ref(Thing())
    gc.collect()

    assert gc.isenabled()
    assert left_over() is None
