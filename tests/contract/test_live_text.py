"""What every ``TokenSink`` owes to the ``Journal`` beside it: text that was seen is salvaged."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import pytest

from app.domain.ports import Journal, ShownText, TokenSink
from app.domain.run import Fence, Usage
from app.fanout.tokens import RedisTokenSink
from app.journal import RedisJournal
from app.keyspace import Keys, connect
from app.keyspace.live_text import read_shown
from app.testing.memory_journal import MemoryJournal, MemoryTokenSink
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("RUN-03", "SUB-07", "SUB-09")


@dataclass
class Live:
    """A journal and a sink that belong together."""

    journal: Journal
    sink: TokenSink

    async def arrived(self, thread_id: str, *texts: str) -> None:
        """Return when this is the text so far, by part."""


@dataclass
class LiveOnRedis(Live):
    """The same where text arrives a moment later."""

    redis_url: str
    keys: Keys

    async def arrived(self, thread_id: str, *texts: str) -> None:
        async with connect(self.redis_url) as redis:

            async def is_there() -> bool:
                shown = await read_shown(redis, self.keys.thread(thread_id))
                return [piece.text for piece in shown] == list(texts)

            await wait_until(is_there, description=f"the text so far is {texts}")


@pytest.fixture
async def live_on_redis(redis_url: str, redis_namespace: str) -> AsyncIterator[Live]:
    keys = Keys(redis_namespace)
    async with connect(redis_url) as redis:
        sink = RedisTokenSink(redis, keys, lambda: True)
        async with running(sink.run()):
            yield LiveOnRedis(RedisJournal(redis, keys), sink, redis_url, keys)


@pytest.fixture(params=["memory", "redis"])
def live(request: pytest.FixtureRequest) -> Live:
    if request.param == "redis":
        made: Live = request.getfixturevalue("live_on_redis")
        return made
    journal = MemoryJournal()
    return Live(journal, MemoryTokenSink(journal))


@pytest.fixture
def fence() -> Fence:
    return Fence(str(uuid.uuid4()), str(uuid.uuid4()), epoch=3)


def by_part(shown: Sequence[ShownText]) -> list[tuple[int, str, str]]:
    return [(piece.part, piece.kind, piece.text) for piece in shown]


async def test_who_ends_a_run_gets_the_text_that_was_seen(live: Live, fence: Fence) -> None:
    await live.journal.open(fence)
    stream = live.sink.open(fence, turn=2, attempt=300, version=1)
    cost = Usage(requests=1, input_tokens=20, output_tokens=4)
    stream.costs(lambda: cost)
    stream.add(0, "thinking", "Let me ")
    stream.add(0, "thinking", "see.")
    stream.add(1, "text", "Hello 😀")
    await live.arrived(fence.thread_id, "Let me see.", "Hello 😀")

    salvage = await live.journal.close(fence.thread_id, fence.epoch)
    await stream.close()

    assert list(salvage.shown) == [
        ShownText(fence.run_id, 2, 0, "thinking", "Let me see.", 300, 11, cost),
        ShownText(fence.run_id, 2, 1, "text", "Hello 😀", 300, 8, cost),
    ]


async def test_a_new_turn_replaces_the_text_of_the_last(live: Live, fence: Fence) -> None:
    await live.journal.open(fence)
    older = live.sink.open(fence, turn=0, attempt=300, version=1)
    older.add(0, "thinking", "old")
    older.add(1, "text", "old")
    await live.arrived(fence.thread_id, "old", "old")
    await older.close()

    newer = live.sink.open(fence, turn=1, attempt=300, version=2)
    newer.add(0, "text", "new")
    await live.arrived(fence.thread_id, "new")

    salvage = await live.journal.close(fence.thread_id, fence.epoch)
    await newer.close()
    assert by_part(salvage.shown) == [(0, "text", "new")]


async def test_text_under_a_lost_fence_is_not_seen(live: Live, fence: Fence) -> None:
    await live.journal.open(fence)
    frozen = live.sink.open(fence, turn=0, attempt=300, version=1)
    await live.journal.open(replace(fence, epoch=4))
    mine = live.sink.open(replace(fence, epoch=4), turn=0, attempt=400, version=2)

    frozen.add(0, "text", "late")
    mine.add(0, "text", "mine")
    await live.arrived(fence.thread_id, "mine")

    salvage = await live.journal.close(fence.thread_id, 4)
    await frozen.close()
    await mine.close()
    assert by_part(salvage.shown) == [(0, "text", "mine")]


async def test_a_dropped_journal_has_forgotten_the_text(live: Live, fence: Fence) -> None:
    await live.journal.open(fence)
    stream = live.sink.open(fence, turn=0, attempt=300, version=1)
    stream.add(0, "text", "gone")
    await live.arrived(fence.thread_id, "gone")
    await stream.close()

    await live.journal.drop(fence.thread_id, fence.epoch)

    salvage = await live.journal.close(fence.thread_id, fence.epoch)
    assert list(salvage.shown) == []


async def test_text_that_was_taken_in_with_an_end_is_not_taken_in_again(
    live: Live, fence: Fence
) -> None:
    await live.journal.open(fence)
    stream = live.sink.open(fence, turn=0, attempt=300, version=1)
    stream.add(0, "text", "It is on")
    await live.arrived(fence.thread_id, "It is on")
    first = await live.journal.close(fence.thread_id, fence.epoch)
    await stream.close()

    later = replace(fence, epoch=fence.epoch + 2)
    await live.journal.open(later)

    assert by_part(first.shown) == [(0, "text", "It is on")]
    assert list((await live.journal.close(fence.thread_id, later.epoch)).shown) == []
