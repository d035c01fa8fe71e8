"""Live text: in order, never after its message, and whole for whoever joins or lags."""

from collections.abc import AsyncIterator

import pytest

from app.domain.run import RunStatus
from app.gateway.queries import MessagesQuery
from tests.support.feed_world import FeedWorld, Watcher, feed_world

pytestmark = pytest.mark.req("SUB-07")


@pytest.fixture
async def world() -> AsyncIterator[FeedWorld]:
    async with feed_world() as made:
        yield made


class Speaker:
    """A worker that speaks in one thread."""

    def __init__(self, world: FeedWorld, key: str = "t") -> None:
        self._world = world
        self.key = key
        self.run = world.threads.start(key, "speak")
        self.thread_id = world.threads.thread(key).id

    def say(self, text: str, *, turn: int = 0, attempt: int = 100, part: int = 0) -> None:
        """Say something, knowing the newest version."""
        version = self._world.threads.thread(self.key).version
        self._world.tokens.say(
            self.thread_id, self.run, text, turn=turn, attempt=attempt, part=part, version=version
        )


async def listening(world: FeedWorld, key: str = "t") -> Watcher:
    watcher = world.watch(key)
    await world.settle()
    return watcher


async def test_several_deltas_arrive_ahead_of_the_message(world: FeedWorld) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)

    for word in ("It ", "rains ", "here."):
        speaker.say(word)
    world.threads.say("t", "It rains here.")
    await world.settle()

    kinds = [frame["type"] for frame in watcher.wire.sent]
    assert kinds == ["snapshot", "token", "token", "token", "delta"]
    assert [f["offset"] for f in watcher.wire.of_type("token")] == [0, 3, 9]
    assert watcher.view.texts == ["speak", "It rains here."]


async def test_who_joins_in_the_middle_hears_the_text_so_far_and_then_goes_on(
    world: FeedWorld,
) -> None:
    speaker = Speaker(world)
    early = await listening(world)
    speaker.say("Once upon ")
    speaker.say("a time ")

    late = await listening(world)
    speaker.say("there was")

    assert [f["text"] for f in late.wire.of_type("token")] == ["Once upon a time ", "there was"]
    assert late.view.spoken == early.view.spoken == "Once upon a time there was"


async def test_the_first_to_join_hears_what_was_said_before_anybody_listened(
    world: FeedWorld,
) -> None:
    speaker = Speaker(world)
    speaker.say("said to nobody, ")

    watcher = await listening(world)
    speaker.say("and to you 👋")
    speaker.say("!")

    assert watcher.view.spoken == "said to nobody, and to you 👋!"


@pytest.mark.parametrize("moment", ["before-a-token", "in-the-text", "in-a-tool", "between-turns"])
async def test_opening_a_chat_in_the_middle_shows_each_message_once(
    world: FeedWorld, moment: str
) -> None:
    speaker = Speaker(world)
    if moment != "before-a-token":
        speaker.say("I shall look")
    if moment in {"in-a-tool", "between-turns"}:
        world.threads.say("t", "I shall look")
        world.threads.open_call("t", "call_1")
    if moment == "between-turns":
        world.threads.fill("t", "call_1")

    watcher = await listening(world)  # the view fails if a stored turn is spoken again
    if moment in {"before-a-token", "in-the-text"}:
        speaker.say(", wait")
        world.threads.say("t", "I shall look, wait")
    speaker.say("It rains", turn=1)
    world.threads.say("t", "It rains", turn=1)
    world.threads.finish("t")
    await world.settle()

    ids = [row["id"] for row in watcher.view.ordered]
    assert len(ids) == len(set(ids)) == len(world.threads.texts("t"))


async def test_text_waits_for_the_facts_that_it_follows(world: FeedWorld) -> None:
    watcher = await listening(world)
    world.threads.hints_are_lost = True
    first = Speaker(world)
    world.threads.hints_are_lost = False
    world.feeds.on_hint(first.thread_id, 1)
    await world.settle()
    world.threads.hints_are_lost = True
    world.threads.say("t", "answer 0")

    first.say("turn one", turn=1)
    assert watcher.wire.of_type("token") == []
    await world.settle()

    assert [f["type"] for f in watcher.wire.sent[-2:]] == ["delta", "token"]
    assert watcher.view.spoken == "turn one"


async def test_a_higher_attempt_replaces_the_text_and_a_lower_one_is_dropped(
    world: FeedWorld,
) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)
    speaker.say("first try")

    speaker.say("second", attempt=101)
    world.tokens.on_token(
        speaker.thread_id,
        {
            "run": speaker.run,
            "turn": 0,
            "part": 0,
            "kind": "text",
            "offset": 9,
            "text": " too late",
            "attempt": 100,
            "version": 1,
        },
    )
    speaker.say(" try", attempt=101)

    assert watcher.view.spoken == "second try"
    assert {f["attempt"] for f in watcher.wire.of_type("token")} == {100, 101}


