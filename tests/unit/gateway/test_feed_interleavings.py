"""Whatever order things happen in, everybody ends with exactly the stored messages.

Writes, hints that come or are lost, subscribers who come with and without a cursor and
go, readers that stop and go on, tokens: in any order, with reads that take any number of
turns.  ``ClientView`` fails at the first gap, so the law is checked at every frame.
"""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.message import MessageStatus
from tests.support.client_view import ClientView
from tests.support.feed_world import FeedWorld, Watcher, feed_world

KEYS = ("t", "u")

_ACTS: list[st.SearchStrategy[tuple[object, ...]]] = [
    st.tuples(
        st.just("write"),
        st.sampled_from(KEYS),
        st.sampled_from(["say", "say", "open", "fill", "touch", "finish"]),
    ),
    st.tuples(st.just("join"), st.sampled_from(KEYS), st.booleans()),
    st.tuples(st.just("leave"), st.integers(0, 9)),
    st.tuples(st.just("stick"), st.integers(0, 9), st.sampled_from([None, 0, 600])),
    st.tuples(st.just("drain"), st.integers(0, 9)),
    st.tuples(st.just("speak"), st.sampled_from(KEYS), st.booleans()),
    st.tuples(st.just("wait"), st.integers(1, 12)),
]
_TROUBLE: list[st.SearchStrategy[tuple[object, ...]]] = [
    st.tuples(st.just("lose_hints"), st.booleans()),
    st.tuples(st.just("tick")),
]

calm_scripts = st.lists(st.one_of(_ACTS), min_size=15, max_size=50)
scripts = st.lists(st.one_of(_ACTS + _TROUBLE), min_size=15, max_size=50)
pauses_of_reads = st.tuples(st.integers(0, 3), st.integers(0, 3))


class Play:
    """A world in which acts follow each other."""

    def __init__(self, world: FeedWorld) -> None:
        self.world = world
        self.watchers: list[Watcher] = []
        self.left: dict[str, ClientView] = {}
        self.written = 0

    async def run(self, script: list[tuple[object, ...]]) -> None:
        """Do what the script says."""
        for name, *how in script:
            pending = getattr(self, str(name))(*how)
            if pending is not None:
                await pending

    def join(self, key: str, resumes: bool) -> None:  # noqa: FBT001 - drawn
        """Subscribe, perhaps with what somebody had who left."""
        before = self.left.get(key) if resumes else None
        self.watchers.append(self.world.watch(key, before=before))

    def leave(self, which: int) -> None:
        """Unsubscribe."""
        if self.watchers:
            watcher = self.watchers.pop(which % len(self.watchers))
            watcher.leave()
            if watcher.view.cursor is not None:
                self.left[watcher.subscription.query.key] = watcher.view

    def stick(self, which: int, room: int | None) -> None:
        """Stop reading."""
        if self.watchers:
            wire = self.watchers[which % len(self.watchers)].wire
            wire.is_stuck, wire.room = True, room

    def drain(self, which: int) -> None:
        """Go on reading."""
        if self.watchers:
            self.watchers[which % len(self.watchers)].drain()

    def lose_hints(self, are_lost: bool) -> None:  # noqa: FBT001 - drawn
        """Lose hints from now on, or no more."""
        self.world.threads.hints_are_lost = are_lost

    async def tick(self) -> None:
        """Reconcile."""
        await self.world.feeds.reconcile()

    async def wait(self, turns: int) -> None:
        """Let others go on."""
        for _ in range(turns):
            await asyncio.sleep(0)

    def write(self, key: str, kind: str) -> None:
        """Change a thread somehow; a turn may be answered once."""
        threads = self.world.threads
        self.written += 1
        found = threads.database.by_key(key)
        if found is None or found.live_run is None:
            threads.start(key, f"question {self.written}")
            return
        still_open = [
            str(row.parts[0]["toolCallId"])
            for row in threads.database.messages[found.id]
            if row.status is MessageStatus.OPEN
        ]
        match kind:
            case "say":
                threads.say(key, f"answer {self.written}", turn=self.turn(key))
            case "open":
                threads.open_call(key, f"call_{self.written}", turn=self.turn(key) - 1)
            case "fill" if still_open:
                threads.fill(key, still_open[0])
            case "finish":
                threads.finish(key)
            case _:
                threads.touch(key, title=f"title {self.written}")

    def speak(self, key: str, is_heard: bool) -> None:  # noqa: FBT001 - drawn
        """Say something of the open turn, as its worker would."""
        thread = self.world.threads.database.by_key(key)
        if thread is not None and thread.live_run is not None:
            self.world.tokens.is_deaf = not is_heard
            self.world.tokens.say(
                thread.id,
                thread.live_run,
                "wörd👋 ",
                turn=self.turn(key),
                attempt=100 * int(thread.live_run.removeprefix("run-")),
                version=thread.version,
            )

    def turn(self, key: str) -> int:
        """Return the open turn of the thread's run."""
        thread = self.world.threads.thread(key)
        rows = self.world.threads.database.messages[thread.id]
        return sum(row.run_id == thread.live_run and row.role == "assistant" for row in rows)

    async def come_to_rest(self, *, heals: bool) -> None:
        """Let readers read and everything settle; perhaps heal what was not heard."""
        for watcher in self.watchers:
            watcher.drain()
        await self.world.settle()
        if heals:
            await self.world.feeds.reconcile()
            await self.world.settle()

    def check(self) -> None:
        """Hold everybody's view against what is stored."""
        for watcher in self.watchers:
            key = watcher.subscription.query.key
            stored = self.world.threads.database.by_key(key)
            expected = self.world.threads.texts(key) if stored is not None else []
            view = watcher.view
            assert view.texts == expected
            assert [row["seq"] for row in view.ordered] == list(range(1, len(expected) + 1))


