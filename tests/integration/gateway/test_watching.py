"""Many sockets on living threads: nothing lost, nothing twice, nobody waits for another."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import pytest

from app.domain.identity import Identity
from app.domain.storable import Json
from app.gateway.asgi import GatewayOptions
from app.gateway.frames import FramesProtocol
from app.gateway.wire import HARD_LIMIT
from tests.support.client_view import ClientView
from tests.support.gateway_server import GatewayServer, gateway_server
from tests.support.late import LATE_S
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient, ws_client


@pytest.fixture
async def served() -> AsyncIterator[GatewayServer]:
    async with gateway_server() as made:
        yield made


class HastyFrames(FramesProtocol):
    """Cuts off a peer that does not answer its close frame at once."""

    cut_off_after_s = 0.2


async def until_rows(view: ClientView, count: int) -> None:
    await wait_until(lambda: len(view.rows) >= count, description=f"{count} rows")


async def until_complete(view: ClientView) -> None:
    await wait_until(
        lambda: all(row["status"] == "complete" for row in view.ordered),
        description="every call is answered",
    )


async def frames_of(client: WsClient, count: int) -> list[str]:
    """Return the first frames that belong to nothing the client keeps."""
    await wait_until(lambda: len(client.loose) >= count, description=f"{count} frames")
    return sorted(json.dumps(frame) for frame in client.loose)


@pytest.mark.req("SUB-04")
async def test_fifty_observers_see_equal_transcripts(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    clients = [WsClient(served.url) for _ in range(50)]
    await asyncio.gather(*(client.connect() for client in clients))
    views = await asyncio.gather(*(client.watch("t") for client in clients))

    for turn in range(20):
        served.threads.say("t", f"answer {turn}", turn=turn)
        served.threads.open_call("t", f"call_{turn}", turn=turn)
        await asyncio.sleep(0)
        served.threads.fill("t", f"call_{turn}")
    served.threads.finish("t")
    for view in views:
        await until_rows(view, 41)
        await until_complete(view)

    transcripts = {json.dumps(view.ordered) for view in views}
    assert len(transcripts) == 1
    assert views[0].texts == served.threads.texts("t")
    for client in clients:
        await client.close()


@pytest.mark.req("SUB-03", "SUB-06")
async def test_a_socket_that_is_cut_resumes_without_loss_or_repeat(served: GatewayServer) -> None:
    run = served.threads.start("t", "one")
    thread_id = served.threads.thread("t").id
    async with ws_client(served.url) as client:
        view = await client.watch("t")
        for turn in range(10):
            served.tokens.say(thread_id, run, f"ans{turn}", turn=turn, version=0)
            served.threads.say("t", f"ans{turn}", turn=turn)
            served.threads.open_call("t", f"call_{turn}", turn=turn)
            if turn % 3 == 1:
                await client.cut()
            served.threads.fill("t", f"call_{turn}")
            if turn % 3 == 1:
                await client.connect()
        await until_rows(view, 21)
        await until_complete(view)

        assert view.texts == served.threads.texts("t")
        assert len([f for f in view.frames if f["type"] == "snapshot"]) == 1
        # What was seen only ever grows: no frame takes anything back.
        counts = [len(rows) for rows in view.history]
        assert counts == sorted(counts)


@pytest.mark.req("SUB-03")
async def test_b66_all_subscriptions_are_renewed_after_a_reconnect(served: GatewayServer) -> None:
    for key in ("a", "b", "c"):
        served.threads.start(key, key)
    async with ws_client(served.url) as client:
        views = {key: await client.watch(key) for key in ("a", "b", "c")}
        thread, state = await client.watch_thread("a"), await client.watch_state("a")
        await client.cut()
        served.threads.say("a", "while away")
        served.threads.set_state("a", '{"count":1}')
        await client.connect()

        for key in ("b", "c"):
            served.threads.say(key, "after")
        served.threads.touch("a", title="renamed")
        for view in views.values():
            await until_rows(view, 2)
        await wait_until(lambda: thread.value["title"] == "renamed", description="the title")
        assert state.value == {"count": 1}
        served.threads.set_state("a", '{"count":2}')
        await wait_until(lambda: state.value == {"count": 2}, description="the state")


@pytest.mark.req("SUB-05")
async def test_one_socket_carries_functions_and_threads(served: GatewayServer) -> None:
    async def stats(args: Mapping[str, Json], caller: Identity) -> Json:
        return {"orders": 3}

    served.functions.by_ref["app:stats"] = stats
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        view, thread = await client.watch("t"), await client.watch_thread("t")
        value = await client.call("app:stats", {})
        served.threads.say("t", "two")
        await until_rows(view, 2)

        assert value == {"orders": 3}
        assert thread.value["key"] == "t"


async def test_a_chat_that_is_watched_before_its_first_message_comes_alive(
    served: GatewayServer,
) -> None:
    served.threads.hints_are_lost = True  # its own call has to be enough

    async def start_run(args: Mapping[str, Json], caller: Identity) -> Json:
        run = served.threads.start(str(args["threadKey"]), str(args["input"]), dedupe="d")
        return {"id": run}

    served.functions.by_ref["chat:startRun"] = start_run
    async with ws_client(served.url) as client:
        view, thread = await client.watch("new"), await client.watch_thread("new")
        assert (view.value, thread.value) == ([], None)

        await client.call("chat:startRun", {"threadKey": "new", "input": "hi"}, dedupe="d")
        await until_rows(view, 1)
        await wait_until(lambda: thread.value, description="the thread")

        assert view.ordered[0]["dedupe"] == "d"


@pytest.mark.req("ACC-02")
async def test_a_foreign_and_a_missing_thread_send_the_same_bytes(served: GatewayServer) -> None:
    served.threads.start("taken", "secret", owner="ann")
    received: dict[str, list[str]] = {}
    for key in ("taken", "absent"):
        client = WsClient(served.url, "bob")
        await client.open()
        await client.send(type="hello", protocol=1, token="bob")  # noqa: S106 - a name
        for number, query in enumerate(("agents:agentMessages", "agents:agentThread")):
            await client.send(type="subscribe", id=f"s{number}", query=query, args={"key": key})
        received[key] = await frames_of(client, 2)
        await client.close()

    assert received["taken"] == received["absent"]


@pytest.mark.req("SUB-09")
async def test_a_strangers_socket_gets_no_token(served: GatewayServer) -> None:
    run = served.threads.start("t", "secret", owner="ann")
    thread_id = served.threads.thread("t").id
    async with ws_client(served.url, "ann") as ann, ws_client(served.url, "bob") as bob:
        hers, his = await ann.watch("t"), await bob.watch("t")
        await wait_until(lambda: served.tokens.watched, description="tokens are heard")

        served.tokens.say(thread_id, run, "psst")
        await wait_until(lambda: hers.spoken == "psst", description="she hears it")
        await bob.ping()

        assert his.frames == [his.frames[0]]


@pytest.mark.req("SUB-07")
async def test_b49_subscribing_twice_within_a_moment_doubles_no_text(served: GatewayServer) -> None:
    run = served.threads.start("t", "speak")
    thread_id = served.threads.thread("t").id
    async with ws_client(served.url) as client:
        first = await client.watch("t", id_="a")
        await wait_until(lambda: served.tokens.watched, description="tokens are heard")
        served.tokens.say(thread_id, run, "Once ")
        second = client.views["b"] = ClientView()
        for id_ in ("a", "b"):
            await client.send(
                type="subscribe", id=id_, query="agents:agentMessages", args={"key": "t"}
            )
            served.tokens.say(thread_id, run, f"{id_} ")
        await client.ping()
        served.tokens.say(thread_id, run, "end")
        await wait_until(lambda: second.spoken.endswith("end"), description="the end")

        assert first.spoken == second.spoken == "Once a b end"


@pytest.mark.parametrize("moment", range(4))
async def test_b49_a_reconnect_in_the_middle_of_a_text_ends_with_the_exact_text(
    served: GatewayServer, moment: int
) -> None:
    run = served.threads.start("t", "speak")
    thread_id = served.threads.thread("t").id
    async with ws_client(served.url) as client:
        view = await client.watch("t")
        await wait_until(lambda: served.tokens.watched, description="tokens are heard")
        for number in range(4):
            served.tokens.say(thread_id, run, f"wörd{number} ")
            if number == moment:
                await client.cut()
                view.live = None
                await client.connect()
        served.tokens.say(thread_id, run, "end")
        await wait_until(lambda: view.spoken.endswith("end"), description="the end")

        assert view.spoken == "wörd0 wörd1 wörd2 wörd3 end"


async def test_a_lost_hint_is_healed_within_the_stated_time(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        view = await client.watch("t")
        served.threads.hints_are_lost = True
        served.threads.say("t", "two")

        async with asyncio.timeout(2 + LATE_S):
            await until_rows(view, 2)


async def test_when_hints_are_heard_again_nothing_waits_for_the_tick() -> None:
    async with (
        gateway_server(GatewayOptions(reconcile_s=3600)) as served,
        ws_client(served.url) as client,
    ):
        served.threads.start("t", "one")
        view = await client.watch("t")
        served.threads.hints_are_lost = True
        served.threads.say("t", "two")

        served.gateway.on_resumed()

        await until_rows(view, 2)


async def test_b54_the_lag_from_commit_to_socket_is_measured(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        view = await client.watch("t")
        served.threads.say("t", "two")
        await until_rows(view, 2)

        again = await client.watch("t", id_="again")
        assert again.texts == view.texts
        assert served.metric("wire_lag_seconds_count") == 1, "an answer is no change"
        assert served.metric("frames_total", type="delta") == 1
        assert served.metric("feeds") == 1


# ---------------------------------------------------------------- trouble


@pytest.mark.req("SUB-04")
async def test_b62_half_the_sockets_vanish_in_a_burst_and_the_others_see_no_gap(
    served: GatewayServer, caplog: pytest.LogCaptureFixture
) -> None:
    served.threads.start("t", "one")
    clients = [WsClient(served.url) for _ in range(50)]
    await asyncio.gather(*(client.connect() for client in clients))
    views = await asyncio.gather(*(client.watch("t") for client in clients))

    for turn in range(30):
        served.threads.say("t", f"answer {turn}", turn=turn)
        if turn < 25:
            clients[turn * 2].socket.transport.abort()
        await asyncio.sleep(0)
    for view in views[1::2]:
        await until_rows(view, 31)
    await wait_until(lambda: served.metric("sockets") == 25, description="half are gone")

    assert {json.dumps(view.ordered) for view in views[1::2]} == {json.dumps(views[1].ordered)}
    assert caplog.text == ""
    for client in clients:
        await client.close()


async def test_b62_a_thousand_connections_that_come_and_go_leave_nothing(
    served: GatewayServer,
) -> None:
    served.threads.start("t", "one")

    async def come_and_go(number: int) -> None:
        client = WsClient(served.url)
        await client.connect()
        await client.watch("t" if number % 2 else f"missing-{number}")
        await (client.cut() if number % 3 else client.close())

    tasks_before = len(asyncio.all_tasks())
    for batch in range(20):
        await asyncio.gather(*(come_and_go(batch * 50 + number) for number in range(50)))
    await wait_until(
        lambda: len(asyncio.all_tasks()) <= tasks_before, description="no task is left"
    )

    assert served.metric("sockets") == 0
    assert served.metric("feeds") == 0
    assert served.tokens.watched == set()


@pytest.mark.req("IMP-04")
@pytest.mark.parametrize("reads_on", [True, False], ids=["reads-on", "never-reads-again"])
async def test_b64_a_slow_reader_is_cut_at_a_bounded_buffer_while_others_go_on(
    *, reads_on: bool
) -> None:
    options = GatewayOptions(slow_s=5, sweep_s=3600)
    async with (
        gateway_server(options, FramesProtocol if reads_on else HastyFrames) as served,
        ws_client(served.url) as quick,
        ws_client(served.url) as slow,
    ):
        served.threads.start("t", "one")
        view, behind = await quick.watch("t"), await slow.watch("t")
        wires = [connection.wire for connection in served.gateway._connections]
        slow.socket.transport.pause_reading()

        for turn in range(80):  # 16 MB in all, far above what the kernel takes
            served.threads.say("t", "x" * 100_000, turn=turn)
            await until_rows(view, turn + 2)
        unsent = max(wire.unsent for wire in wires)  # type: ignore[attr-defined]  # uvicorn's
        served.sweep_after(6)
        if reads_on:
            slow.socket.transport.resume_reading()
        await wait_until(lambda: served.metric("sockets") == 1, description="it is cut")
        served.threads.say("t", "still here", turn=80)
        await until_rows(view, 82)

        one_frame = 201_000
        assert 0 < unsent <= HARD_LIMIT + one_frame
        assert served.metric("slow_readers_total", outcome="closed") == 1
        slow.socket.transport.resume_reading()
        assert await slow.until_closed() == (1013 if reads_on else 1006)
        await slow.connect()
        await wait_until(lambda: behind.cursor == view.cursor, description="it catches up")
        assert behind.ordered[-1]["text"] == "still here"


@pytest.mark.req("IMP-04")
async def test_a_reader_that_pauses_gets_one_snapshot_for_all_it_missed(
    served: GatewayServer,
) -> None:
    served.threads.start("t", "one")
    async with ws_client(served.url) as quick, ws_client(served.url) as slow:
        view, behind = await quick.watch("t", limit=10), await slow.watch("t", limit=10)
        slow.socket.transport.pause_reading()
        for turn in range(150):
            served.threads.say("t", "x" * 100_000, turn=turn)
            await until_rows(view, turn + 2)

        slow.socket.transport.resume_reading()
        await wait_until(lambda: behind.cursor == view.cursor, description="it catches up")

        kinds = [frame["type"] for frame in behind.frames]
        assert 2 <= kinds.count("snapshot") <= 4
        assert len(kinds) < 120, "it was spared most of what it missed"
        assert slow.close_code is None


async def test_a_hundred_subscriptions_at_once_with_large_answers_all_arrive(
    served: GatewayServer,
) -> None:
    for number in range(100):
        served.threads.start(f"t{number}", "x" * 50_000)
    async with ws_client(served.url) as client:
        views = await asyncio.gather(*(client.watch(f"t{number}") for number in range(100)))

        assert all(len(view.rows) == 1 for view in views)
        assert sum(served.reader.reads.values()) < 250


# ---------------------------------------------------------------- leaving


async def test_b64_a_server_that_leaves_says_goodbye_lets_calls_end_and_closes(
    served: GatewayServer,
) -> None:
    release = asyncio.Event()

    async def slow(args: Mapping[str, Json], caller: Identity) -> Json:
        await release.wait()
        return "done"

    served.functions.by_ref["app:slow"] = slow
    clients = [WsClient(served.url) for _ in range(10)]
    await asyncio.gather(*(client.connect() for client in clients))
    answer = clients[0].begin_call("app:slow", {})
    await wait_until(lambda: len(served.gateway.calls) == 1, description="the call runs")

    assert served.server is not None
    served.server.should_exit = True  # as SIGTERM does
    await wait_until(lambda: all(c.loose for c in clients), description="every goodbye")
    late = clients[0].begin_call("app:slow", {})
    with pytest.raises(Exception, match="UNAVAILABLE"):
        await late
    release.set()

    assert await answer == "done"
    assert [await client.until_closed() for client in clients] == [1001] * 10
    goodbyes = [client.loose[0] for client in clients]
    assert {frame["type"] for frame in goodbyes} == {"goodbye"}
    assert len({frame["retryAfter"] for frame in goodbyes}) > 1, "they do not come back together"
    for client in clients:
        await client.close()


async def test_a_call_that_never_ends_does_not_hold_the_server() -> None:
    async with gateway_server(GatewayOptions(drain_s=0.1)) as served:

        async def endless(args: Mapping[str, Json], caller: Identity) -> Json:
            await asyncio.Event().wait()
            return None

        served.functions.by_ref["app:endless"] = endless
        async with ws_client(served.url) as client:
            client.begin_call("app:endless", {}).cancel()
            await wait_until(lambda: len(served.gateway.calls) == 1, description="the call runs")

            async with asyncio.timeout(5):
                await served.gateway.drain()

            assert await client.until_closed() == 1001
