"""A slow reader: what gives way in which order, and that nobody else notices."""

from collections.abc import AsyncIterator

import pytest

from app.gateway.outbox import MAX_REPLIES, MAX_REPLY_BYTES
from app.gateway.queries import MessagesQuery, ThreadQuery
from app.gateway.replies import result
from app.protocol.errors import CLOSE_SLOW
from tests.support.fake_wire import FakeViewer
from tests.support.feed_world import FeedWorld, feed_world

pytestmark = pytest.mark.req("IMP-04")


@pytest.fixture
async def world() -> AsyncIterator[FeedWorld]:
    async with feed_world() as made:
        yield made


async def test_tokens_give_way_first_and_facts_still_come(world: FeedWorld) -> None:
    run = world.threads.start("t", "one")
    slow = world.watch("t")
    await world.settle()
    slow.wire.is_stuck = True

    world.tokens.say(world.threads.thread("t").id, run, "unheard")
    world.threads.touch("t")
    world.threads.say("t", "two")
    await world.settle()

    assert [frame["type"] for frame in slow.wire.sent] == ["snapshot", "delta"]


async def test_a_reader_far_behind_gets_one_snapshot_instead_of_all_it_missed(
    world: FeedWorld,
) -> None:
    world.threads.start("t", "one")
    slow, quick = world.watch("t"), world.watch("t")
    await world.settle()
    slow.wire.is_stuck, slow.wire.room = True, 0

    for turn in range(10):
        world.threads.say("t", f"answer {turn}", turn=turn)
        await world.settle()
    slow.drain()
    await world.settle()
    world.threads.say("t", "after", turn=10)
    await world.settle()

    assert [frame["type"] for frame in slow.wire.sent] == ["snapshot", "snapshot", "delta"]
    assert [frame["type"] for frame in quick.wire.sent] == ["snapshot"] + ["delta"] * 11
    assert slow.view.texts == quick.view.texts


async def test_a_reader_who_sticks_again_while_it_catches_up_is_not_forgotten(
    world: FeedWorld,
) -> None:
    viewer = FakeViewer(world)
    for number in range(30):
        world.threads.start(f"t{number}", "one")
    watchers = [world.watch(f"t{number}", id_=f"s{number}", viewer=viewer) for number in range(30)]
    viewer.wire.is_stuck, viewer.wire.room = True, 0
    await world.settle()
    assert viewer.wire.sent == []

    while any(not watcher.view.rows for watcher in watchers):
        before = len(viewer.wire.sent)
        viewer.wire.is_stuck, viewer.wire.room = True, 1  # one frame, and stuck again
        viewer.outbox.drained()
        await world.settle()
        assert len(viewer.wire.sent) == before + 1

    assert all(watcher.view.texts == ["one"] for watcher in watchers)


async def test_a_subscription_that_ended_meanwhile_is_owed_nothing(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    slow = world.watch("t")
    slow.wire.is_stuck, slow.wire.room = True, 0
    await world.settle()

    slow.leave()
    slow.drain()
    await world.settle()

    assert slow.wire.sent == []
    assert world.behind == set()


async def test_answers_are_kept_and_come_first_in_their_order(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    slow = world.watch(ThreadQuery("t"))
    slow.wire.is_stuck, slow.wire.room = True, 0
    await world.settle()

    for number in range(5):
        slow.viewer.outbox.reply(result(f"c{number}", number))
    slow.drain()
    await world.settle()

    assert [frame["id"] for frame in slow.wire.sent] == ["c0", "c1", "c2", "c3", "c4", "s"]


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([result("c", 1)] * (MAX_REPLIES + 1), id="too-many"),
        pytest.param([result("c", "x" * MAX_REPLY_BYTES)], id="too-large"),
    ],
)
async def test_answers_that_nobody_reads_close_the_socket(
    world: FeedWorld, frames: list[bytes]
) -> None:
    viewer = FakeViewer(world)
    viewer.wire.is_stuck, viewer.wire.room = True, 0

    for frame in frames:
        viewer.outbox.reply(frame)

    assert viewer.wire.closed_with == (CLOSE_SLOW, "the reader is too slow")
    assert world.behind == set()


async def test_a_closed_socket_is_owed_nothing(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    gone, other = world.watch("t"), world.watch(MessagesQuery("t", 50, stream=True))
    await world.settle()
    gone.wire.abort()

    world.threads.say("t", "two")
    gone.viewer.outbox.reply(result("c", 1))
    await world.settle()

    assert other.view.texts == ["one", "two"]
    assert world.behind == set()
