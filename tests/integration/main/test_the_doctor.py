"""``ropewalk doctor`` on real stores: nothing to do when all is well, and what it does if not."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from redis.asyncio import Redis

from app.domain.run import Ending
from app.journal import RedisJournal
from app.keyspace import Keys, connect
from app.keyspace.census import threads_with_keys
from tests.support.backend import token_for
from tests.support.gateway_process import a_gateway
from tests.support.store_world import StoreWorld, a_step, postgres_world

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    async with postgres_world(database_url) as made:
        yield made


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    redis = connect(redis_url)
    yield redis
    await redis.aclose()


def doctor(
    database_url: str, redis_url: str, namespace: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "app.main.cli", "doctor", *options],
        cwd=ROOT,
        env={
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "REDIS_NAMESPACE": namespace,
            "PATH": "",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


async def test_only_threads_have_keys_of_threads(client: Redis, redis_namespace: str) -> None:
    keys = Keys(redis_namespace)
    at = keys.thread("a-thread")
    for key in (at.fence, at.part(3), keys.doorbell, keys.nudges, f"{keys.namespace}:{{x"):
        await client.set(key, "1", ex=60)

    assert await threads_with_keys(client, keys) == {"a-thread"}


async def test_a_deployment_that_is_well_gives_the_doctor_nothing_to_do(
    world: StoreWorld, database_url: str, redis_url: str, redis_namespace: str
) -> None:
    ended = await world.drive(thread_key="ended")
    await world.store.finish(ended.fence, Ending.completed("final"), None)
    parked = await world.drive(thread_key="parked")
    await world.ask(parked, "call_1", gated=["call_1"])
    await world.park(parked, "call_1")
    await world.start(thread_key="queued")

    done = doctor(database_url, redis_url, redis_namespace)

    assert (done.returncode, done.stdout) == (0, "All is well.\n"), done.stderr


async def test_the_doctor_mends_a_silent_worker_a_stranded_thread_and_old_keys(
    world: StoreWorld, client: Redis, database_url: str, redis_url: str, redis_namespace: str
) -> None:
    taken = await world.drive(thread_key="taken")
    stale = await world.drive(thread_key="stale")
    journal = RedisJournal(client, Keys(redis_namespace))
    await journal.open(stale.fence)
    await journal.complete(stale.fence, a_step(stale.fence, "llm:turn:0"), ())
    await world.store.finish(stale.fence, Ending.completed("final"), None)

    found = doctor(database_url, redis_url, redis_namespace)
    mended = doctor(database_url, redis_url, redis_namespace, "--mend")
    again = doctor(database_url, redis_url, redis_namespace)

    assert found.returncode == 1
    assert "found: worker: worker worker-1 is silent" in found.stdout
    assert f"found: redis-keys: thread {stale.thread.id} has keys in Redis" in found.stdout
    assert mended.returncode == 1
    assert mended.stdout.count("mended: ") == 2
    assert (again.returncode, again.stdout) == (0, "All is well.\n"), again.stderr
    assert (await world.run(taken.run.id)).status == "queued"
    assert await threads_with_keys(client, Keys(redis_namespace)) == set()


@pytest.mark.req("IMP-33")
async def test_an_admin_lets_a_gateway_mend_the_same(
    world: StoreWorld, database_url: str, redis_url: str, redis_namespace: str, tmp_path: Path
) -> None:
    taken = await world.drive(thread_key="taken")
    (agents := tmp_path / "agents").mkdir()
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        namespace=redis_namespace,
        agents=agents,
    ) as gateway:
        headers = {"authorization": f"Bearer {token_for('root', 'admin')}"}
        async with httpx2.AsyncClient(base_url=gateway.url, headers=headers, timeout=30) as http:
            answer = await http.post("/doctor", json={"mend": True})

    assert [(each["kind"], each["mended"]) for each in answer.json()["findings"]] == [
        ("worker", True)
    ]
    assert (await world.run(taken.run.id)).status == "queued"
