"""A killed, silent or restarted subscriber link is made again within 5 s, and its owner is told.

Field case B60.
"""

import asyncio
import os
import signal
import uuid

import pytest
import uvloop

from app.domain.run import Fence
from app.fanout.aborts import AbortListener, RedisAborts
from app.fanout.redis_link import connect_link
from app.fanout.token_source import RedisTokenSource
from app.keyspace import Keys, connect
from app.main.embedded import EmbeddedRedis
from tests.integration.fanout.conftest import Stage
from tests.integration.fanout.screen import Screen
from tests.support.late import LATE_S
from tests.support.running import running
from tests.support.wait_until import wait_until

pytestmark = pytest.mark.req("SUB-03", "SUB-07")

WITHIN_S = 5 + LATE_S


async def say(stage: Stage, turn: int, text: str) -> None:
    stream = stage.sink.open(stage.fence, turn, 300, 1)
    stream.add(0, "text", text)


async def is_heard(screen: Screen, text: str) -> None:
    await wait_until(lambda: screen.texts == {0: text}, description=f"{text!r} is heard")


async def subscribed_links(stage: Stage) -> set[str]:
    return {link["id"] for link in await stage.redis.client_list(_type="pubsub")}


async def test_b60_a_killed_link_is_made_again_and_lost_deltas_are_read_from_the_stored_text(
    stage: Stage,
) -> None:
    screen = await stage.watch()
    await stage.redis.client_kill_filter(_type="pubsub")
    stream = stage.sink.open(stage.fence, 0, 300, 1)
    stream.add(0, "text", "said while nobody ")

    await wait_until(lambda: stage.gaps >= 1, description="the owner is told", timeout_s=WITHIN_S)
    screen.join(tuple(await stage.source.shown(stage.fence.thread_id)))
    stream.add(0, "text", "heard")

    await wait_until(
        lambda: screen.texts == {0: "said while nobody heard"}, description="all of it is there"
    )


def test_a_command_over_a_lost_link_goes_nowhere(redis_url: str) -> None:
    async def speak_too_late() -> None:
        link = await connect_link(redis_url, lambda _channel, _payload: None)
        link.abort()
        await link.lost.wait()
        link.send("PING")
        link.unsubscribe("a-channel")
        async with asyncio.timeout(15):
            await link.subscribe(["a-channel"])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as production:
        production.run(speak_too_late())


async def test_every_watched_thread_is_heard_again(stage: Stage) -> None:
    fences = [Fence(str(uuid.uuid4()), str(uuid.uuid4()), 1) for _ in range(1200)]
    await asyncio.gather(*(stage.watch(fence.thread_id) for fence in fences))

    await stage.redis.client_kill_filter(_type="pubsub")
    await wait_until(lambda: stage.gaps >= 1, description="all are heard again", timeout_s=30)

    for fence in (fences[0], fences[-1]):
        await stage.journal.open(fence)
        stage.sink.open(fence, 0, 100, 1).add(0, "text", "hello")
        await is_heard(stage.screens[fence.thread_id], "hello")


