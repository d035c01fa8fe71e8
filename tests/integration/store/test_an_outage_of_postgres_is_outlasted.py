"""What happens when Postgres restarts, hangs, or is not there: a named fault, then life goes on."""

import asyncio

import asyncpg
import pytest

from app.domain.errors import RecordRefused, StoreUnavailable
from app.domain.message import MessageStatus, Role
from app.domain.record import NewMessage, Record, Writes
from app.main.embedded import EmbeddedPostgres
from app.store.database import Database
from tests.integration.store.rival import Rival
from tests.support.store_world import StoreWorld, a_step, an_answer
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("DUR-07")


async def test_connections_that_were_cut_are_made_anew(world: StoreWorld, rival: Rival) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    await rival.watch.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'ropewalk'"
    )

    async def recorded() -> bool:
        try:
            return await world.store.record(fence, an_answer(fence, 0)) is not None
        except StoreUnavailable:
            return False

    await wait_until(recorded, description="a record goes through")
    assert [row.seq for row in await world.store.history(fence.thread_id)] == [1, 2]


async def test_a_server_that_was_killed_comes_back(
    postgres: EmbeddedPostgres, world: StoreWorld
) -> None:
    claimed = await world.drive()
    fence = claimed.fence
    await asyncio.to_thread(postgres.stop)
    try:
        with pytest.raises(StoreUnavailable):
            await world.store.record(fence, an_answer(fence, 0))
    finally:
        await asyncio.to_thread(postgres.start)

    recorded = await world.store.record(fence, an_answer(fence, 0))

    assert recorded is not None
    assert recorded.was_new


async def test_a_session_on_a_standby_is_replaced(database_url: str) -> None:
    """After a failover the old primary answers, and refuses every write."""
    write = "UPDATE agent_workers SET beat = 0"
    async with Database(database_url, size=1) as database:
        await database.fetch("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        with pytest.raises(StoreUnavailable):
            await database.fetch(write)

        await database.fetch(write)


async def test_a_cut_in_the_middle_of_a_transaction_undoes_it(
    world: StoreWorld, rival: Rival
) -> None:
    claimed = await world.drive()

    async with rival.holding(claimed.thread.id):
        cancel = asyncio.create_task(world.store.cancel(claimed.thread.id, None))
        await rival.until_waited_for()
        await rival.watch.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        with pytest.raises(StoreUnavailable):
            await cancel

    assert await world.store.holds(claimed.fence)
    assert await world.store.cancel(claimed.thread.id, None) is not None


async def test_a_frozen_transaction_lets_go_of_the_thread(
    database_url: str, world: StoreWorld
) -> None:
    """The process that holds the lock is stopped between two statements, and never goes on."""
    claimed = await world.drive()
    locked, thawed = asyncio.Event(), asyncio.Event()

    async with Database(database_url, size=1) as frozen:

        async def work(connection: object) -> None:
            assert isinstance(connection, asyncpg.pool.PoolConnectionProxy)
            await connection.execute(
                "SELECT FROM agent_threads WHERE id = $1 FOR UPDATE", claimed.thread.id
            )
            locked.set()
            await thawed.wait()
            await connection.execute("SELECT 1")

        holder = asyncio.create_task(frozen.transact(work))
        await locked.wait()
        async with asyncio.timeout(5):
            assert await world.store.record(claimed.fence, a_step(claimed.fence, "step"))
        thawed.set()
        with pytest.raises(StoreUnavailable):
            await holder


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param("not JSON", id="not-json"),
        pytest.param('[{"type":"text","text":"a\x00b"}]', id="nul"),
        pytest.param('[{"type":"text","text":"\ud800"}]', id="lone-surrogate"),
    ],
)
async def test_rows_that_postgres_can_never_take_are_refused_by_name(
    world: StoreWorld, parts: str
) -> None:
    """Case B19: never an endless retry."""
    claimed = await world.drive()
    fence = claimed.fence
    message = NewMessage("m", "key", Role.ASSISTANT, MessageStatus.COMPLETE, parts)
    record = Record(
        fence.run_id, fence.thread_id, "llm:turn:0", 0, "1", Writes(messages=(message,))
    )

    with pytest.raises(RecordRefused, match="llm:turn:0"):
        await world.store.record(fence, record)

    assert await world.store.record(fence, an_answer(fence, 0)) is not None


async def test_no_server_at_all_is_unavailable() -> None:
    async with Database("postgresql://nobody@127.0.0.1:9/nothing") as database:
        with pytest.raises(StoreUnavailable):
            await database.fetch("SELECT 1")


async def test_an_address_may_name_several_hosts(database_url: str) -> None:
    socket = database_url.partition("host=")[2].partition("&")[0]
    several = database_url.replace(f"host={socket}", f"host=/nowhere,{socket}")
    port = database_url.partition("port=")[2]
    several = several.replace(f"port={port}", f"port={port},{port}")

    async with Database(f"{several}&target_session_attrs=read-write") as database:
        assert (await database.fetch("SELECT 1 AS one"))[0]["one"] == 1
