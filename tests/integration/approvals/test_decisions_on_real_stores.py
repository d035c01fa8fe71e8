"""What holds of decisions in memory holds over sockets, HTTP, Postgres and Redis as well."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.approval import input_hash
from app.domain.storable import encode
from tests.support.decision_schedules import OWNER, Answer, Attempt, Schedule, drawn, play
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


@pytest.mark.req("APR-12", "APR-33")
async def test_b32_what_was_changed_after_it_was_shown_does_not_run(desk: PostgresDesk) -> None:
    run = await desk.begin("k", Schedule(0, (("c0", "pay", 1), ("c1", "pay", 2)), (), None))
    change = "UPDATE agent_approvals SET input = $1::text::json WHERE tool_call_id = 'c0'"
    await desk.fort.stores.database.fetch(change, encode({"amount": 99}))

    def approve(call: str, amount: int) -> Attempt:
        answer = Answer(call, "approved", shown=input_hash({"amount": amount}))
        return Attempt("because", OWNER, "http", (answer,), 0)

    stale = await desk.send("k", approve("c0", 1))
    seen = [await desk.send("k", approve("c0", 99)), await desk.send("k", approve("c1", 2))]
    await desk.ended(run)

    assert (stale.code, stale.data["input"]) == ("CONFLICT", {"amount": 99})
    assert [reply.code for reply in seen] == ["OK", "OK"]
    assert list(desk.ran("k")) == [("c1", 2)]


@pytest.mark.long
@pytest.mark.req("APR-04", "APR-12", "APR-16", "APR-28", "APR-31", "APR-33")
@pytest.mark.parametrize("part", range(1, 5))
async def test_hundreds_of_schedules(desk: PostgresDesk, part: int) -> None:
    await play_all(desk, range(part * 100, (part + 1) * 100))
