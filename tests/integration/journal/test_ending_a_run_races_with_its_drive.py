"""Whoever ends a run and the drive that it ends: each write is salvaged or refused, never both."""

import asyncio
import uuid
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from app.domain.ports import Journal, JournalFenceLost
from app.domain.record import Record
from app.domain.run import Fence
from app.journal import RedisJournal
from app.keyspace import Keys
from app.testing.memory_journal import MemoryJournal

pytestmark = pytest.mark.req("DUR-03", "RUN-03")


def a_record(fence: Fence, step: str, value: str = "1") -> Record:
    return Record(fence.run_id, fence.thread_id, step, turn=0, value=value)


@pytest.mark.parametrize("attempt", range(10))
async def test_a_finished_step_is_in_the_salvage_or_its_writer_was_refused(
    journal: RedisJournal, fence: Fence, attempt: int
) -> None:
    await journal.open(fence)

    async def finish(step: str) -> str | None:
        try:
            await journal.complete(fence, a_record(fence, step), [])
        except JournalFenceLost:
            return None
        return step

    finishing = [finish(f"tool:a:{n}") for n in range(20)]
    *finished, salvage = await asyncio.gather(
        *finishing[:attempt], *finishing[attempt:], journal.close(fence.thread_id, fence.epoch)
    )

    accepted = {step for step in finished if isinstance(step, str)}
    assert not isinstance(salvage, str | None)
    assert {record.step for record in salvage.entries} == accepted


async def test_of_two_workers_that_finish_one_step_both_hold_the_same_record(
    journal: RedisJournal, fence: Fence
) -> None:
    await journal.open(fence)
    records = [a_record(fence, "tool:dice:1", str(n)) for n in range(8)]

    answers = await asyncio.gather(*(journal.complete(fence, one, []) for one in records))

    held = [there or record for there, record in zip(answers, records, strict=True)]
    assert len({record.value for record in held}) == 1


@dataclass
class _Seen:
    """Everything that one journal answered."""

    journal: Journal
    answers: list[object] = field(default_factory=list)

    async def do(self, operation: str, fence: Fence, step: str, value: str) -> None:
        try:
            self.answers.append(await self._call(operation, fence, step, value))
        except JournalFenceLost:
            self.answers.append("fence lost")

    async def _call(self, operation: str, fence: Fence, step: str, value: str) -> object:
        match operation:
            case "open":
                opened = await self.journal.open(fence)
                return opened.fence_above, list(opened.entries)
            case "complete":
                record = a_record(fence, step, value)
                there = await self.journal.complete(fence, record, ["confirmed", "b"])
                return there or record
            case "close":
                return list((await self.journal.close(fence.thread_id, fence.epoch)).entries)
            case _:
                await self.journal.drop(fence.thread_id, fence.epoch)
                return "dropped"


OPERATIONS = st.tuples(
    st.sampled_from(["open", "complete", "complete", "close", "drop"]),
    st.integers(1, 4),
    st.sampled_from(["a", "b", "confirmed"]),
    st.sampled_from(["1", "2"]),
)


@settings(
    max_examples=300,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(operations=st.lists(OPERATIONS, min_size=5, max_size=40))
async def test_redis_answers_whatever_the_dictionary_answers(
    client: Redis, keys: Keys, operations: list[tuple[str, int, str, str]]
) -> None:
    thread_id = str(uuid.uuid4())
    on_redis, in_memory = _Seen(RedisJournal(client, keys)), _Seen(MemoryJournal())

    for operation, epoch, step, value in operations:
        fence = Fence(thread_id, "older" if epoch < 3 else "newer", epoch)
        await on_redis.do(operation, fence, step, value)
        await in_memory.do(operation, fence, step, value)

    assert on_redis.answers == in_memory.answers
