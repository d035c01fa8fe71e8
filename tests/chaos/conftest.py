"""Stores of their own for storms, which restart, flush and crash them."""

import faulthandler
from collections.abc import Iterator

import pytest

from tests.support.chaos.stores import Stores, running_stores


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    """A Postgres and a Redis that nobody else uses."""
    with running_stores() as running:
        yield running


@pytest.fixture
def patience() -> None:
    """Let a test take longer than the limit of all tests: its own waits are bounded."""
    faulthandler.cancel_dump_traceback_later()
