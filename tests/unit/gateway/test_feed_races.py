"""What happens while a feed reads: each race that was thought of, by name.

A reader with ``pauses`` looks at the rows after some turns of the loop, and answers after
some more; ``looked`` waits until it has looked and not answered.
"""

from collections.abc import AsyncIterator

import pytest

from app.domain.identity import Identity
from app.gateway.queries import MessagesQuery, ThreadQuery
from tests.support.feed_world import FeedWorld, feed_world

ANN = Identity("ann")
BOB = Identity("bob")


@pytest.fixture
async def world() -> AsyncIterator[FeedWorld]:
    async with feed_world() as made:
        yield made


async def looked(world: FeedWorld, read: str) -> None:
    """Wait until a read of this kind has seen the rows but has not returned."""
    before = world.reader.reads.get(read, 0)
    while world.reader.reads.get(read, 0) == before:
        await world.threads.database.turn()
    for _ in range(2):
        await world.threads.database.turn()


async def test_a_change_after_the_first_look_is_not_missed(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.reader.pauses = (0, 6)
    watcher = world.watch("t")
    await looked(world, "snapshot")

    world.threads.say("t", "two")
    await world.settle()

    assert watcher.view.texts == ["one", "two"]


async def test_a_change_of_a_thread_heard_of_before_is_not_missed_either(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.watch("sought")
    await world.settle()
    world.threads.touch("t", title="heard of")
    await world.settle()
    world.reader.pauses = (0, 6)
    watcher = world.watch("t")
    await looked(world, "snapshot")

    world.threads.say("t", "two")
    await world.settle()

    assert watcher.view.texts == ["one", "two"]


async def test_a_change_during_the_read_of_changes_is_read_as_well(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    await world.settle()
    world.reader.pauses = (0, 6)
    world.threads.say("t", "two")
    await looked(world, "delta")

    world.threads.say("t", "three", turn=1)
    await world.settle()

    assert watcher.view.texts == ["one", "two", "three"]


async def test_a_newcomers_snapshot_tells_the_feed_of_a_lost_hint(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    await world.settle()
    world.threads.hints_are_lost = True
    world.threads.say("t", "two")

    newcomer = world.watch("t", id_="other")
    await world.settle()

    assert watcher.view.texts == newcomer.view.texts == ["one", "two"]
    assert all(f["from"] != f["cursor"] for f in newcomer.wire.of_type("delta"))


async def test_who_asks_for_more_during_a_read_gets_all_of_it(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    for turn in range(120):
        world.threads.say("t", f"answer {turn}", turn=turn)
    world.reader.pauses = (0, 6)
    world.watch(MessagesQuery("t", 10, stream=True))
    await looked(world, "snapshot")

    greedy = world.watch(MessagesQuery("t", 100, stream=True))
    await world.settle()

    assert len(greedy.view.texts) == 100


async def test_a_page_of_a_lost_history_answers_nobody(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.say("t", "lost in the failover")
    world.reader.pauses = (0, 6)
    watcher = world.watch("t")
    thread = world.watch(ThreadQuery("t"), id_="thread")
    await looked(world, "snapshot")

    world.threads.go_back("t", 1)
    world.feeds.on_timeline("memory-2")
    await world.settle()

    assert watcher.view.texts == ["one"]
    assert {frame["cursor"] for frame in watcher.wire.sent} == {"memory-2.1"}
    assert {frame["cursor"] for frame in thread.wire.sent} == {"memory-2.1"}


async def test_a_thread_created_while_it_is_looked_for_is_found(world: FeedWorld) -> None:
    world.reader.pauses = (0, 6)
    watcher = world.watch("t")
    while not world.reader.reads:
        await world.threads.database.turn()
    await world.threads.database.turn()

    world.threads.start("t", "just now")
    await world.settle()

    assert watcher.view.texts == ["just now"]


async def test_who_loses_the_right_while_the_read_is_on_its_way_gets_nothing(
    world: FeedWorld,
) -> None:
    world.threads.start("t", "secret", owner="ann")
    world.reader.pauses = (3, 3)
    watcher = world.watch("t", identity=ANN)
    await world.threads.database.turn()

    watcher.become(BOB)
    await world.settle()

    assert [frame["value"] for frame in watcher.wire.sent] == [[]]


async def test_a_read_from_before_another_history_is_not_sent(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    await world.settle()
    world.reader.pauses = (0, 4)
    world.threads.say("t", "lost in the failover")
    while world.reader.reads.get("delta", 0) == 0:
        await world.threads.database.turn()
    await world.threads.database.turn()

    world.threads.go_back("t", 1)
    world.feeds.on_timeline("memory-2")
    await world.settle()

    assert [frame["cursor"] for frame in watcher.wire.sent] == ["memory-1.1", "memory-2.1"]


async def test_leaving_while_the_first_read_is_under_way_leaves_nothing_behind(
    world: FeedWorld,
) -> None:
    world.threads.start("t", "one")
    world.reader.pauses = (2, 2)
    watcher = world.watch("t")
    await world.threads.database.turn()

    watcher.leave()
    again = world.watch("t")
    await world.settle()
    world.threads.say("t", "two")
    await world.settle()

    assert watcher.wire.sent == []
    assert again.view.texts == ["one", "two"]