@pytest.mark.req("SUB-03", "SUB-04")
@settings(max_examples=200, deadline=None, derandomize=True)
@given(script=scripts, pauses=pauses_of_reads)
def test_everybody_ends_with_the_stored_messages_whatever_was_lost(
    script: list[tuple[object, ...]], pauses: tuple[int, int]
) -> None:
    async def play() -> None:
        async with feed_world() as world:
            world.reader.pauses = pauses
            stage = Play(world)
            await stage.run(script)
            await stage.come_to_rest(heals=True)
            stage.check()
            for watcher in stage.watchers:
                watcher.leave()
            await world.settle()
            assert len(world.feeds) == 0
            assert world.tokens.watched == set()

    asyncio.run(play())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(script=calm_scripts, pauses=pauses_of_reads)
def test_no_change_falls_between_a_snapshot_and_the_deltas_after_it(
    script: list[tuple[object, ...]], pauses: tuple[int, int]
) -> None:
    async def play() -> None:
        async with feed_world() as world:
            world.reader.pauses = pauses
            stage = Play(world)
            await stage.run(script)
            await stage.come_to_rest(heals=False)
            stage.check()

    asyncio.run(play())


@pytest.mark.req("SUB-07")
@settings(max_examples=200, deadline=None, derandomize=True)
@given(script=scripts, pauses=pauses_of_reads)
def test_who_watches_an_open_turn_ends_with_what_was_said_of_it(
    script: list[tuple[object, ...]], pauses: tuple[int, int]
) -> None:
    async def play() -> None:
        async with feed_world() as world:
            world.reader.pauses = pauses
            stage = Play(world)
            await stage.run(script)
            await stage.come_to_rest(heals=True)
            for key in KEYS:
                stage.speak(key, True)  # noqa: FBT003 - as if drawn
            world.feeds.on_gap()
            await stage.come_to_rest(heals=True)

            for watcher in stage.watchers:
                thread = world.threads.database.by_key(watcher.subscription.query.key)
                if thread is not None and thread.live_run is not None:
                    said = (await world.tokens.shown(thread.id))[0].text
                    assert watcher.view.spoken == said

    asyncio.run(play())
