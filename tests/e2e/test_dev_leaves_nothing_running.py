"""However ``dev`` ends, its processes end with it."""

import signal

import pytest

from app.main.guard import is_alive
from tests.support.dev_process import dev_process
from tests.support.wait_until import wait_until_sync


@pytest.mark.req("CLI-11")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_running_when_dev_ends(how: signal.Signals) -> None:
    with dev_process(workers=2) as dev:
        dev.start()
        pids = dev.all_pids()
        assert len(pids) == 6

        code = dev.stop(how)

        assert code == (-signal.SIGKILL if how == signal.SIGKILL else 0)
        wait_until_sync(
            lambda: not any(is_alive(pid) for pid in pids),
            description=f"all of {pids} have ended; dev said: {dev.log()}",
            timeout_s=20,
        )


def test_a_dev_that_follows_a_killed_one_waits_for_its_processes_and_then_runs() -> None:
    with dev_process() as dev:
        dev.start()
        before = dev.all_pids()

        dev.stop(signal.SIGKILL)
        dev.ready_file.unlink()
        dev.start()

        assert not any(is_alive(pid) for pid in before)
        assert dev.is_serving()


def test_nothing_is_left_running_when_the_start_fails() -> None:
    with dev_process(env={"REDIS_NAMESPACE": "not a name"}) as dev:
        process = dev.launch()

        assert process.wait(60) == 1
        assert "REDIS_NAMESPACE" in dev.log()
        assert not (dev.data_dir / "postgres").exists()
