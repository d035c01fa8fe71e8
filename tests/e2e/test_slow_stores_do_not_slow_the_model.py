"""Five hundred words a second, with a round trip of twenty milliseconds to both stores."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from app.main.embedded import EmbeddedPostgres, EmbeddedRedis
from tests.support.chaos.lines import lines_of
from tests.support.dev_process import DevProcess, dev_process
from tests.support.late import LATE_S
from tests.support.sessions import Session
from tests.support.stored import Stored
from tests.support.wait_until import wait_until
from tests.support.ws_client import ws_client

AGENTS = Path(__file__).parent / "agents"
ONE_WAY_S = 0.01
WORDS = 2500
A_SECOND = 500
MAY_TAKE_LONGER_BY = 1.2


@asynccontextmanager
async def far_away(folder: Path, **addresses: str) -> AsyncIterator[dict[str, str]]:
    """Yield addresses of servers that are ``ONE_WAY_S`` away."""
    async with lines_of("tests.support.chaos.proxy", folder / "proxy.log") as network:
        far: dict[str, str] = {}
        for name, address in addresses.items():
            parts = urlsplit(address)
            opened = await network.ask(do="open", route=name, target=parts.port)
            user, _, _ = parts.netloc.rpartition("@")
            netloc = f"{user}@127.0.0.1:{opened['port']}"
            far[name] = urlunsplit(parts._replace(netloc=netloc))
        await network.ask(do="delay", routes=[*addresses], seconds=ONE_WAY_S)
        yield far


@pytest.fixture
async def dev(
    tmp_path: Path,
    postgres: EmbeddedPostgres,
    redis_server: EmbeddedRedis,
    database_url: str,
    redis_namespace: str,
) -> AsyncIterator[DevProcess]:
    database = urlsplit(postgres.url)._replace(path=urlsplit(database_url).path, query="")
    near = {"database": urlunsplit(database), "redis": redis_server.url}
    async with far_away(tmp_path, **near) as far:
        env = {
            "COUNTER_FILE": str(tmp_path / "counted"),
            "DATABASE_URL": far["database"],
            "REDIS_URL": far["redis"],
            "REDIS_NAMESPACE": redis_namespace,
        }
        with dev_process(agents=AGENTS, env=env) as process:
            yield process.start()


@pytest.mark.req("SUB-07", "SUB-08")
async def test_b53_a_fast_model_is_not_slowed_by_stores_that_are_far_away(
    dev: DevProcess,
) -> None:
    session, stored = Session(dev, "streaming"), Stored(dev)
    first = Session(dev, "streaming")  # connections are made with it
    first.send(f"5 {A_SECOND}")
    first.until_ended()
    async with ws_client(f"{dev.url.replace('http', 'ws')}/ws") as client:
        seen = await client.watch(session.key)
        run = session.send(f"{WORDS} {A_SECOND}")
        await wait_until(
            lambda: len(seen.rows) == 2, description="the answer is there", timeout_s=20
        )
        await wait_until(
            lambda: stored.run(run)["finished_at"], description="the run is over", interval_s=0.1
        )

    said = "".join(f"word{number} " for number in range(WORDS))
    tokens = [frame for frame in seen.frames if frame["type"] == "token"]
    row = stored.run(run)
    took = (row["finished_at"] - row["created_at"]).total_seconds()
    assert seen.texts[-1] == said
    assert WORDS / 100 < len(tokens) < WORDS / 10, "words come soon, and many at once"
    assert took < MAY_TAKE_LONGER_BY * WORDS / A_SECOND + LATE_S
