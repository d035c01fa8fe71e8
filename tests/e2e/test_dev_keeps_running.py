"""``dev`` starts again what dies, and starts anew what was changed."""

import signal
import subprocess

import httpx2
import psycopg
import pytest
import redis

from tests.support.dev_process import DevProcess, dev_process
from tests.support.stored import Stored
from tests.support.wait_until import wait_until_sync


@pytest.mark.req("CLI-11")
def test_a_part_that_is_killed_is_started_again_under_the_same_address() -> None:
    with dev_process() as dev:
        dev.start()
        before = dev.ready()

        for part in ("worker", "gateway", "redis", "postgres"):
            killed = dev.kill(part)
            dev.wait_for_another(part, killed)

        after = dev.ready()
        assert {key: before[key] for key in ("url", "databaseUrl", "redisUrl")} == {
            key: after[key] for key in ("url", "databaseUrl", "redisUrl")
        }


def test_data_and_secret_are_there_the_next_time() -> None:
    with dev_process() as dev:
        dev.start()
        with psycopg.connect(dev.ready()["databaseUrl"], autocommit=True) as database:
            database.execute("CREATE TABLE kept AS SELECT 7 AS n")
        with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
            client.set("kept", "7")
        secret = (dev.data_dir / "jwt-secret").read_text()

        dev.stop()
        dev.start()

        with psycopg.connect(dev.ready()["databaseUrl"]) as database:
            assert database.execute("SELECT n FROM kept").fetchone() == (7,)
        with redis.Redis.from_url(dev.ready()["redisUrl"]) as client:
            assert client.get("kept") == b"7"
        assert (dev.data_dir / "jwt-secret").read_text() == secret


def _started(dev: DevProcess) -> None:
    """Start it, workers included: one that still loads the folder trips over a fault itself."""
    dev.start()
    Stored(dev).wait_for_workers(1)


def _pids(dev: DevProcess) -> tuple[list[int], list[int]]:
    return dev.pids("gateway"), dev.pids("worker")


def test_a_change_of_an_agent_starts_gateway_and_workers_anew() -> None:
    with dev_process() as dev:
        dev.start()
        gateway, worker = _pids(dev)

        (dev.agents / "added.py").write_text("ADDED = True\n")

        dev.wait_for_another("gateway", gateway[0])
        dev.wait_for_another("worker", worker[0])
        assert "reloaded" in dev.log()


def test_who_comes_while_the_gateway_is_replaced_waits_for_the_next_one() -> None:
    with dev_process() as dev:
        dev.start()
        url, gateway = dev.url, dev.pids("gateway")[0]

        (dev.agents / "added.py").write_text("ADDED = True\n")
        wait_until_sync(lambda: "reloaded" in dev.log(), description="dev reloads", timeout_s=30)
        while_it_reloads = httpx2.get(f"{url}/healthz", timeout=30)
        dev.wait_for_another("gateway", gateway)
        dev.kill("gateway")
        after_its_death = httpx2.get(f"{url}/healthz", timeout=30)

        assert (while_it_reloads.status_code, after_its_death.status_code) == (200, 200)


def test_a_change_that_cannot_be_loaded_leaves_the_running_ones_alone() -> None:
    with dev_process() as dev:
        _started(dev)
        before = _pids(dev)

        (dev.agents / "broken.py").write_text("def (\n")

        wait_until_sync(
            lambda: "not reloaded" in dev.log(), description="dev says so", timeout_s=30
        )
        assert "broken.py" in dev.log()
        assert _pids(dev) == before
        assert dev.is_serving()


def test_stores_named_in_the_environment_replace_the_embedded_ones(
    empty_database_url: str, redis_url: str
) -> None:
    env = {"DATABASE_URL": empty_database_url, "REDIS_URL": redis_url, "REDIS_NAMESPACE": "dev-env"}
    with dev_process(env=env) as dev:
        dev.start()

        ready = dev.ready()

        assert (ready["databaseUrl"], ready["redisUrl"]) == (empty_database_url, redis_url)
        assert (ready["pids"]["postgres"], ready["pids"]["redis"]) == (None, None)
        assert not (dev.data_dir / "postgres").exists()


def test_a_second_interrupt_does_not_wait() -> None:
    with dev_process(env={"DRAIN_S": "600"}) as dev:
        process = dev.start().process
        assert process is not None
        worker = dev.pids("worker")[0]
        subprocess.run(["/bin/kill", "-STOP", str(worker)], check=True)  # it cannot obey SIGTERM

        process.send_signal(signal.SIGINT)
        wait_until_sync(lambda: not dev.ready_file.exists(), description="dev is stopping")
        process.send_signal(signal.SIGINT)

        assert process.wait(20) == 0


def test_a_part_that_dies_while_a_file_is_wrong_comes_back_when_it_is_mended() -> None:
    with dev_process() as dev:
        _started(dev)
        broken = dev.agents / "broken.py"
        broken.write_text("def (\n")
        wait_until_sync(
            lambda: "not reloaded" in dev.log(), description="dev says so", timeout_s=30
        )

        killed = dev.kill("worker")
        wait_until_sync(
            lambda: "the worker waits for a change" in dev.log(),
            description=f"the worker cannot start; dev said: {dev.log()}",
            timeout_s=30,
        )
        broken.write_text("MENDED = True\n")

        dev.wait_for_another("worker", killed)
