"""A thousand runs wait for a person: they hold nothing meanwhile, and all go on within seconds."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
import redis

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess, dev_process
from tests.support.wait_until import wait_until

AGENTS = Path(__file__).parent / "agents"
RUNS = 1_000
SLOTS = 50
AT_ONCE = 40
ALL_GO_ON_WITHIN_S = 20.0
LOOKED_AT_S = 3.0

pytestmark = pytest.mark.long

Database = asyncpg.Connection


@pytest.fixture
def dev(counted: Counted) -> Iterator[DevProcess]:
    env = {
        "COUNTER_FILE": str(counted.path),
        "WORKER_SLOTS": str(SLOTS),
        "OPEN_THREADS_DECIDE": "true",
    }
    with dev_process(agents=AGENTS, env=env) as process:
        yield process.start()


@pytest.fixture
async def database(dev: DevProcess) -> AsyncIterator[Database]:
    connection = await asyncpg.connect(dev.ready()["databaseUrl"])
    yield connection
    await connection.close()


async def load(database: Database) -> tuple[int, float]:
    """Return how many connections there are, and how many transactions a second."""
    await asyncio.sleep(1.5)  # statistics are written down once a second
    begun, before = time.monotonic(), await _commits(database)
    await asyncio.sleep(LOOKED_AT_S)  # time is what is measured
    rate = (await _commits(database) - before) / (time.monotonic() - begun)
    connections = await database.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    )
    return int(connections), rate


async def _commits(database: Database) -> int:
    await database.execute("SELECT pg_stat_clear_snapshot()")
    return int(
        await database.fetchval(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )
    )


async def in_status(database: Database, status: str) -> int:
    found = await database.fetchval("SELECT count(*) FROM agent_runs WHERE status = $1", status)
    return int(found)


async def each(keys: list[str], ask: Callable[[httpx2.AsyncClient, str], Awaitable[None]]) -> None:
    """Ask for each key, some at once."""
    left = iter(keys)
    async with httpx2.AsyncClient(timeout=30) as http, asyncio.TaskGroup() as group:

        async def one_after_the_other() -> None:
            for key in left:
                await ask(http, key)

        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())


@pytest.mark.req("DUR-08", "APR-02")
async def test_a_thousand_parked_runs_hold_nothing_and_all_go_on(
    dev: DevProcess, database: Database, counted: Counted
) -> None:
    keys = [f"signing-{uuid.uuid4().hex[:8]}" for _ in range(RUNS)]
    idle_connections, idle_rate = await load(database)

    async def start(http: httpx2.AsyncClient, key: str) -> None:
        body = {"message": "sign it", "sessionId": key}
        answer = await http.post(f"{dev.url}/agents/signing", json=body)
        assert answer.status_code == 202, answer.text

    async def approve(http: httpx2.AsyncClient, key: str) -> None:
        body = {"key": key, "toolCallId": "call_sign", "decision": "approved"}
        url = f"{dev.url}/functions/agents:agentResolveApproval"
        answer = await http.post(url, json=body)
        assert answer.status_code == 200, answer.text

    async def all_are(status: str) -> None:
        async def so() -> bool:
            return await in_status(database, status) == RUNS

        await wait_until(so, description=f"all are {status}", timeout_s=60, interval_s=0.1)

    await each(keys, start)
    await all_are("awaiting_input")
    connections, rate = await load(database)
    with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
        left = [key for key in client.scan_iter("*") if b"{queue}" not in key]
    begun = time.monotonic()
    await each(keys, approve)
    await all_are("completed")
    took_s = time.monotonic() - begun

    print(f"{RUNS} runs went on in {took_s:.1f} s; {rate:.1f} transactions/s, {idle_rate:.1f} idle")  # noqa: T201
    assert left == [], "a parked run has no key in Redis"
    assert connections <= idle_connections + 30  # the pools, filled once by the starts
    assert rate < idle_rate * 1.3 + 2, "a parked run is polled for"
    assert took_s < ALL_GO_ON_WITHIN_S
    assert len(counted.keys("start")) == len(set(counted.keys("start"))) == RUNS