@pytest.mark.parametrize("ending", [RunStatus.COMPLETED, RunStatus.CANCELLED])
async def test_tokens_of_a_run_that_is_over_are_dropped(
    world: FeedWorld, ending: RunStatus
) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)
    world.threads.finish("t", ending)
    await world.settle()

    speaker.say("anybody?")
    late = await listening(world)

    assert watcher.wire.of_type("token") == late.wire.of_type("token") == []


async def test_tokens_of_a_turn_whose_message_is_there_are_dropped(world: FeedWorld) -> None:
    speaker = Speaker(world)
    world.threads.say("t", "answer", turn=0)
    speaker.say("answ", turn=0)

    watcher = await listening(world)
    speaker.say("er", turn=0)
    resumed = world.watch("t", before=watcher.view)
    await world.settle()

    assert watcher.wire.of_type("token") == resumed.wire.of_type("token") == []


async def test_a_missed_delta_is_filled_from_the_text_so_far(world: FeedWorld) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)
    speaker.say("one ")
    world.tokens.is_deaf = True
    speaker.say("two ")
    world.tokens.is_deaf = False

    speaker.say("three")
    await world.settle()

    assert watcher.view.spoken == "one two three"


async def test_after_a_lost_link_the_text_is_read_again(world: FeedWorld) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)
    speaker.say("one ")
    world.tokens.is_deaf = True
    speaker.say("two, the last")

    world.feeds.on_gap()
    await world.settle()

    assert watcher.view.spoken == "one two, the last"


async def test_a_text_so_far_that_is_older_than_what_was_heard_takes_nothing_back(
    world: FeedWorld,
) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)
    speaker.say("one ")
    old = await world.tokens.shown(speaker.thread_id)
    speaker.say("two")

    world.feeds._on_shown(speaker.thread_id, old)

    assert watcher.view.spoken == "one two"
    assert len(watcher.wire.of_type("token")) == 2


async def test_stream_false_hears_no_tokens_and_watches_none(world: FeedWorld) -> None:
    speaker = Speaker(world)
    quiet = world.watch(MessagesQuery("t", 50, stream=False))
    await world.settle()

    speaker.say("psst")
    world.threads.say("t", "psst")
    await world.settle()

    assert [frame["type"] for frame in quiet.wire.sent] == ["snapshot", "delta"]
    assert world.tokens.watched == set()


async def test_with_and_without_tokens_the_messages_are_the_same(world: FeedWorld) -> None:
    speaker = Speaker(world)
    loud = await listening(world)
    quiet = world.watch(MessagesQuery("t", 50, stream=False), id_="quiet")
    await world.settle()

    speaker.say("It rains")
    world.threads.say("t", "It rains")
    await world.settle()

    assert loud.view.ordered == quiet.view.ordered


async def test_parts_of_a_turn_grow_beside_each_other(world: FeedWorld) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)

    speaker.say("thinking", part=0)
    speaker.say("answer", part=1)
    speaker.say(" more", part=0)
    late = await listening(world)

    live = late.view.live
    assert live is not None
    assert live.parts == {0: "thinking more", 1: "answer"}
    assert watcher.view.live == live


async def test_a_slow_reader_gets_the_text_it_missed_in_one_piece(world: FeedWorld) -> None:
    speaker = Speaker(world)
    slow, quick = await listening(world), await listening(world)
    speaker.say("a")
    slow.wire.is_stuck = True
    for letter in "bcdefg":
        speaker.say(letter)

    slow.drain()
    speaker.say("h")

    assert [f["text"] for f in slow.wire.of_type("token")] == ["a", "bcdefg", "h"]
    assert [f["text"] for f in quick.wire.of_type("token")] == list("abcdefgh")


async def test_a_slow_reader_whose_turn_was_stored_meanwhile_gets_the_message_alone(
    world: FeedWorld,
) -> None:
    speaker = Speaker(world)
    slow = await listening(world)
    slow.wire.is_stuck = True
    speaker.say("a")
    world.threads.say("t", "a")
    await world.settle()

    slow.drain()
    await world.settle()

    assert slow.wire.of_type("token") == []
    assert slow.view.texts == ["speak", "a"]


async def test_a_source_that_fails_costs_tokens_and_nothing_else(world: FeedWorld) -> None:
    speaker = Speaker(world)
    working = world.tokens.watch

    async def failing(thread_id: str) -> None:
        raise OSError(f"no Redis for {thread_id}")

    world.tokens.watch = failing  # type: ignore[method-assign]  # Redis goes away
    watcher = await listening(world)
    speaker.say("unheard ")
    assert watcher.view.texts == ["speak"]

    world.tokens.watch = working  # type: ignore[method-assign]  # and comes back
    await world.feeds.reconcile()
    await world.settle()
    speaker.say("heard")

    assert watcher.view.spoken == "unheard heard"


async def test_a_malformed_token_is_dropped(world: FeedWorld) -> None:
    speaker = Speaker(world)
    watcher = await listening(world)

    world.tokens.on_token(speaker.thread_id, {"run": speaker.run})
    speaker.say("fine")

    assert watcher.view.spoken == "fine"
