"""What a feed promises: nothing lost, nothing twice, nothing to strangers, one read for all."""

import json
from collections.abc import AsyncIterator

import pytest

from app.domain.errors import StoreUnavailable
from app.domain.identity import Identity
from app.domain.run import RunStatus
from app.gateway.feed import MAX_CHANGES
from app.gateway.queries import MessagesQuery, ThreadQuery
from tests.support.feed_world import FeedWorld, feed_world

ANN = Identity("ann")
BOB = Identity("bob")
ADMIN = Identity("root", frozenset({"admin"}))


@pytest.fixture
async def world() -> AsyncIterator[FeedWorld]:
    async with feed_world() as made:
        yield made


# ---------------------------------------------------------------- lists


async def test_a_subscription_is_answered_by_the_newest_messages(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.say("t", "two")
    world.threads.say("t", "three", turn=1)

    short = world.watch(MessagesQuery("t", 2, stream=True))
    await world.settle()

    assert short.view.texts == ["two", "three"]
    assert short.view.cursor == "memory-1.3"


@pytest.mark.req("SUB-01")
async def test_every_stored_item_is_pushed_as_it_lands(world: FeedWorld) -> None:
    watcher = world.watch("t")
    await world.settle()

    world.threads.start("t", "what is the weather?")
    await world.settle()
    world.threads.say("t", "I shall look", turn=0)
    world.threads.open_call("t", "call_1", turn=0)
    await world.settle()
    world.threads.fill("t", "call_1")
    await world.settle()
    world.threads.say("t", "it rains", turn=1)
    await world.settle()

    assert [kinds for kinds in watcher.view.history if kinds] == [
        [(1, "complete")],
        [(1, "complete"), (2, "complete"), (3, "open")],
        [(1, "complete"), (2, "complete"), (3, "complete")],
        [(1, "complete"), (2, "complete"), (3, "complete"), (4, "complete")],
    ]


async def test_versions_that_do_not_concern_a_list_leave_no_gap_in_it(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    await world.settle()

    world.threads.touch("t", title="a title")
    await world.settle()
    world.threads.say("t", "two")
    await world.settle()

    kinds = [frame["type"] for frame in watcher.view.frames]
    assert kinds == ["snapshot", "delta"]
    assert watcher.view.frames[1]["from"] == "memory-1.1"
    assert watcher.view.texts == ["one", "two"]


async def test_a_change_is_read_once_and_its_bytes_go_to_every_socket(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watchers = [world.watch("t") for _ in range(50)]
    await world.settle()
    world.reader.reads.clear()

    world.threads.say("t", "two")
    await world.settle()

    assert world.reader.reads == {"delta": 1}
    assert len({watcher.wire.raw[-1] for watcher in watchers}) == 1
    assert len({id(watcher.wire.raw[-1]) for watcher in watchers}) == 1


async def test_subscribers_who_come_together_share_one_read(world: FeedWorld) -> None:
    world.threads.start("t", "one")

    for _ in range(100):
        world.watch("t")
        world.watch_thread("t")
    await world.settle()

    assert sum(world.reader.reads.values()) == 1


@pytest.mark.req("SUB-03")
@pytest.mark.parametrize("with_others", [False, True], ids=["alone", "beside-others"])
async def test_a_cursor_brings_exactly_what_was_missed(
    world: FeedWorld, *, with_others: bool
) -> None:
    world.threads.start("t", "one")
    if with_others:
        world.watch("t")
        await world.settle()
    first = world.watch("t")
    await world.settle()
    first.leave()
    world.threads.say("t", "two")
    world.threads.open_call("t", "call_1")

    again = world.watch("t", cursor=first.view.cursor)
    await world.settle()

    (answer,) = again.wire.sent
    assert (answer["type"], answer["from"], answer["cursor"]) == (
        "delta",
        "memory-1.1",
        "memory-1.3",
    )
    assert [op["row"]["seq"] for op in answer["ops"]] == [2, 3]


async def test_a_cursor_at_the_newest_version_is_answered_by_nothing_new(world: FeedWorld) -> None:
    world.threads.start("t", "one")

    again = world.watch("t", cursor="memory-1.1")
    await world.settle()

    assert again.wire.sent == [
        {
            "type": "delta",
            "id": "s",
            "from": "memory-1.1",
            "cursor": "memory-1.1",
            "ops": [],
        }
    ]


@pytest.mark.parametrize(
    "cursor",
    [
        pytest.param("elsewhere-7.1", id="another-history"),
        pytest.param("memory-1.999", id="beyond-what-is-there"),
        pytest.param("memory-1.9999999999999999999", id="beyond-every-number"),
    ],
)
async def test_a_cursor_that_means_nothing_here_is_answered_by_a_snapshot(
    world: FeedWorld, cursor: str
) -> None:
    world.threads.start("t", "one")
    world.watch("t")
    await world.settle()

    again = world.watch("t", cursor=cursor)
    await world.settle()

    assert [frame["type"] for frame in again.wire.sent] == ["snapshot"]
    assert again.view.texts == ["one"]


@pytest.mark.parametrize("with_others", [False, True], ids=["alone", "beside-others"])
async def test_b67_more_than_500_changes_are_answered_by_a_snapshot(
    world: FeedWorld, *, with_others: bool
) -> None:
    world.threads.start("t", "one")
    for turn in range(MAX_CHANGES + 1):
        world.threads.say("t", f"answer {turn}", turn=turn)
    other = world.watch("t") if with_others else None
    await world.settle()

    again = world.watch("t", cursor="memory-1.1")
    await world.settle()

    assert [frame["type"] for frame in again.wire.sent] == ["snapshot"]
    assert again.view.texts[-1] == f"answer {MAX_CHANGES}"
    assert other is None or len(other.wire.sent) == 1, "the others are level and hear nothing"


async def test_b67_members_that_fell_far_behind_get_a_snapshot(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    thread = world.watch_thread("t")
    await world.settle()
    world.threads.hints_are_lost = True
    for turn in range(MAX_CHANGES + 5):
        world.threads.say("t", f"answer {turn}", turn=turn)

    await world.feeds.reconcile()
    await world.settle()

    assert [frame["type"] for frame in watcher.wire.sent] == ["snapshot", "snapshot"]
    assert watcher.view.texts[-1] == f"answer {MAX_CHANGES + 4}"
    assert len(thread.wire.sent) == 2


async def test_an_id_with_other_arguments_is_a_group_of_its_own(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.start("u", "other")
    here, there = world.watch("t", id_="same"), world.watch("u", id_="same")
    await world.settle()

    world.threads.say("t", "two")
    await world.settle()

    assert here.view.texts == ["one", "two"]
    assert there.view.texts == ["other"]


# ---------------------------------------------------------------- the thread itself


@pytest.mark.req("SUB-02")
async def test_the_thread_is_pushed_when_it_changes_and_only_then(world: FeedWorld) -> None:
    watcher = world.watch_thread("t")
    await world.settle()

    run = world.threads.start("t")
    await world.settle()
    world.threads.touch("t", title="Weather")
    await world.settle()
    world.threads.finish("t", RunStatus.FAILED)
    await world.settle()

    seen = [frame["value"] for frame in watcher.wire.sent]
    assert seen[0] is None
    assert [(v["status"], v["title"], v["runId"]) for v in seen[1:]] == [
        ("running", None, run),
        ("running", "Weather", run),
        ("failed", "Weather", run),
    ]


# ---------------------------------------------------------------- threads that are not there


async def test_a_subscription_on_a_missing_key_comes_alive_with_the_thread(
    world: FeedWorld,
) -> None:
    watcher, thread = world.watch("t"), world.watch_thread("t")
    await world.settle()

    world.threads.start("other", "somebody else's first")
    world.threads.start("t", "mine")
    await world.settle()

    assert watcher.view.texts == ["mine"]
    assert watcher.view.cursor == "memory-1.1"
    assert thread.view.value["key"] == "t"


async def test_the_viewers_own_call_finds_a_thread_whose_hint_was_lost(world: FeedWorld) -> None:
    watcher = world.watch("t")
    await world.settle()
    world.threads.hints_are_lost = True
    world.threads.start("t", "mine")

    world.feeds.look_again(watcher.subscription)
    await world.settle()

    assert watcher.view.texts == ["mine"]


async def test_the_tick_finds_a_thread_whose_hint_was_lost(world: FeedWorld) -> None:
    watcher = world.watch("t")
    await world.settle()
    world.threads.hints_are_lost = True
    world.threads.start("t", "mine")

    await world.feeds.reconcile()
    await world.settle()

    assert watcher.view.texts == ["mine"]


async def test_threads_that_nobody_seeks_cost_no_read(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.watch("t")
    await world.settle()
    world.reader.reads.clear()

    world.threads.start("u", "unwatched")
    await world.settle()

    assert world.reader.reads == {}


async def test_each_new_thread_is_looked_at_once_while_another_is_sought(world: FeedWorld) -> None:
    world.watch("missing")
    await world.settle()
    world.reader.reads.clear()

    world.threads.start("u", "unwatched")
    await world.settle()
    for turn in range(5):
        world.threads.say("u", "more", turn=turn)
        await world.settle()

    assert world.reader.reads == {"delta": 1}


async def test_a_thread_that_is_deleted_looks_missing(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher, thread = world.watch("t"), world.watch_thread("t")
    await world.settle()

    world.threads.forget("t")
    await world.feeds.reconcile()
    await world.settle()

    assert watcher.view.rows == {}
    assert thread.view.value is None


async def test_a_key_that_is_another_thread_now_begins_anew(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.say("t", "two")
    watcher = world.watch("t")
    await world.settle()
    world.threads.forget("t")
    world.threads.hints_are_lost = True
    world.threads.start("t", "another one")

    await world.feeds.reconcile()
    await world.settle()
    world.threads.hints_are_lost = False
    world.threads.say("t", "another two")
    await world.settle()

    assert watcher.view.texts == ["another one", "another two"]


# ---------------------------------------------------------------- strangers


@pytest.mark.req("ACC-02")
@pytest.mark.parametrize("cursor", [None, "memory-1.1", "memory-1.7"])
@pytest.mark.parametrize("is_watched", [False, True], ids=["cold", "watched-by-its-owner"])
async def test_a_foreign_thread_and_a_missing_one_answer_in_the_same_bytes(
    world: FeedWorld, cursor: str | None, *, is_watched: bool
) -> None:
    world.threads.start("taken", "secret", owner="ann")
    if is_watched:
        world.watch("taken", identity=ANN)
        await world.settle()

    foreign, missing = (
        world.watch("taken", cursor=cursor, identity=BOB),
        world.watch("absent", cursor=cursor, identity=BOB),
    )
    thread, no_thread = world.watch_thread("taken", identity=BOB), world.watch_thread("absent")
    await world.settle()

    assert foreign.wire.raw == missing.wire.raw
    assert thread.wire.raw == no_thread.wire.raw
    assert foreign.view.value == []
    assert thread.view.value is None


@pytest.mark.req("ACC-01", "SUB-09")
async def test_a_stranger_hears_nothing_of_what_happens(world: FeedWorld) -> None:
    run = world.threads.start("t", "secret", owner="ann")
    owner, stranger = world.watch("t", identity=ANN), world.watch("t", identity=BOB)
    admin, nobody = world.watch("t", identity=ADMIN), world.watch("t")
    await world.settle()

    world.tokens.say(world.threads.thread("t").id, run, "psst")
    world.threads.say("t", "psst, more")
    world.threads.finish("t")
    await world.settle()

    assert owner.view.texts == admin.view.texts == ["secret", "psst, more"]
    assert owner.wire.of_type("token")
    assert len(stranger.wire.sent) == len(nobody.wire.sent) == 1


@pytest.mark.req("ACC-04")
async def test_a_thread_without_an_owner_answers_to_whoever_knows_its_key(
    world: FeedWorld,
) -> None:
    world.threads.start("t", "open")

    nobody, somebody = world.watch("t"), world.watch("t", identity=BOB)
    await world.settle()

    assert nobody.view.texts == somebody.view.texts == ["open"]


@pytest.mark.req("ACC-01")
async def test_a_new_identity_is_answered_anew(world: FeedWorld) -> None:
    world.threads.start("t", "secret", owner="ann")
    watcher = world.watch("t", identity=BOB)
    await world.settle()

    watcher.become(ANN)
    await world.settle()
    assert watcher.view.texts == ["secret"]
    watcher.become(BOB)
    world.threads.say("t", "more")
    await world.settle()

    assert [len(frame["value"]) for frame in watcher.wire.sent] == [0, 1, 0]


async def test_a_new_identity_that_may_see_the_same_is_sent_nothing(world: FeedWorld) -> None:
    world.threads.start("t", "secret", owner="ann")
    watcher = world.watch("t", identity=ANN)
    await world.settle()

    watcher.become(ADMIN)
    await world.settle()

    assert len(watcher.wire.sent) == 1


# ---------------------------------------------------------------- hints, histories, outages


async def test_a_lost_hint_is_healed_by_the_tick_with_one_query(world: FeedWorld) -> None:
    watchers = []
    for number in range(20):
        world.threads.start(f"t{number}", "one")
        watchers.append(world.watch(f"t{number}"))
    await world.settle()
    world.threads.hints_are_lost = True
    world.threads.say("t7", "two")
    world.reader.reads.clear()

    await world.feeds.reconcile()
    await world.settle()

    assert watchers[7].view.texts == ["one", "two"]
    assert world.reader.reads == {"versions": 1, "delta": 1}
    assert world.metrics.healed._value.get() == 1


async def test_another_history_is_begun_with_a_snapshot(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.say("t", "two")
    watcher, thread = world.watch("t"), world.watch_thread("t")
    await world.settle()

    world.threads.go_back("t", 1)
    world.feeds.on_timeline("memory-2")
    await world.settle()
    world.threads.say("t", "another two")
    await world.settle()

    assert [frame["type"] for frame in watcher.wire.sent] == ["snapshot", "snapshot", "delta"]
    assert watcher.view.texts == ["one", "another two"]
    assert watcher.view.cursor == "memory-2.2"
    assert thread.wire.sent[-1]["cursor"].startswith("memory-2.")


async def test_a_version_that_goes_back_is_taken_for_another_history(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.threads.say("t", "lost in the failover")
    watcher = world.watch("t")
    await world.settle()

    world.threads.go_back("t", 1)
    await world.feeds.reconcile()
    await world.settle()

    assert watcher.view.texts == ["one"]
    assert watcher.wire.sent[-1]["type"] == "snapshot"


async def test_a_hint_of_a_version_that_never_comes_is_read_once(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    world.watch("t")
    await world.settle()
    world.reader.reads.clear()

    world.feeds.on_hint(world.threads.thread("t").id, 99)
    await world.settle()

    assert world.reader.reads == {"delta": 1}


async def test_a_store_that_is_away_is_asked_again_and_nothing_is_lost(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    watcher = world.watch("t")
    await world.settle()
    world.reader.failure = StoreUnavailable("Postgres is away")
    world.threads.say("t", "two")
    late = world.watch("t")
    while world.reader.reads.get("delta", 0) + world.reader.reads.get("snapshot", 0) < 3:
        await world.threads.database.turn()

    world.reader.failure = None
    await world.settle()

    assert watcher.view.texts == late.view.texts == ["one", "two"]


async def test_who_leaves_hears_nothing_more_and_the_last_one_closes_the_feed(
    world: FeedWorld,
) -> None:
    world.threads.start("t", "one")
    first, second = world.watch("t"), world.watch("t")
    await world.settle()

    first.leave()
    world.threads.say("t", "two")
    await world.settle()
    second.leave()
    await world.settle()

    assert len(first.wire.sent) == 1
    assert len(second.wire.sent) == 2
    assert len(world.feeds) == 0
    assert world.tokens.watched == set()


async def test_a_private_field_of_a_message_never_leaves(world: FeedWorld) -> None:
    world.threads.start("t", "one")
    rows = world.threads.database.messages[world.threads.thread("t").id]
    object.__setattr__(rows[0], "model", json.dumps({"signature": "private"}))

    watcher = world.watch("t")
    watcher_of_thread = world.watch(ThreadQuery("t"), id_="x")
    await world.settle()

    assert b"signature" not in b"".join(watcher.wire.raw + watcher_of_thread.wire.raw)


@pytest.mark.req("ACC-02")
async def test_a_stranger_who_waits_at_a_key_is_not_told_that_it_came_into_use(
    world: FeedWorld,
) -> None:
    stranger, owner = world.watch("t", identity=BOB), world.watch("t", identity=ANN)
    await world.settle()

    world.threads.start("t", "secret", owner="ann")
    await world.settle()

    assert owner.view.texts == ["secret"]
    assert len(stranger.wire.sent) == 1
