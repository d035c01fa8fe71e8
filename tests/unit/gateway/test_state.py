"""The synced state of a thread: a value that is pushed when it is another one, and only then."""

from collections.abc import AsyncIterator

import pytest

from app.domain.identity import ANONYMOUS, Identity
from app.gateway.queries import StateQuery
from tests.support.feed_world import FeedWorld, Watcher, feed_world

ANN, BEN, ROOT = Identity("ann"), Identity("ben"), Identity("root", frozenset({"admin"}))


@pytest.fixture
async def world() -> AsyncIterator[FeedWorld]:
    async with feed_world() as made:
        yield made


def watch_state(world: FeedWorld, key: str, identity: Identity = ANONYMOUS) -> Watcher:
    return world.watch(StateQuery(key), id_="state", identity=identity)


@pytest.mark.req("STA-08")
async def test_each_new_state_is_pushed(world: FeedWorld) -> None:
    world.threads.start("t")
    watcher = watch_state(world, "t")
    await world.settle()
    before = watcher.view.value

    seen = []
    for state in ('{"count":1}', '{"count":2}', "[]"):
        world.threads.set_state("t", state)
        await world.settle()
        seen.append(watcher.view.value)

    assert before is None
    assert seen == [{"count": 1}, {"count": 2}, []]


@pytest.mark.req("STA-08")
async def test_writes_that_leave_the_state_as_it_is_push_nothing(world: FeedWorld) -> None:
    world.threads.start("t")
    world.threads.set_state("t", '{"count":1}')
    watchers = [watch_state(world, "t") for _ in range(3)]
    await world.settle()

    world.threads.say("t", "an answer")
    await world.settle()
    world.threads.touch("t", title="Another title")
    await world.settle()
    world.threads.set_state("t", '{"count":1}')
    await world.settle()
    world.threads.finish("t")
    await world.settle()

    assert [len(each.wire.sent) for each in watchers] == [1, 1, 1]


@pytest.mark.req("STA-08")
async def test_a_state_that_came_back_to_what_it_was_is_pushed_again(world: FeedWorld) -> None:
    world.threads.start("t")
    world.threads.set_state("t", "1")
    watcher = watch_state(world, "t")
    await world.settle()

    for state in ("2", "1"):
        world.threads.set_state("t", state)
        await world.settle()

    assert [frame["value"] for frame in watcher.wire.sent] == [1, 2, 1]


@pytest.mark.req("STA-04", "ACC-01")
@pytest.mark.parametrize(
    ("identity", "sees"),
    [
        pytest.param(ANN, {"count": 1}, id="owner"),
        pytest.param(ROOT, {"count": 1}, id="admin"),
        pytest.param(BEN, None, id="stranger"),
        pytest.param(ANONYMOUS, None, id="nobody"),
    ],
)
async def test_the_state_answers_to_whom_the_messages_do(
    world: FeedWorld, identity: Identity, sees: object
) -> None:
    world.threads.start("t", owner="ann")
    world.threads.set_state("t", '{"count":1}')

    watcher = watch_state(world, "t", identity)
    await world.settle()

    assert watcher.view.value == sees


@pytest.mark.req("STA-04")
async def test_a_strangers_answer_is_that_of_a_missing_thread(world: FeedWorld) -> None:
    world.threads.start("t", owner="ann")
    world.threads.set_state("t", '{"count":1}')

    stranger, lost = watch_state(world, "t", BEN), watch_state(world, "missing", BEN)
    await world.settle()
    reads = dict(world.reader.reads)
    world.threads.set_state("t", '{"count":2}')
    await world.settle()

    assert stranger.wire.sent == lost.wire.sent
    assert len(stranger.wire.sent) == 1
    assert reads == {"snapshot": 2}


@pytest.mark.req("STA-04")
async def test_who_signs_in_as_the_owner_gets_the_state(world: FeedWorld) -> None:
    world.threads.start("t", owner="ann")
    world.threads.set_state("t", '{"count":1}')
    watcher = watch_state(world, "t")
    await world.settle()

    watcher.become(ANN)
    await world.settle()
    owners = watcher.view.value
    watcher.become(BEN)
    await world.settle()

    assert owners == {"count": 1}
    assert watcher.view.value is None


@pytest.mark.req("STA-04")
@pytest.mark.parametrize("pauses", [(0, 3), (3, 0), (2, 2)])
async def test_who_becomes_the_owner_during_a_read_is_not_told_that_there_is_none(
    world: FeedWorld, pauses: tuple[int, int]
) -> None:
    world.threads.start("t", owner="ann")
    world.threads.set_state("t", '{"count":1}')
    world.reader.pauses = pauses
    watcher = watch_state(world, "t")
    for _ in range(3):
        await world.threads.database.turn()

    watcher.become(ANN)
    await world.settle()

    assert watcher.view.value == {"count": 1}


async def test_a_thread_without_watchers_of_its_state_costs_no_read_of_it(
    world: FeedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def state(thread_id: str) -> str | None:
        raise AssertionError(f"nobody asked for the state of {thread_id}")

    monkeypatch.setattr(world.reader, "state", state)
    world.threads.start("t")
    watcher = world.watch("t")
    await world.settle()

    world.threads.set_state("t", "1")
    world.threads.say("t", "an answer")
    await world.settle()

    assert watcher.view.texts == ["hello", "an answer"]


@pytest.mark.req("STA-08")
async def test_a_state_is_watched_before_its_thread_exists(world: FeedWorld) -> None:
    watcher = watch_state(world, "t")
    await world.settle()
    before = watcher.view.value

    world.threads.start("t")
    world.threads.set_state("t", '{"seed":true}')
    await world.settle()

    assert before is None
    assert watcher.view.value == {"seed": True}
