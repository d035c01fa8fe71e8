"""Forks and branches in memory and on Postgres: the same trees, the same copies, the same words."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from app.domain.branching import Conversation
from app.domain.errors import InvalidArgument, NotFound
from app.domain.message import Message, plain_text, text_part
from app.domain.ports import OnBusy
from app.domain.ports.branches import BranchMaker, BranchStore, NewBranch, NewFork
from app.domain.run import Ending
from app.domain.storable import encode
from app.store.branches import PostgresBranches
from app.store.transactions import PostgresTransactions
from app.testing.memory_store import MemoryRunStore
from app.testing.memory_transactions import MemoryTransactions
from tests.contract.test_thread_writer import a_message, writer_of
from tests.support.store_world import (
    AGENT,
    IDS,
    StoreWorld,
    a_result,
    a_signal,
    a_start,
    an_answer,
)


@dataclass(frozen=True)
class Branching:
    """A world whose conversations can be branched."""

    world: StoreWorld
    store: BranchStore
    begin: Callable[[], AbstractAsyncContextManager[BranchMaker]]

    async def say(self, text: str, key: str = "chat") -> str:
        """Have ann ask, and have it answered; return the run."""
        said = encode([text_part(text)])
        started = await self.world.start(thread_key=key, owner="ann", parts=said)
        await self.answer(f"re: {text}")
        return started.run_id

    async def answer(self, text: str) -> None:
        """Answer what is queued."""
        claimed = await self.world.claim()
        await self.world.store.record(claimed.fence, an_answer(claimed.fence, 0, text))
        await self.world.store.finish(claimed.fence, Ending.completed("final"), None)

    async def conversation(self, key: str = "chat") -> Conversation:
        """Return a conversation."""
        found = await self.store.conversation(key)
        assert found is not None
        return found

    async def branch(self, source: str, shared: int, text: str) -> str:
        """Make an answered branch and return its key."""
        conversation = await self.conversation(source)
        thread_id = IDS.new()
        start = a_start(
            thread_id=thread_id,
            thread_key=thread_id,
            owner="ann",
            parts=encode([text_part(text)]),
            title="as a branch",
        )
        async with self.begin() as unit:
            new = NewBranch(conversation.root_id, conversation.thread_id, shared, start)
            started = await unit.branch(new)
        assert (started.thread_id, started.run_id) == (thread_id, start.run_id)
        await self.answer(f"re: {text}")
        return started.thread_key

    async def select(self, key: str) -> None:
        """Show a thread of the conversation."""
        chosen = await self.conversation(key)
        assert await self.store.select(chosen.root_id, chosen.thread_id)

    async def fork(self, message_id: str | None = None, **more: object) -> str:
        """Fork the conversation and return the new one's key."""
        thread_id = IDS.new()
        source = (await self.conversation()).thread_id
        async with self.begin() as unit:
            await unit.fork(NewFork(source, thread_id, "bob", message_id, **more))  # type: ignore[arg-type]  # field names
        return thread_id

    async def rows(self, key: str = "chat") -> list[Message]:
        """Return a thread's messages."""
        found = await self.world.reader.snapshot(key, 100)
        assert found is not None
        rows = list(found.messages)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        assert found.thread.seq == len(rows)
        return rows

    async def texts(self, key: str = "chat") -> list[str]:
        """Return what was said."""
        return [plain_text(row.parts) for row in await self.rows(key)]

    async def tree(self) -> tuple[str, list[tuple[str, str | None, int]]]:
        """Return the selected thread and all of them, by key."""
        found = await self.world.reader.snapshot("chat", 0)
        assert found is not None
        assert found.branches is not None
        tree = found.branches
        named = [(each.key, tree.key_of(each.parent), each.shared) for each in tree.threads]
        return tree.key_of(tree.selected) or "", named


@pytest.fixture
async def branching(world: StoreWorld, request: pytest.FixtureRequest) -> AsyncIterator[Branching]:
    """The functions' side of a world."""
    around = world.around
    if isinstance(world.store, MemoryRunStore):
        memory = MemoryTransactions(world.store._db, world.store, around.announce)
        yield Branching(world, memory.branching, memory.begin)
        return
    async with PostgresTransactions(
        request.getfixturevalue("database_url"),
        announce=around.announce,
        announce_writes=around.announce_writes,
        doorbell=around,
        journal=around.journal,
        aborts=around,
        ids=IDS,
    ) as transactions:
        database = world.reader._db  # type: ignore[attr-defined]  # the reader's own
        branches = PostgresBranches(database, around.announce)
        yield Branching(world, branches, transactions.begin)


async def test_a_branch_begins_with_copies_and_ends_with_its_own(branching: Branching) -> None:
    await branching.say("one")
    await branching.say("two")

    branch = await branching.branch("chat", 2, "zwei")

    assert await branching.texts(branch) == ["one", "re: one", "zwei", "re: zwei"]
    assert await branching.texts() == ["one", "re: one", "two", "re: two"]
    copies, originals = (await branching.rows(branch))[:2], (await branching.rows())[:2]
    assert [row.run_id for row in copies] == [row.run_id for row in originals]
    assert {row.id for row in copies}.isdisjoint(row.id for row in originals)
    history = await branching.world.store.history(copies[0].thread_id)
    assert history[1].model == encode({"kind": "response", "text": "re: one"})


