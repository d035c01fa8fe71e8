"""Whatever the chunks, whenever a reader joins: shown text and deltas make the text, exactly."""

import asyncio
import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.run import Fence
from app.fanout import tokens
from tests.integration.fanout.conftest import Stage
from tests.support.late import LATE_S
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("SUB-07", "SUB-09")

ATTEMPT = 300


async def test_the_first_delta_leaves_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "WINDOW_S", 3600)  # what waits for its window waits for good
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, version=5)
    stream.add(0, "thinking", "warm up")
    await wait_until(lambda: screen.texts, description="something was sent")

    for part in range(1, 11):
        stream.add(part, "text", "Hel")
        await wait_until(lambda: part in screen.texts, description="shown")  # noqa: B023

    assert screen.heard[-1] == {
        "run": stage.fence.run_id,
        "turn": 0,
        "part": 10,
        "kind": "text",
        "offset": 0,
        "text": "Hel",
        "attempt": ATTEMPT,
        "version": 5,
    }


async def test_after_the_first_delta_there_is_one_flush_a_window(stage: Stage) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, version=5)
    loop = asyncio.get_running_loop()
    began, expected = loop.time(), ""
    for number in range(250):  # 500 tokens a second
        expected += f"word{number} "
        stream.add(0, "text", f"word{number} ")
        await asyncio.sleep(max(0.0, began + number * 0.002 - loop.time()))
    await wait_until(lambda: screen.texts.get(0) == expected, description="all of it is shown")
    took = loop.time() - began

    assert took < 0.5 * 1.2 + LATE_S
    assert len(screen.heard) <= took / tokens.WINDOW_S + 2
    assert stage.sink.flushes <= took / tokens.WINDOW_S + 2


async def test_all_streams_of_a_worker_share_a_flush(stage: Stage) -> None:
    fences = [Fence(str(uuid.uuid4()), str(uuid.uuid4()), 1) for _ in range(100)]
    for fence in fences:
        await stage.journal.open(fence)
    screens = [await stage.watch(fence.thread_id) for fence in fences]
    streams = [stage.sink.open(fence, 0, 100, 1) for fence in fences]
    before = stage.sink.flushes

    for word in ("one ", "two ", "three"):
        for stream in streams:
            stream.add(0, "text", word)
        await asyncio.sleep(0)
    await wait_until(
        lambda: all(screen.texts.get(0) == "one two three" for screen in screens),
        description="every reader has everything",
    )

    assert stage.sink.flushes - before <= 4


