"""A dead, deaf or cut LISTEN connection is replaced; a proxy that makes it deaf is refused.

Field cases B56 and B57.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import pytest

from app.domain.tables import TableWrites
from app.fanout import listener as listening
from app.fanout.announcer import Announcer
from app.fanout.listener import Listener, NotificationsUnheard
from app.fanout.postgres import connect
from app.main.embedded import EmbeddedPostgres
from app.store.database import Database
from app.store.threads import PostgresThreadReader
from tests.integration.fanout.postgres_proxy import PostgresProxy
from tests.integration.fanout.test_a_change_is_announced_after_its_commit import kill_backends
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("IMP-02", "SUB-03")


@dataclass
class Gateway:
    """What a listener told its owner, in order."""

    url: str
    told: list[str] = field(default_factory=list)
    hints: list[tuple[str, int]] = field(default_factory=list)
    writes: list[tuple[str, TableWrites]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = Listener(
            self.url,
            on_hint=lambda thread, version: self.hints.append((thread, version)),
            on_writes=lambda origin, writes: self.writes.append((origin, writes)),
            on_resumed=lambda: self.told.append("resumed"),
            on_timeline=self.told.append,
        )

    async def is_listening(self) -> None:
        """Return as soon as it does."""
        await wait_until(lambda: self.listener.is_listening, description="it listens")


@pytest.fixture
async def proxy(
    postgres: EmbeddedPostgres, empty_database_url: str
) -> AsyncIterator[PostgresProxy]:
    database = urlsplit(empty_database_url).path
    tcp = urlunsplit(urlsplit(postgres.url)._replace(path=database, query=""))
    async with PostgresProxy(tcp).serving() as made:
        yield made


@pytest.fixture
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "TICK_S", 0.1)


async def test_hints_are_heard_and_the_timeline_is_the_one_that_readers_read(
    database_url: str,
) -> None:
    gateway, announce = Gateway(database_url), Announcer(database_url)
    async with running(gateway.listener.run(), announce.run()):
        await gateway.is_listening()
        announce("a", 5)
        await wait_until(lambda: gateway.hints == [("a", 5)], description="the hint is heard")

    async with Database(database_url) as database:
        assert gateway.told == [await PostgresThreadReader(database).timeline()]
    assert not gateway.listener.is_listening


async def test_b56_a_killed_backend_is_noticed_at_once_and_replaced(
    empty_database_url: str,
) -> None:
    gateway, announce = Gateway(empty_database_url), Announcer(empty_database_url)
    async with running(gateway.listener.run(), announce.run()):
        await gateway.is_listening()
        await kill_backends(empty_database_url, "listener")

        await wait_until(
            lambda: not gateway.listener.is_listening,
            description="it is noticed",
            timeout_s=0.5 + LATE_S,
        )
        await wait_until(
            lambda: gateway.told[1:] == [gateway.told[0], "resumed"],
            description="timeline first, then the owner is told",
            timeout_s=1 + LATE_S,
        )
        announce("a", 6)
        await wait_until(lambda: gateway.hints == [("a", 6)], description="it hears again")


@pytest.mark.usefixtures("quick_ticks")
async def test_b56_a_connection_that_lives_but_is_deaf_is_replaced(proxy: PostgresProxy) -> None:
    gateway = Gateway(proxy.url)
    async with running(gateway.listener.run()):
        await gateway.is_listening()
        before = proxy.connections
        proxy.is_deaf = True
        await wait_until(lambda: proxy.connections > before, description="it is replaced")
        proxy.is_deaf = False

        await wait_until(lambda: "resumed" in gateway.told, description="the owner is told")
        await gateway.is_listening()


async def test_b56_a_cut_cable_is_noticed_within_ten_seconds(proxy: PostgresProxy) -> None:
    gateway = Gateway(proxy.url)
    async with running(gateway.listener.run()):
        await gateway.is_listening()
        proxy.is_cut = True

        await wait_until(
            lambda: not gateway.listener.is_listening, description="it is noticed", timeout_s=10
        )
        proxy.is_cut = False
        await wait_until(lambda: "resumed" in gateway.told, description="the owner is told")


async def test_b56_a_restart_of_postgres_is_survived(
    postgres: EmbeddedPostgres, empty_database_url: str
) -> None:
    gateway = Gateway(empty_database_url)
    async with running(gateway.listener.run()):
        await gateway.is_listening()
        postgres.stop()
        await wait_until(lambda: not gateway.listener.is_listening, description="it is noticed")
        postgres.start()

        await wait_until(lambda: "resumed" in gateway.told, description="the owner is told")


@pytest.mark.usefixtures("quick_ticks")
async def test_b57_a_proxy_that_pools_transactions_is_refused_with_the_reason(
    proxy: PostgresProxy,
) -> None:
    proxy.is_deaf = True
    gateway = Gateway(proxy.url)

    with pytest.raises(NotificationsUnheard, match="a proxy that pools transactions"):
        await gateway.listener.run()

    assert gateway.told == []


async def test_a_gateway_may_start_before_postgres(
    postgres: EmbeddedPostgres, empty_database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = Gateway(empty_database_url)
    postgres.stop()
    try:
        async with running(gateway.listener.run()):
            await wait_until(
                lambda: "Postgres is not heard" in caplog.text, description="it has tried"
            )
            assert not gateway.listener.is_listening
            await asyncio.to_thread(postgres.start)
            await gateway.is_listening()
    finally:
        if not postgres.is_running():
            postgres.start()

    assert "resumed" not in gateway.told


async def test_what_others_notify_on_the_channel_hurts_nobody(empty_database_url: str) -> None:
    gateway, announce = Gateway(empty_database_url), Announcer(empty_database_url)
    async with running(gateway.listener.run(), announce.run()):
        await gateway.is_listening()
        connection = await connect(empty_database_url, "stranger")
        for payload in ("", "no JSON", "[]", '{"t":7}', '{"unknown topic":{"x":1}}'):
            await connection.execute("SELECT pg_notify('ropewalk', $1)", payload)
        connection.terminate()
        announce("a", 5)

        await wait_until(lambda: gateway.hints == [("a", 5)], description="the hint is heard")