async def test_the_newest_branch_is_shown_until_another_is_selected(branching: Branching) -> None:
    await branching.say("one")
    first = await branching.branch("chat", 0, "uno")
    second = await branching.branch(first, 0, "eins")
    third = await branching.branch(second, 2, "zwei")

    threads = [("chat", None, 0), (first, "chat", 0), (second, "chat", 0), (third, second, 2)]
    assert await branching.tree() == (third, threads)

    for key in (first, "chat"):
        await branching.select(key)
        assert await branching.tree() == (key, threads)


async def test_only_threads_of_the_conversation_can_be_selected(branching: Branching) -> None:
    await branching.say("one")
    await branching.say("else", "other")
    conversation, other = await branching.conversation(), await branching.conversation("other")

    assert not await branching.store.select(conversation.root_id, other.thread_id)
    assert not await branching.store.select("none", other.thread_id)
    assert await branching.store.conversation("none") is None


@pytest.mark.parametrize("on_busy", [OnBusy.REJECT, OnBusy.REPLACE])
async def test_what_is_started_under_the_roots_key_is_seen_and_stays_where_it_began(
    branching: Branching, on_busy: OnBusy
) -> None:
    world = branching.world
    await branching.say("one")
    first = await branching.branch("chat", 0, "uno")
    second = await branching.branch("chat", 0, "eins")
    start = a_start(
        thread_key="chat", owner="ann", parts=encode([text_part("new")]), on_busy=on_busy
    )

    begun = await world.store.start(start)
    for key in (first, "chat"):
        await branching.select(key)
        again = await world.store.start(start)
        assert (again.run_id, again.thread_key) == (start.run_id, second)

    assert begun.thread_key == second
    assert await branching.texts(second) == ["eins", "re: eins", "new"]
    assert (await branching.texts(first), await branching.texts()) == (
        ["uno", "re: uno"],
        ["one", "re: one"],
    )
    assert (await world.start(thread_key=first, owner="ann")).thread_key == first


async def test_what_was_said_into_a_run_is_said_once_whatever_is_shown_later(
    branching: Branching,
) -> None:
    world = branching.world
    await branching.say("one")
    branch = await branching.branch("chat", 0, "uno")
    live = await world.start(thread_key="chat", owner="ann")
    steer = a_start(
        thread_key="chat",
        owner="ann",
        parts=encode([text_part("shorter")]),
        on_busy=OnBusy.STEER,
    )

    first = await world.store.start(steer)
    await branching.select("chat")
    again = [await world.store.start(steer)]
    await branching.answer("done")
    await branching.answer("shorter it is")
    again.append(await world.store.start(steer))

    assert (first.steered, first.run_id, first.thread_key) == (True, live.run_id, branch)
    assert {(each.steered, each.thread_key) for each in again} == {(True, branch)}
    assert again[0].run_id == live.run_id
    assert await branching.texts() == ["one", "re: one"]
    assert sum("shorter" in text for text in await branching.texts(branch)) == 2


async def test_what_is_said_to_the_root_is_said_to_the_branch_on_show(branching: Branching) -> None:
    world = branching.world
    await branching.say("one")
    root = (await branching.conversation()).thread_id
    branch = await branching.branch("chat", 0, "uno")
    signal = a_signal(root, "hello")

    woken = await world.store.signal(signal)
    await branching.select("chat")

    assert woken is not None
    assert woken.woke
    assert await world.store.signal(signal) == woken
    assert (await branching.texts(branch))[-1] == "[message] hello\n"
    assert await branching.texts() == ["one", "re: one"]


async def test_what_is_appended_to_the_root_is_read_by_the_next_run_of_the_branch_on_show(
    branching: Branching,
) -> None:
    await branching.say("one")
    branch = await branching.branch("chat", 0, "uno")

    seq = await writer_of(branching.world).append("chat", a_message("by hand"))
    await branching.say("two")

    assert seq == 3
    assert await branching.texts(branch) == ["uno", "re: uno", "by hand", "two", "re: two"]
    assert await branching.texts() == ["one", "re: one"]
    assert await writer_of(branching.world).append(branch, a_message("again")) == 6


async def test_a_branch_is_told_whose_it_is_and_a_thread_alone_is_told_nothing(
    branching: Branching,
) -> None:
    await branching.say("one")
    alone = await branching.world.reader.snapshot("chat", 0)
    branch = await branching.branch("chat", 0, "uno")
    below = await branching.world.reader.snapshot(branch, 0)

    assert alone is not None
    assert below is not None
    assert (alone.branches, alone.conversation) == (None, None)
    assert (below.branches, below.conversation) == (None, "chat")
    assert below.thread.owner == "ann"