CHUNKS = st.lists(
    st.text(alphabet=st.sampled_from("ab é😀👩\u200d🏽\ud83d\ude00"), min_size=1, max_size=6),
    min_size=1,
    max_size=12,
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(chunks=CHUNKS, joins_at=st.integers(0, 11), pauses=st.lists(st.booleans(), min_size=12))
async def test_a_reader_that_joins_in_the_middle_sees_the_whole_text(
    stage: Stage, chunks: list[str], joins_at: int, pauses: list[bool]
) -> None:
    fence = Fence(str(uuid.uuid4()), str(uuid.uuid4()), 1)
    await stage.journal.open(fence)
    stream = stage.sink.open(fence, 0, 100, version=1)
    screen = None
    for number, chunk in enumerate(chunks):
        if number == joins_at:
            screen = await stage.watch(fence.thread_id)
        stream.add(0, "text", chunk)
        if pauses[number]:
            await asyncio.sleep(0.003)
    screen = screen or await stage.watch(fence.thread_id)
    stream.add(0, "text", "!")
    whole = "".join([*chunks, "!"]).encode("utf-16-le", "surrogatepass")
    expected = whole.decode("utf-16-le", "replace")

    await wait_until(lambda: screen.texts.get(0) == expected, description=f"shown: {expected!r}")

    assert screen.gaps == 0
    await stream.close()
    await stage.source.unwatch(fence.thread_id)


async def test_several_parts_grow_side_by_side(stage: Stage) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    for word in ("a", "b", "c"):
        stream.add(0, "thinking", word)
        stream.add(1, "text", word.upper())
        await asyncio.sleep(0.01)

    await wait_until(
        lambda: screen.texts == {0: "abc", 1: "ABC"}, description="both parts are whole"
    )
    shown = await stage.source.shown(stage.fence.thread_id)
    assert [(piece.part, piece.kind, piece.units) for piece in shown] == [
        (0, "thinking", 3),
        (1, "text", 3),
    ]


async def test_a_text_that_redis_lost_is_sent_again_from_its_start(stage: Stage) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stream.add(0, "text", "one ")
    await wait_until(lambda: screen.texts == {0: "one "}, description="the first word is shown")
    await stage.redis.delete(stage.keys.thread(stage.fence.thread_id).live)

    stream.add(0, "text", "two")

    await wait_until(lambda: screen.texts == {0: "one two"}, description="all of it is shown")
    assert await stage.shown() == {0: "one two"}
    assert (screen.heard[-1]["offset"], screen.heard[-1]["attempt"]) == (0, ATTEMPT)


async def test_a_higher_attempt_replaces_the_text_with_its_first_delta(stage: Stage) -> None:
    screen = await stage.watch()
    first = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    first.add(0, "thinking", "hm")
    first.add(1, "text", "a wrong start")
    await wait_until(lambda: 1 in screen.texts, description="the first attempt is shown")

    second = stage.sink.open(stage.fence, 0, ATTEMPT + 1, 1)
    assert screen.texts[1] == "a wrong start"
    second.add(1, "text", "again")

    await wait_until(lambda: screen.texts == {1: "again"}, description="it is replaced")
    assert await stage.shown() == {1: "again"}


async def test_a_lower_attempt_is_dropped(stage: Stage) -> None:
    screen = await stage.watch()
    newer = stage.sink.open(stage.fence, 0, ATTEMPT + 1, 1)
    newer.add(0, "text", "newer")
    await wait_until(lambda: screen.texts == {0: "newer"}, description="the newer one is shown")

    older = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    older.add(0, "text", "late")
    await wait_until(lambda: older.is_over, description="the older stream was told")

    assert await stage.shown() == {0: "newer"}
    assert screen.texts == {0: "newer"}


async def test_a_new_turn_begins_with_nothing(stage: Stage) -> None:
    screen = await stage.watch()
    old = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    old.add(0, "text", "turn 0")
    old.add(3, "tool_args", "{}")
    await wait_until(lambda: 3 in screen.texts, description="turn 0 is shown")
    await old.close()

    stage.sink.open(stage.fence, 1, ATTEMPT, 2).add(0, "text", "turn 1")

    await wait_until(lambda: screen.heard[-1]["turn"] == 1, description="turn 1 is heard")
    assert await stage.shown() == {0: "turn 1"}


async def test_who_takes_over_begins_with_nothing_and_its_forerunner_is_refused(
    stage: Stage,
) -> None:
    screen = await stage.watch()
    frozen = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    frozen.add(0, "text", "half an ans")
    await wait_until(lambda: screen.texts, description="the text is shown")
    newer = replace(stage.fence, epoch=stage.fence.epoch + 1)
    await stage.journal.open(newer)

    stage.sink.open(newer, 0, newer.epoch * 100, 2).add(0, "text", "The answer")
    frozen.add(0, "text", "wer")

    await wait_until(lambda: screen.texts == {0: "The answer"}, description="it is replaced")
    assert await stage.shown() == {0: "The answer"}


async def test_who_ends_the_run_gets_the_text_that_was_seen(stage: Stage) -> None:
    screen = await stage.watch()
    stream = stage.sink.open(stage.fence, 2, ATTEMPT, 1)
    stream.add(0, "text", "As I was say")
    await wait_until(lambda: screen.texts, description="the text is shown")

    salvage = await stage.journal.close(stage.fence.thread_id, stage.fence.epoch)
    stream.add(0, "text", "ing")
    await stream.close()

    assert [(one.turn, one.text, one.units) for one in salvage.shown] == [(2, "As I was say", 12)]
    assert await stage.shown() == {0: "As I was say"}


async def test_dropping_the_journal_drops_the_text(stage: Stage) -> None:
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    stream.add(0, "thinking", "hm")
    stream.add(1, "text", "yes")
    screen = await stage.watch()
    await wait_until(lambda: 1 in screen.texts, description="the text is shown")
    await stream.close()

    await stage.journal.drop(stage.fence.thread_id, stage.fence.epoch)

    assert [key async for key in stage.redis.scan_iter(f"{stage.keys.namespace}:*")] == []


async def test_every_delta_refreshes_the_ten_minutes_of_the_whole_text(stage: Stage) -> None:
    at = stage.keys.thread(stage.fence.thread_id)
    stream = stage.sink.open(stage.fence, 0, ATTEMPT, 1)
    screen = await stage.watch()
    stream.add(0, "thinking", "hm")
    await wait_until(lambda: 0 in screen.texts, description="thinking is shown")
    await stage.redis.expire(at.part(0), 5)
    await stage.redis.expire(at.live, 5)

    stream.add(1, "text", "yes")
    await wait_until(lambda: 1 in screen.texts, description="text is shown")

    for key in (at.live, at.part(0), at.part(1)):
        assert 590 < await stage.redis.ttl(key) <= 600
