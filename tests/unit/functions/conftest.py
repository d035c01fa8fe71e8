"""Functions in memory."""

from collections.abc import AsyncIterator

import pytest

from tests.support.store_world import StoreWorld, memory_world


@pytest.fixture
async def world() -> AsyncIterator[StoreWorld]:
    """The stores, in memory."""
    async with memory_world() as made:
        yield made
