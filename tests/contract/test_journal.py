"""What every ``Journal`` keeps, whatever it is made of."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.domain.message import MessageStatus, Role, assistant_key
from app.domain.ports import Journal, JournalFenceLost
from app.domain.record import NewMessage, Record, Writes
from app.domain.run import Fence, Usage
from app.journal import RedisJournal
from app.keyspace import Keys, connect
from app.testing.memory_journal import MemoryJournal

pytestmark = pytest.mark.req("DUR-03", "DUR-07", "IMP-32")


@pytest.fixture
async def redis_journal(redis_url: str, redis_namespace: str) -> AsyncIterator[Journal]:
    redis = connect(redis_url)
    yield RedisJournal(redis, Keys(redis_namespace))
    await redis.aclose()


@pytest.fixture(params=["memory", "redis"])
def journal(request: pytest.FixtureRequest) -> Journal:
    if request.param == "memory":
        return MemoryJournal()
    made: Journal = request.getfixturevalue("redis_journal")
    return made


@pytest.fixture
def fence() -> Fence:
    return Fence(str(uuid.uuid4()), str(uuid.uuid4()), epoch=7)


def a_record(fence: Fence, step: str, value: str = '"done"') -> Record:
    return Record(fence.run_id, fence.thread_id, step, turn=0, value=value)


def later(fence: Fence, by: int = 1) -> Fence:
    return replace(fence, epoch=fence.epoch + by)


async def test_a_thread_without_a_journal_opens_empty(journal: Journal, fence: Fence) -> None:
    opened = await journal.open(fence)

    assert list(opened.entries) == []
    assert opened.fence_above is None


async def test_who_takes_a_run_over_gets_what_was_left(journal: Journal, fence: Fence) -> None:
    left = a_record(fence, "tool:charge:call_1", '{"receipt":"r-1"}')
    await journal.open(fence)
    await journal.complete(fence, left, [])

    opened = await journal.open(later(fence))

    assert list(opened.entries) == [left]


async def test_entries_come_back_in_the_order_in_which_they_were_written(
    journal: Journal, fence: Fence
) -> None:
    steps = [f"tool:look_up:call_{(n * 7) % 200}" for n in range(200)]
    await journal.open(fence)
    for step in steps:
        await journal.complete(fence, a_record(fence, step), [])

    opened = await journal.open(later(fence))

    assert [record.step for record in opened.entries] == steps


async def test_a_record_comes_back_whole(journal: Journal, fence: Fence) -> None:
    text = "naïve 👩‍👩‍👧 \U0001f600 \\u0000 " * 100_000
    message = NewMessage(
        id=str(uuid.uuid4()),
        key=assistant_key(fence.run_id, 3),
        role=Role.ASSISTANT,
        status=MessageStatus.COMPLETE,
        parts=text,
        turn=3,
    )
    writes = Writes(messages=(message,), turn=3, run_usage=Usage(2, 10, 20))
    record = Record(fence.run_id, fence.thread_id, "llm:turn:3", 3, '{"a":1}', writes)
    await journal.open(fence)
    await journal.complete(fence, record, [])

    opened = await journal.open(later(fence))

    assert list(opened.entries) == [record]


async def test_entries_of_another_run_are_dropped(journal: Journal, fence: Fence) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
    next_run = replace(later(fence), run_id=str(uuid.uuid4()))

    opened = await journal.open(next_run)
    reopened = await journal.open(later(fence, by=2))

    assert list(opened.entries) == []
    assert list(reopened.entries) == []


async def test_a_step_of_another_run_with_the_same_name_is_another_step(
    journal: Journal, fence: Fence
) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0", '"old"'), [])
    next_run = replace(later(fence), run_id=str(uuid.uuid4()))
    await journal.open(next_run)

    there = await journal.complete(next_run, a_record(next_run, "llm:turn:0", '"new"'), [])

    assert there is None


async def test_confirmed_entries_are_gone(journal: Journal, fence: Fence) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
    await journal.complete(fence, a_record(fence, "tool:a:1"), ["llm:turn:0"])
    await journal.complete(fence, a_record(fence, "tool:b:2"), ["never written", "llm:turn:0"])

    opened = await journal.open(later(fence))

    assert [record.step for record in opened.entries] == ["tool:a:1", "tool:b:2"]


async def test_the_first_record_of_a_step_is_the_one_that_counts(
    journal: Journal, fence: Fence
) -> None:
    first = a_record(fence, "tool:dice:call_1", "4")
    await journal.open(fence)
    await journal.complete(fence, first, [])

    there = await journal.complete(fence, replace(first, value="6"), [])
    opened = await journal.open(later(fence))

    assert there == first
    assert list(opened.entries) == [first]


async def test_writing_the_same_record_again_changes_nothing(
    journal: Journal, fence: Fence
) -> None:
    record = a_record(fence, "llm:turn:0")
    await journal.open(fence)
    await journal.complete(fence, record, [])

    there = await journal.complete(fence, record, [])

    assert there in {None, record}
    assert list((await journal.open(later(fence))).entries) == [record]


@pytest.mark.parametrize("by", [-1, 1])
async def test_a_write_under_another_epoch_is_refused_and_leaves_nothing(
    journal: Journal, fence: Fence, by: int
) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    with pytest.raises(JournalFenceLost):
        await journal.complete(later(fence, by), a_record(fence, "tool:a:1"), ["llm:turn:0"])

    opened = await journal.open(later(fence, by=2))
    assert [record.step for record in opened.entries] == ["llm:turn:0"]


async def test_a_write_to_a_journal_that_was_never_opened_is_refused(
    journal: Journal, fence: Fence
) -> None:
    with pytest.raises(JournalFenceLost):
        await journal.complete(fence, a_record(fence, "llm:turn:0"), [])


@pytest.mark.parametrize("ahead", [0, 1, 5])
async def test_a_journal_that_remembers_an_epoch_not_below_ours_is_not_opened(
    journal: Journal, fence: Fence, ahead: int
) -> None:
    held = later(fence, ahead)
    await journal.open(held)
    await journal.complete(held, a_record(held, "llm:turn:0"), [])

    opened = await journal.open(fence)

    assert opened.fence_above == held.epoch
    assert list(opened.entries) == []
    assert await journal.complete(held, a_record(held, "tool:a:1"), []) is None


@pytest.mark.parametrize("ahead", [0, 1])
async def test_a_closed_fence_counts_like_an_open_one(
    journal: Journal, fence: Fence, ahead: int
) -> None:
    await journal.open(fence)
    await journal.close(fence.thread_id, fence.epoch + ahead)

    refused = await journal.open(fence)
    raised = await journal.open(later(fence, ahead + 1))

    assert refused.fence_above == fence.epoch + ahead
    assert raised.fence_above is None


async def test_closing_returns_what_is_there_and_deletes_nothing(
    journal: Journal, fence: Fence
) -> None:
    left = a_record(fence, "tool:charge:call_1")
    await journal.open(fence)
    await journal.complete(fence, left, [])

    first = await journal.close(fence.thread_id, fence.epoch)
    again = await journal.close(fence.thread_id, fence.epoch)

    assert list(first.entries) == list(again.entries) == [left]
    assert list((await journal.open(later(fence))).entries) == [left]


async def test_a_closed_journal_takes_no_more_writes(journal: Journal, fence: Fence) -> None:
    await journal.open(fence)
    await journal.close(fence.thread_id, fence.epoch)

    with pytest.raises(JournalFenceLost):
        await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    assert list((await journal.close(fence.thread_id, fence.epoch)).entries) == []


async def test_closing_an_older_epoch_leaves_the_newer_one_alone(
    journal: Journal, fence: Fence
) -> None:
    await journal.open(later(fence))

    salvage = await journal.close(fence.thread_id, fence.epoch)

    assert list(salvage.entries) == []
    written = await journal.complete(later(fence), a_record(fence, "llm:turn:0"), [])
    assert written is None


async def test_who_ends_a_run_that_was_just_taken_over_gets_what_the_dead_worker_left(
    journal: Journal, fence: Fence
) -> None:
    left = a_record(fence, "tool:charge:call_1")
    await journal.open(fence)
    await journal.complete(fence, left, [])

    salvage = await journal.close(fence.thread_id, fence.epoch + 1)

    assert list(salvage.entries) == [left]
    with pytest.raises(JournalFenceLost):
        await journal.complete(fence, a_record(fence, "tool:late:call_2"), [])


async def test_dropping_forgets_entries_and_fence(journal: Journal, fence: Fence) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    await journal.drop(fence.thread_id, fence.epoch)

    with pytest.raises(JournalFenceLost):
        await journal.complete(fence, a_record(fence, "tool:a:1"), [])
    reopened = await journal.open(fence)
    assert reopened.fence_above is None
    assert list(reopened.entries) == []


async def test_a_closed_journal_can_be_dropped(journal: Journal, fence: Fence) -> None:
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])
    await journal.close(fence.thread_id, fence.epoch)

    await journal.drop(fence.thread_id, fence.epoch)

    reopened = await journal.open(fence)
    assert reopened.fence_above is None
    assert list(reopened.entries) == []


async def test_a_late_drop_leaves_a_newer_epoch_alone(journal: Journal, fence: Fence) -> None:
    newer = later(fence)
    await journal.open(newer)
    await journal.complete(newer, a_record(newer, "llm:turn:0"), [])

    await journal.drop(fence.thread_id, fence.epoch)

    assert [r.step for r in (await journal.open(later(fence, 2))).entries] == ["llm:turn:0"]


async def test_threads_do_not_see_one_another(journal: Journal, fence: Fence) -> None:
    other = replace(fence, thread_id=str(uuid.uuid4()))
    await journal.open(fence)
    await journal.complete(fence, a_record(fence, "llm:turn:0"), [])

    opened = await journal.open(other)
    await journal.drop(other.thread_id, other.epoch)

    assert list(opened.entries) == []
    assert len((await journal.open(later(fence))).entries) == 1