async def test_b60_a_link_that_went_silent_is_noticed_within_five_seconds(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    await stage.watch()
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        await wait_until(
            lambda: not stage.source.is_connected,
            description="silence is noticed",
            timeout_s=WITHIN_S,
        )
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    await wait_until(lambda: stage.gaps >= 1, description="it is heard again", timeout_s=WITHIN_S)


async def test_b60_a_restarted_server_is_heard_within_five_seconds(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    redis_server.stop()
    redis_server.start()
    await wait_until(lambda: stage.gaps >= 1, description="the owner is told", timeout_s=WITHIN_S)
    await stage.journal.drop(stage.fence.thread_id, stage.fence.epoch)
    await stage.journal.open(stage.fence)
    screen = await stage.watch()

    await say(stage, 0, "hello again")

    await is_heard(screen, "hello again")


async def test_watching_while_redis_is_away_returns_and_is_heard_later(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    redis_server.stop()
    try:
        await wait_until(lambda: not stage.source.is_connected, description="the link is lost")
        screen = await stage.watch()
    finally:
        redis_server.start()
    await wait_until(lambda: stage.gaps >= 1, description="Redis is back", timeout_s=WITHIN_S)
    await stage.journal.drop(stage.fence.thread_id, stage.fence.epoch)
    await stage.journal.open(stage.fence)

    await say(stage, 0, "hello")

    await is_heard(screen, "hello")


async def test_an_idle_link_stays(stage: Stage) -> None:
    await stage.watch()
    before = await subscribed_links(stage)

    await asyncio.sleep(2.5)  # two pings: time is what is tested

    assert await subscribed_links(stage) == before != set()
    assert stage.gaps == 0


async def test_a_thread_is_heard_until_its_last_watcher_left(stage: Stage) -> None:
    thread = stage.fence.thread_id
    screen = await stage.watch()
    await stage.source.watch(thread)

    await stage.source.unwatch(thread)
    await say(stage, 0, "one")
    await is_heard(screen, "one")
    await stage.source.unwatch(thread)

    channel = stage.keys.thread(thread).tokens

    async def nobody_subscribes() -> bool:
        counts: list[tuple[bytes, int]] = await stage.redis.pubsub_numsub(channel)
        return counts == [(channel.encode(), 0)]

    await wait_until(nobody_subscribes, description="nobody subscribes any more")


async def test_watching_again_while_leaving_is_heard_from_when_it_returns(stage: Stage) -> None:
    thread = stage.fence.thread_id
    await stage.watch()
    for turn in range(20):
        await stage.source.unwatch(thread)
        screen = await stage.watch()
        await say(stage, turn, f"turn {turn}")
        await is_heard(screen, f"turn {turn}")


async def test_a_message_that_cannot_be_understood_hurts_nobody(stage: Stage) -> None:
    screen = await stage.watch()
    await stage.redis.publish(stage.keys.thread(stage.fence.thread_id).tokens, b"\xff{")

    await say(stage, 0, "fine")

    await is_heard(screen, "fine")
    assert stage.gaps == 0


async def test_a_wrong_password_is_not_a_connection(
    redis_server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    _, address = redis_server.url.rsplit("@", 1)
    async with connect(redis_server.url) as redis:
        source = RedisTokenSource(
            f"redis://:wrong@{address}",
            redis,
            Keys("t"),
            on_token=lambda *_: None,
            on_gap=lambda: None,
        )
        async with running(source.run()):
            await source.watch("t")
            await wait_until(lambda: "WRONGPASS" in caplog.text, description="it is said")


async def test_a_server_over_tcp_is_heard_as_well(redis_server: EmbeddedRedis) -> None:
    heard: list[tuple[str, bytes]] = []
    link = await connect_link(redis_server.url, lambda *message: heard.append(message))
    await link.subscribe(["here"])
    async with connect(redis_server.url) as redis:
        await redis.publish("here", "hello")

    await wait_until(lambda: heard == [("here", b"hello")], description="it is heard")
    link.abort()
    await link.lost.wait()


async def test_an_abort_reaches_the_worker_it_names_and_no_other(stage: Stage) -> None:
    mine: list[Fence] = []
    others: list[Fence] = []
    listener = AbortListener(stage.url, stage.keys, "worker-1", mine.append)
    other = AbortListener(stage.url, stage.keys, "worker-2", others.append)
    async with running(listener.run(), other.run()):
        await wait_until(
            lambda: listener.is_connected and other.is_connected, description="both listen"
        )
        lost = await subscribed_links(stage)
        await stage.redis.client_kill_filter(_type="pubsub")

        async def both_subscribe_again() -> bool:
            links = await subscribed_links(stage)
            return len(links) == len(lost) and links.isdisjoint(lost)

        await wait_until(both_subscribe_again, description="both links are made again")

        await RedisAborts(stage.redis, stage.keys).abort("worker-1", stage.fence)

        await wait_until(lambda: mine == [stage.fence], description="the worker was told")
    assert others == []


@pytest.mark.impatient
async def test_an_abort_without_redis_is_left_to_the_beat(
    stage: Stage, redis_server: EmbeddedRedis
) -> None:
    loop = asyncio.get_running_loop()
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        began = loop.time()
        await RedisAborts(stage.redis, stage.keys).abort("worker-1", stage.fence)
        took = loop.time() - began
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)

    assert took < 0.4 + LATE_S