async def test_what_a_branch_asks_names_the_conversation(branching: Branching) -> None:
    world = branching.world
    await branching.say("one")
    key = await branching.branch("chat", 0, "again")
    for asking in (key, "chat"):
        await branching.select(asking)
        await world.start(thread_key=asking, owner="ann")
        await world.ask(await world.claim(), "c1", gated=["c1"])

    (asked,) = await world.reader.approvals(key=key)
    (other,) = await world.reader.approvals(key="chat")

    assert (asked.conversation_key, other.conversation_key) == ("chat", None)


async def test_what_a_run_was_asked_is_found_in_whichever_thread(branching: Branching) -> None:
    await branching.say("one")
    run = await branching.say("two")
    branch = await branching.branch("chat", 2, "zwei")
    conversation = await branching.conversation()
    question, said = (await branching.rows())[2:]

    by_answer = await branching.store.asked(conversation, said.id)
    assert by_answer is not None
    assert (by_answer.run_id, by_answer.message_id) == (run, question.id)
    assert (by_answer.shared, by_answer.parts) == (2, [text_part("two")])
    newest = await branching.store.asked(conversation, None)
    assert newest is not None
    assert (newest.thread_id, newest.parts) == (
        (await branching.conversation(branch)).thread_id,
        [text_part("zwei")],
    )
    copy = (await branching.rows(branch))[0]
    of_copy = await branching.store.asked(conversation, copy.id)
    assert of_copy is not None
    assert (of_copy.thread_id, of_copy.shared) == (copy.thread_id, 0)
    for missing in ("none", ""):
        assert await branching.store.asked(conversation, missing) is None
        assert await branching.store.thread_of(conversation, missing) is None


async def test_what_came_into_a_run_is_no_part_of_its_question(branching: Branching) -> None:
    started = await branching.world.start(thread_key="chat", owner="ann")
    claimed = await branching.world.claim()
    await branching.world.ask(claimed, "c0")
    signal = a_signal(started.thread_id, "hurry")
    await branching.world.store.signal(signal)
    await branching.world.store.record(claimed.fence, a_result(claimed.fence, 0, 0, "c0"))
    await branching.world.store.finish(claimed.fence, Ending.completed("final"), None)

    asked = await branching.store.asked(await branching.conversation(), None)

    assert asked is not None
    assert asked.parts == [text_part("[message] hurry\n")], "it began the run that followed"


async def test_a_fork_is_a_conversation_of_its_own(branching: Branching) -> None:
    await branching.say("one")
    await branching.say("two")
    messages = await branching.rows()

    whole = await branching.fork()
    cut = await branching.fork(messages[2].id)
    before = await branching.fork(messages[2].id, before=True, title="Begun")

    assert await branching.texts(whole) == await branching.texts()
    assert await branching.texts(cut) == ["one", "re: one", "two"]
    assert await branching.texts(before) == ["one", "re: one"]
    found = await branching.world.reader.snapshot(before, 0)
    assert found is not None
    assert (found.thread.owner, found.thread.title, found.thread.status.value) == (
        "bob",
        "Begun",
        "completed",
    )
    assert found.thread.is_idle
    assert (found.branches, found.conversation) == (None, None)


async def test_no_fork_ends_between_a_call_and_its_result(branching: Branching) -> None:
    await branching.world.start(thread_key="chat", owner="ann")
    claimed = await branching.world.claim()
    await branching.world.ask(claimed, "c0", gated=["c0"])
    _, call, result = await branching.rows()

    for message_id in (None, call.id, result.id):
        with pytest.raises(InvalidArgument) as refused:
            await branching.fork(message_id)
        assert refused.value.data == {"before": call.id}
    with pytest.raises(NotFound, match="no such message"):
        await branching.fork("none")


async def test_lists_have_a_conversation_once_with_how_its_shown_branch_is_doing(
    branching: Branching,
) -> None:
    await branching.say("one")
    branch = await branching.branch("chat", 0, "uno")
    await branching.say("else", "other")
    await branching.world.start(thread_key=branch, owner="ann")

    async def listed() -> list[tuple[str, str]]:
        found = await branching.world.reader.sessions(
            AGENT, "ann", everybody=False, before=None, limit=10
        )
        return [(thread.key, thread.status.value) for thread in found]

    assert await listed() == [("chat", "queued"), ("other", "completed")]
    conversation = await branching.conversation()
    await branching.store.select(conversation.root_id, conversation.root_id)
    assert await listed() == [("chat", "completed"), ("other", "completed")]


async def test_nothing_is_made_of_what_is_not_there(branching: Branching) -> None:
    await branching.say("one")
    await branching.say("else", "other")
    conversation, other = await branching.conversation(), await branching.conversation("other")

    for root, source in (("none", "none"), (conversation.root_id, other.thread_id)):
        with pytest.raises(NotFound):
            async with branching.begin() as unit:
                await unit.branch(NewBranch(root, source, 0, a_start(owner="ann")))
    with pytest.raises(NotFound):
        async with branching.begin() as unit:
            await unit.fork(NewFork("none", IDS.new(), None))
