"""A store on a real Postgres with enough connections to collide on, and ways to hold a lock."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, postgres_world


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    """A run store over up to 30 connections."""
    async with postgres_world(database_url, size=30) as made:
        yield made


@pytest.fixture
async def rival(database_url: str) -> AsyncIterator[Rival]:
    """Somebody else with a transaction of his own."""
    connection = await asyncpg.connect(database_url)
    watch = await asyncpg.connect(database_url)
    yield Rival(connection, watch)
    await connection.close()
    await watch.close()
