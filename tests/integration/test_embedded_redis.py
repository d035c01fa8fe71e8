"""The embedded Redis keeps its keys over kills and restarts, and never evicts one."""

import os
import signal
from collections.abc import Iterator

import pytest
import redis
from arq.connections import RedisSettings, create_pool

from app.main.embedded import EmbeddedRedis
from tests.support.embedded_stores import session_folder
from tests.support.wait_until import wait_until_sync


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    with session_folder() as folder:
        made = EmbeddedRedis(folder / "redis")
        made.start()
        yield made
        made.stop()


def test_keys_survive_a_restart_under_the_same_address(server: EmbeddedRedis) -> None:
    before = server.url
    with redis.Redis.from_url(before) as client:
        client.set("kept", "7")

    server.stop()
    server.start()

    with redis.Redis.from_url(before) as client:
        assert client.get("kept") == b"7"


def test_keys_survive_a_sigkill(server: EmbeddedRedis) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.set("kept", "7")
        client.execute_command("WAITAOF", 1, 0, 5000)

    os.kill(server.pid, signal.SIGKILL)
    wait_until_sync(lambda: not server.is_running(), description="the server is gone")
    server.start()

    with redis.Redis.from_url(server.url) as client:
        assert client.get("kept") == b"7"


def test_it_never_evicts_and_appends_every_second(server: EmbeddedRedis) -> None:
    with redis.Redis.from_url(server.url) as client:
        config = client.config_get("maxmemory-policy", "appendonly", "appendfsync")

    assert config == {
        "maxmemory-policy": "noeviction",
        "appendonly": "yes",
        "appendfsync": "everysec",
    }


def test_nobody_gets_in_without_the_password(server: EmbeddedRedis) -> None:
    address = server.url.rpartition("@")[2]

    with (
        redis.Redis.from_url(f"redis://{address}") as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


@pytest.mark.parametrize("which", ["url", "fast_url"])
async def test_the_address_works_for_arq(server: EmbeddedRedis, which: str) -> None:
    pool = await create_pool(RedisSettings.from_dsn(getattr(server, which)))

    assert await pool.ping()
    await pool.aclose()
