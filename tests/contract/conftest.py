"""Worlds that the contract suites run in, on memory and on the real thing."""

from collections.abc import AsyncIterator

import pytest

from tests.support.store_world import StoreWorld, memory_world, postgres_world


@pytest.fixture(params=["memory", "postgres"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[StoreWorld]:
    """A run store, its reader, and whom they tell."""
    if request.param == "memory":
        async with memory_world() as made:
            yield made
    else:
        async with postgres_world(request.getfixturevalue("database_url")) as made:
            yield made
