"""The beat goes on whatever the loop does, and falls silent only with its process."""

import asyncio
import os
import signal
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import asyncpg
import pytest

from app.domain.run import Fence
from app.main.embedded import EmbeddedPostgres
from app.main.system import SystemClock
from app.store.beat import Beat
from tests.support.store_world import StoreWorld
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("DUR-07")


@dataclass
class Heard:
    """What the beat's answers said."""

    answers: list[tuple[float, list[Fence]]] = field(default_factory=list)

    def __call__(self, sent_at: float, runs: Sequence[Fence]) -> None:
        self.answers.append((sent_at, list(runs)))

    async def more(self, by: int = 1) -> None:
        """Return when so many more answers have come."""
        wanted = len(self.answers) + by
        await wait_until(
            lambda: len(self.answers) >= wanted, description="a beat is answered", timeout_s=15
        )


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def beat(database_url: str, heard: Heard) -> AsyncIterator[Beat]:
    made = Beat(
        database_url,
        "w",
        ["a", "b"],
        versions=["2", None],
        clock=SystemClock(),
        on_answer=heard,
    )
    made.start()
    yield made
    await made.stop()


async def test_a_beat_grows_and_says_which_runs_are_ours(
    world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    await world.start(agent="a")
    claimed = await world.claim("a", worker="w")
    before = (await world.store.beats())["w"]

    await heard.more(2)

    sent_at, runs = heard.answers[-1]
    assert runs == [claimed.fence]
    assert 0 <= SystemClock().boot_s() - sent_at < 2
    assert (await world.store.beats())["w"] > before
    assert heard.answers[0][1] == []


async def test_what_a_worker_serves_is_known(
    database_url: str, world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    connection = await asyncpg.connect(database_url)

    row = await connection.fetchrow("SELECT agents, versions FROM agent_workers WHERE id = 'w'")

    await connection.close()
    assert row is not None
    assert (row["agents"], row["versions"]) == (["a", "b"], ["2", None])


async def test_a_blocked_loop_does_not_silence_the_beat(
    world: StoreWorld, heard: Heard, beat: Beat, caplog: pytest.LogCaptureFixture
) -> None:
    await heard.more()
    before = (await world.store.beats())["w"]

    time.sleep(1.6)  # noqa: ASYNC251  # what a tool should not do

    assert (await world.store.beats())["w"] >= before + 2
    assert "is held up by task" in caplog.text
    assert "what a tool should not do" in caplog.text
    await heard.more()


async def test_who_leaves_says_so(world: StoreWorld, heard: Heard, beat: Beat) -> None:
    await heard.more()

    await beat.deregister()

    assert await world.store.beats() == {}


async def test_who_was_taken_for_dead_comes_back_by_beating(
    world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    before = (await world.store.beats())["w"]
    await world.store.take_over("w")
    await heard.more(2)

    assert (await world.store.beats())["w"] > before


async def test_a_beat_that_comes_too_late_is_not_told_of_runs_that_were_taken(
    database_url: str, world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    await world.start(agent="a")
    claimed = await world.claim("a", worker="w")
    await heard.more(2)
    taker = await asyncpg.connect(database_url)

    async with taker.transaction():  # as a takeover does, only slower
        await taker.execute("SELECT FROM agent_workers WHERE id = 'w' FOR NO KEY UPDATE")
        await wait_until(lambda: _somebody_waits(taker), description="a beat waits for it")
        answers = len(heard.answers)
        await taker.execute(
            "UPDATE agent_runs SET status = 'queued', worker = NULL WHERE id = $1", claimed.run.id
        )
    await heard.more()

    await taker.close()
    assert heard.answers[answers - 1][1] == [claimed.fence]
    assert heard.answers[answers][1] == []


async def test_a_takeover_that_waited_for_a_beat_takes_nothing(
    database_url: str, world: StoreWorld
) -> None:
    await world.register("w", ["a"])
    await world.start(agent="a")
    claimed = await world.claim("a", worker="w")
    beating = await asyncpg.connect(database_url)

    async with beating.transaction():
        await beating.execute("UPDATE agent_workers SET beat = beat + 1 WHERE id = 'w'")
        taking = asyncio.create_task(world.store.take_over("w", 1))
        await wait_until(lambda: _somebody_waits(beating), description="the takeover waits")

    assert await taking is None
    await beating.close()
    assert (await world.run(claimed.run.id)).worker == "w"


async def _somebody_waits(connection: "asyncpg.Connection[asyncpg.Record]") -> bool:
    return bool(
        await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
    )


async def test_the_beat_goes_on_after_a_restart_of_postgres(
    postgres: EmbeddedPostgres, world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    await asyncio.to_thread(postgres.stop)
    await asyncio.to_thread(postgres.start)

    await heard.more(2)

    assert "w" in await world.store.beats()


async def test_a_server_that_does_not_answer_is_given_up(
    database_url: str, world: StoreWorld, heard: Heard, beat: Beat
) -> None:
    await heard.more()
    connection = await asyncpg.connect(database_url)
    frozen: int = await connection.fetchval(
        "SELECT pid FROM pg_stat_activity"
        " WHERE application_name = 'ropewalk beat' AND datname = current_database()"
    )
    await connection.close()

    os.kill(frozen, signal.SIGSTOP)
    try:
        await heard.more(2)
    finally:
        os.kill(frozen, signal.SIGCONT)


STUCK = """
    import asyncio, logging, re, sys, time
    from app.main.system import SystemClock
    from app.store.beat import Beat

    async def main() -> None:
        heard = asyncio.Event()
        beat = Beat(
            sys.argv[1], "stuck", ["a"], clock=SystemClock(),
            on_answer=lambda sent_at, runs: heard.set(),
            stuck_after_s=1.5, dump_to=sys.stderr,
        )
        beat.start()
        await heard.wait()
        print("heard", flush=True)
        while True:
            time.sleep(0.01)

    logging.basicConfig()
    asyncio.run(main(), debug=False)
"""


async def test_a_loop_that_never_moves_again_ends_its_process(database_url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", textwrap.dedent(STUCK), database_url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(20):
        out, err = await process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert b"heard" in out
    assert b"held up by task" in err
    assert b"has not moved" in err
    assert b"Thread" in err
