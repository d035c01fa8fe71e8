"""Writes that no run makes keep the laws of every writer, on memory and on Postgres."""

import pytest

from app.domain.errors import Conflict
from app.domain.message import MessageStatus, Role, text_part
from app.domain.record import NewMessage
from app.domain.run import Ending
from app.domain.storable import encode
from app.functions.ports import ThreadWriter
from app.store.runs import PostgresRunStore
from app.store.thread_writer import PostgresThreadWriter
from app.testing.memory_writer import MemoryThreadWriter
from tests.support.store_world import IDS, StoreWorld, an_answer


def writer_of(world: StoreWorld) -> ThreadWriter:
    """Return the writer over the world's own database."""
    database = world.store._db  # type: ignore[attr-defined]  # both stores keep it there
    if isinstance(world.store, PostgresRunStore):
        return PostgresThreadWriter(database, world.around.announce)
    return MemoryThreadWriter(database, world.around.announce)


@pytest.fixture
def writer(world: StoreWorld) -> ThreadWriter:
    """The writer over the world's own database."""
    return writer_of(world)


def a_message(text: str, role: Role = Role.USER) -> NewMessage:
    message_id = IDS.new()
    return NewMessage(
        id=message_id,
        key=f"{message_id}:{role.value}:0",
        role=role,
        status=MessageStatus.COMPLETE,
        parts=encode([text_part(text)]),
        author="ann",
    )


@pytest.mark.req("AGT-14")
async def test_a_thread_is_made_once_and_keeps_its_owner(
    world: StoreWorld, writer: ThreadWriter
) -> None:
    thread_id = IDS.new()
    made = await writer.ensure(thread_id, "notes", "support", "ann", "Notes")
    again = await writer.ensure(IDS.new(), "notes", "desk", "bob", None)

    thread = await world.reader.find("notes")
    assert (made, again) == (True, False)
    assert thread is not None
    assert (thread.id, thread.agent, thread.owner) == (thread_id, "support", "ann")
    assert thread.is_idle
    assert world.around.announced == [(thread_id, thread.version)]


@pytest.mark.req("AGT-14")
async def test_appended_messages_follow_one_another_and_are_announced(
    world: StoreWorld, writer: ThreadWriter
) -> None:
    thread_id = IDS.new()
    await writer.ensure(thread_id, "notes", "support", None, None)
    said = [a_message("hello"), a_message("good day", Role.ASSISTANT)]

    places = [await writer.append("notes", each) for each in said]

    snapshot = await world.snapshot(thread_id)
    assert places == [1, 2]
    assert [(each.seq, each.role, each.author) for each in snapshot.messages] == [
        (1, Role.USER, "ann"),
        (2, Role.ASSISTANT, "ann"),
    ]
    assert [version for _, version in world.around.announced] == [1, 2, 3]
    assert [each.version for each in snapshot.messages] == [2, 3]


async def test_a_run_goes_on_after_what_was_appended(
    world: StoreWorld, writer: ThreadWriter
) -> None:
    await writer.ensure(IDS.new(), "notes", "support", None, None)
    await writer.append("notes", a_message("hello"))

    started = await world.start(thread_key="notes")
    claimed = await world.claim()
    await world.store.record(claimed.fence, an_answer(claimed.fence, 0))

    messages = (await world.snapshot(started.thread_id)).messages
    assert [message.seq for message in messages] == [1, 2, 3]


async def test_nothing_is_appended_while_a_run_is_unfinished(
    world: StoreWorld, writer: ThreadWriter
) -> None:
    claimed = await world.drive(thread_key="busy")

    with pytest.raises(Conflict) as refused:
        await writer.append("busy", a_message("me too"))

    assert refused.value.data == {"runId": claimed.run.id}
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    assert await writer.append("busy", a_message("me too")) == 2


@pytest.mark.req("AGT-14")
async def test_a_title_is_a_visible_change(world: StoreWorld, writer: ThreadWriter) -> None:
    thread_id = IDS.new()
    await writer.ensure(thread_id, "notes", "support", None, "Old")

    assert await writer.rename("notes", "New")

    thread = await world.thread(thread_id)
    assert (thread.title, thread.version) == ("New", 2)
    assert world.around.announced[-1] == (thread_id, 2)


@pytest.mark.req("AGT-14", "ADM-09")
async def test_what_waits_names_its_conversation_as_it_is_called_now(
    world: StoreWorld, writer: ThreadWriter
) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])

    await writer.rename(claimed.thread.key, "Hemp from the Baltic")

    (asked,) = await world.reader.approvals(key=claimed.thread.key)
    assert asked.thread_title == "Hemp from the Baltic"


async def test_a_missing_thread_is_said_to_be_missing(writer: ThreadWriter) -> None:
    assert await writer.append("none", a_message("hello")) is None
    assert not await writer.rename("none", "New")
