"""What holds of decisions in memory holds over sockets, HTTP, Postgres and Redis as well."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.decision_schedules import drawn, play
from tests.support.postgres_desk import PostgresDesk, postgres_desk

AT_ONCE = 6


@pytest.fixture
async def desk(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> AsyncIterator[PostgresDesk]:
    async with postgres_desk(tmp_path, database_url, redis_url, redis_namespace) as made:
        yield made


async def play_all(desk: PostgresDesk, seeds: range) -> None:
    """Play schedules, some at a time; a failure says which one."""
    left = iter(seeds)

    async def one_after_the_other() -> None:
        for seed in left:
            try:
                await play(desk, drawn(seed))
            except BaseException as error:
                error.add_note(f"in {drawn(seed)}")
                raise

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())


@pytest.mark.req("APR-04", "APR-12", "APR-16", "APR-28", "APR-31", "APR-33")
async def test_schedules_drawn_from_seeds(desk: PostgresDesk) -> None:
    await play_all(desk, range(12))


@pytest.mark.long
@pytest.mark.req("APR-04", "APR-12", "APR-16", "APR-28", "APR-31", "APR-33")
@pytest.mark.parametrize("part", range(1, 5))
async def test_hundreds_of_schedules(desk: PostgresDesk, part: int) -> None:
    await play_all(desk, range(part * 100, (part + 1) * 100))
