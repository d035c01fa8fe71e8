"""The announcer gathers, says only ids and versions, and never holds a writer up.

Field cases B58 and B59.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.domain.tables import TableWrite, TableWrites, both_writes
from app.fanout import announcer as announcing
from app.fanout.announcer import Announcer
from app.fanout.hints import CHANNEL, MAX_BYTES, parse
from app.main.embedded import EmbeddedPostgres
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("SUB-01", "IMP-02", "IMP-03")


class Ear:
    """A plain connection that listens."""

    def __init__(self) -> None:
        self.payloads: list[str] = []

    def hear(self, *notification: object) -> None:
        self.payloads.append(str(notification[-1]))

    @property
    def heard(self) -> dict[str, int]:
        """The last version that was heard of each thread."""
        return {
            key: version for said in self.payloads for key, version in parse(said).threads.items()
        }


@pytest.fixture
async def ear(empty_database_url: str) -> AsyncIterator[Ear]:
    made = Ear()
    connection = await asyncpg.connect(empty_database_url)
    await connection.add_listener(CHANNEL, made.hear)
    yield made
    connection.terminate()


async def kill_backends(url: str, purpose: str) -> None:
    """Terminate the server's side of every connection of ours with this purpose."""
    admin = await asyncpg.connect(url)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = $1 AND datname = current_database()",
        f"ropewalk {purpose}",
    )
    await admin.close()


async def test_only_the_newest_version_of_a_thread_is_said(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    async with running(announce.run()):
        for version in (1, 3, 2):
            announce("a", version)
        announce("b", 7)

        await wait_until(lambda: ear.payloads, description="something is heard")

    assert ear.payloads == ['{"t":{"a":3,"b":7}}']


async def test_b58_ten_thousand_announcements_are_few_notifications_below_the_limit(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    threads = [str(uuid.uuid4()) for _ in range(10_000)]
    async with running(announce.run()):
        for thread in threads:
            announce(thread, 12)

        await wait_until(lambda: len(ear.heard) == 10_000, description="all are heard")

    assert set(ear.heard) == set(threads)
    assert len(ear.payloads) < 100
    assert max(len(payload.encode()) for payload in ear.payloads) <= MAX_BYTES


async def test_b59_a_busy_process_notifies_far_less_often_than_it_commits(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    async with running(announce.run()):
        for version in range(1, 2001):
            announce(f"thread-{version % 50}", version)
            if version % 10 == 0:
                await asyncio.sleep(0)
        await wait_until(lambda: 2000 in ear.heard.values(), description="the last is heard")

    assert len(ear.payloads) < 200


async def test_a_single_change_is_heard_within_milliseconds(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    loop = asyncio.get_running_loop()
    took: list[float] = []
    async with running(announce.run()):
        announce("warm", 1)
        await wait_until(lambda: ear.payloads, description="it is connected")
        for version in range(20):
            began = loop.time()
            announce("a", version)
            await wait_until(
                lambda: len(ear.payloads) == len(took) + 2,
                description="it is heard",
                interval_s=0.0005,
            )
            took.append(loop.time() - began)

    assert min(took) < 0.1  # on any machine; it is a few milliseconds


async def test_what_was_not_said_when_the_connection_died_is_said_by_the_next(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    async with running(announce.run()):
        announce("a", 1)
        await wait_until(lambda: ear.heard == {"a": 1}, description="it is connected")

        await kill_backends(empty_database_url, "announcer")
        announce("a", 2)
        announce("b", 1)

        await wait_until(lambda: ear.heard == {"a": 2, "b": 1}, description="both are heard")


async def test_what_was_committed_just_before_the_end_is_said(
    empty_database_url: str, ear: Ear
) -> None:
    announce = Announcer(empty_database_url)
    async with running(announce.run()):
        announce("a", 1)
        await wait_until(lambda: ear.heard == {"a": 1}, description="it is connected")
        announce("a", 2)

    await wait_until(lambda: ear.heard == {"a": 2}, description="the last word is heard")


async def test_without_postgres_announcing_neither_waits_nor_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announcing, "MAX_PENDING", 100)
    announce = Announcer("postgresql://nobody@127.0.0.1:1/nowhere")
    async with running(announce.run()):
        for number in range(250):
            announce(f"thread-{number}", 1)
            announce("thread-0", number)
        await asyncio.sleep(0.01)

    assert announce.dropped == 150


async def test_a_restart_of_postgres_is_survived(
    postgres: EmbeddedPostgres, empty_database_url: str
) -> None:
    announce, ear = Announcer(empty_database_url), Ear()
    async with running(announce.run()):
        postgres.stop()
        postgres.start()
        listening = await asyncpg.connect(empty_database_url)
        await listening.add_listener(CHANNEL, ear.hear)

        announce("a", 9)

        await wait_until(lambda: ear.heard == {"a": 9}, description="it is heard")
        listening.terminate()


async def test_what_was_written_is_said_once_for_all_and_told_at_home_at_once(
    empty_database_url: str, ear: Ear
) -> None:
    announcer = Announcer(empty_database_url)
    at_home: list[TableWrites] = []
    announcer.on_written = at_home.append
    first = {"orders": TableWrite(1, frozenset({"a"})), "users": TableWrite(2, None)}
    then = {"orders": TableWrite(1, frozenset({"b"}))}
    announcer.written(first)
    announcer.written(then)

    assert at_home == [first, then]
    async with running(announcer.run()):
        await wait_until(lambda: len(ear.payloads) == 1, description="it is said")
    assert parse(ear.payloads[0]).writes == {announcer.origin: both_writes(first, then)}
