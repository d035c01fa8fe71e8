"""The same frames as a socket's, for those who have HTTP alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import pytest

from app.domain.errors import RateLimited, StoreUnavailable
from app.domain.identity import Identity
from app.gateway.asgi import GatewayOptions
from app.gateway.session_state import Limits
from tests.support.event_reader import EventReader, event_reader
from tests.support.gateway_server import GatewayServer, gateway_server
from tests.support.wait_until import wait_until
from tests.support.ws_client import ws_client

pytestmark = pytest.mark.req("IMP-04")


@pytest.fixture
async def served() -> AsyncIterator[GatewayServer]:
    async with gateway_server() as made:
        yield made


async def until_told(reader: EventReader) -> None:
    """Wait for the first answer of both queries."""
    await wait_until(
        lambda: reader.messages.cursor and reader.thread.cursor, description="both answers"
    )


# ---------------------------------------------------------------- what is read


@pytest.mark.req("SUB-01", "SUB-02", "SUB-07")
async def test_a_run_is_told_in_the_frames_of_the_socket(served: GatewayServer) -> None:
    run = served.threads.start("t", "one")
    async with event_reader(served.stream_url("t")) as reader, ws_client(served.url) as client:
        rows, thread = await client.watch("t"), await client.watch_thread("t")
        await until_told(reader)
        await wait_until(lambda: served.tokens.watched, description="tokens are heard")
        served.tokens.say(served.threads.thread("t").id, run, "tw")
        served.tokens.say(served.threads.thread("t").id, run, "o")
        await wait_until(lambda: reader.messages.spoken == "two", description="the text so far")
        served.threads.say("t", "two")
        served.threads.finish("t")
        await wait_until(
            lambda: reader.thread.value["status"] == "completed", description="the end"
        )
        await wait_until(lambda: thread.value["status"] == "completed", description="there too")

        assert reader.headers["content-type"] == "text/event-stream"
        assert reader.messages.texts == ["one", "two"]
        assert reader.messages.frames[-1] == rows.frames[-1]
        assert reader.thread.frames[-1] == thread.frames[-1]


@pytest.mark.req("SUB-03")
async def test_who_comes_back_with_the_last_id_misses_nothing(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with event_reader(served.stream_url("t")) as reader:
        await until_told(reader)
        served.threads.say("t", "two")
        await wait_until(lambda: len(reader.messages.rows) == 2, description="a delta")
        await reader.close()

        served.threads.say("t", "three", turn=1)
        served.threads.finish("t")
        before = len(reader.messages.frames)
        await reader.open()
        await wait_until(lambda: len(reader.messages.rows) == 3, description="what was missed")

        answer = reader.messages.frames[before]
        assert answer["type"] == "delta"
        assert [op["row"]["text"] for op in answer["ops"]] == ["three"]
        await wait_until(
            lambda: reader.thread.value["status"] == "completed", description="the thread"
        )


@pytest.mark.req("SUB-03")
async def test_the_last_id_is_never_ahead_of_the_messages(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with event_reader(served.stream_url("t")) as reader:
        await until_told(reader)
        first = reader.last_id

        served.threads.touch("t", title="Another title")
        await wait_until(
            lambda: reader.thread.value["title"] == "Another title", description="the title"
        )

        assert reader.last_id == first == reader.messages.cursor
        assert reader.thread.cursor != first


@pytest.mark.req("SUB-03")
async def test_a_key_that_looks_like_a_cursor_confuses_nobody(served: GatewayServer) -> None:
    key = 'a/b,"cursor":"x.1"'
    served.threads.start(key, "one")
    async with event_reader(served.stream_url("a%2Fb,%22cursor%22:%22x.1%22")) as reader:
        await until_told(reader)

        assert reader.messages.texts == ["one"]
        assert reader.last_id == reader.messages.cursor == "memory-1.1"


async def test_an_id_of_another_history_is_answered_by_a_snapshot(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with event_reader(served.stream_url("t"), last_id="elsewhere.7") as reader:
        await until_told(reader)

        assert reader.messages.frames[0]["type"] == "snapshot"


# ---------------------------------------------------------------- who may read


@pytest.mark.req("ACC-01")
@pytest.mark.parametrize(
    ("key", "agent", "token"),
    [
        pytest.param("mine", "support", "ben", id="a-strangers"),
        pytest.param("mine", "support", None, id="nobodys"),
        pytest.param("missing", "support", "ann", id="missing"),
        pytest.param("mine", "sales", "ann", id="of-another-agent"),
        pytest.param("x" * 301, "support", "ann", id="too-long"),
        pytest.param("mine%00", "support", "ann", id="unprintable"),
    ],
)
async def test_a_session_that_is_not_there_for_the_caller_is_404(
    served: GatewayServer, key: str, agent: str, token: str | None
) -> None:
    served.threads.start("mine", owner="ann")

    async with httpx2.AsyncClient(trust_env=False) as http:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = await http.get(served.stream_url(key, agent), headers=headers)

    assert answer.status_code == 404
    assert answer.json() == {"code": "NOT_FOUND", "message": "no such session"}


@pytest.mark.req("ACC-01")
async def test_owner_and_admin_read_it(served: GatewayServer) -> None:
    served.threads.start("t", "one", owner="ann")

    for token in ("ann", "root"):
        async with event_reader(served.stream_url("t"), token) as reader:
            await until_told(reader)
            assert reader.messages.texts == ["one"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        pytest.param({"authorization": "Bearer old"}, 401, "UNAUTHENTICATED", id="revoked"),
        pytest.param({"authorization": "Basic x"}, 401, "UNAUTHENTICATED", id="not-bearer"),
        pytest.param({"last-event-id": "seven"}, 400, "INVALID_ARGUMENT", id="no-cursor"),
    ],
)
async def test_what_is_refused_says_why(
    served: GatewayServer, headers: dict[str, str], status: int, code: str
) -> None:
    served.threads.start("t")
    served.people.revoked.add("old")

    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.get(served.stream_url("t"), headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_without_a_store_it_says_so_and_may_be_asked_again(served: GatewayServer) -> None:
    served.threads.start("t")
    served.reader.failure = StoreUnavailable("away")

    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.get(served.stream_url("t"))

    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")


@pytest.mark.parametrize("method", ["HEAD", "POST"])
async def test_other_methods_open_no_stream(served: GatewayServer, method: str) -> None:
    served.threads.start("t")

    async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
        answer = await http.request(method, served.stream_url("t"))

    assert answer.status_code == {"HEAD": 200, "POST": 405}[method]
    assert len(served.gateway.streams) == 0


@pytest.mark.req("ACC-01")
async def test_b65_a_token_that_is_revoked_ends_its_stream(served: GatewayServer) -> None:
    served.threads.start("t", owner="ann")
    async with event_reader(served.stream_url("t"), "ann") as reader:
        await until_told(reader)
        served.people.revoked.add("ann")

        served.sweep_after(served.gateway.limits.recheck_s + 1)
        await wait_until(lambda: reader.is_ended, description="the end")

        assert len(served.gateway.streams) == 0


@pytest.mark.req("IMP-05")
async def test_a_stream_needs_the_scopes_of_what_it_tells(served: GatewayServer) -> None:
    served.threads.start("t", owner="ann")
    scopes = frozenset({"agents:agentMessages", "agents:agentThread"})

    async def authenticate(token: str | None) -> Identity:
        return Identity(token, scopes=scopes)

    served.gateway.authenticate = authenticate
    async with event_reader(served.stream_url("t"), "ann") as reader:
        await until_told(reader)
        scopes = frozenset({"agents:agentMessages"})
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
            refused = await http.get(
                served.stream_url("t"), headers={"authorization": "Bearer ann"}
            )
        served.sweep_after(served.gateway.limits.recheck_s + 1)
        await wait_until(lambda: reader.is_ended, description="the end")

    assert refused.status_code == 403
    assert refused.json()["message"] == "this key has no scope agents:agentThread"


@pytest.mark.req("IMP-04")
async def test_a_stream_is_a_call_like_others(served: GatewayServer) -> None:
    async def admit(caller: Identity, address: str) -> None:
        raise RateLimited(f"{caller.user_id} {address}", {"retryAfter": 0.2})

    served.threads.start("t")
    served.gateway.admit = admit
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
        refused = await http.get(served.stream_url("t"))

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["message"] == "None 127.0.0.1"


async def test_a_token_that_nobody_can_judge_just_now_ends_nothing(served: GatewayServer) -> None:
    served.threads.start("t", "one", owner="ann")
    async with event_reader(served.stream_url("t"), "ann") as reader:
        await until_told(reader)
        served.people.failure = StoreUnavailable("away")

        served.sweep_after(served.gateway.limits.recheck_s + 1)
        await wait_until(lambda: served.people.judged == 2, description="a judgement")
        served.threads.say("t", "two")
        await wait_until(lambda: len(reader.messages.rows) == 2, description="a delta")

        assert not reader.is_ended


# ---------------------------------------------------------------- how long, how much


async def test_silence_is_broken_by_comments() -> None:
    options = GatewayOptions(limits=Limits(heartbeat_s=0.05))
    async with gateway_server(options) as served:
        served.threads.start("t", "one")
        async with event_reader(served.stream_url("t")) as reader:
            await wait_until(lambda: reader.comments >= 3, description="heartbeats")
            served.threads.say("t", "two")
            await wait_until(lambda: len(reader.messages.rows) == 2, description="a delta")


async def test_who_goes_away_is_forgotten(served: GatewayServer) -> None:
    served.threads.start("t")
    async with event_reader(served.stream_url("t")) as reader:
        await until_told(reader)
        assert (len(served.gateway.streams), served.metric("feeds")) == (1, 1)

    await wait_until(lambda: len(served.gateway.streams) == 0, description="it is forgotten")
    assert served.metric("feeds") == 0


async def test_b64_a_server_that_leaves_ends_every_stream_and_says_when_to_come_back() -> None:
    async with gateway_server(GatewayOptions(spread_per_s=1)) as served:
        served.threads.start("t", "one")
        async with (
            event_reader(served.stream_url("t")) as one,
            event_reader(served.stream_url("t")) as other,
        ):
            await until_told(one)
            await until_told(other)

            await served.gateway.drain()
            await wait_until(lambda: one.is_ended and other.is_ended, description="both ends")
            async with httpx2.AsyncClient(trust_env=False) as http:
                late = await http.get(served.stream_url("t"))

            assert [frame["type"] for frame in one.loose] == ["goodbye"]
            assert one.retry_ms != other.retry_ms
            assert late.status_code == 503


@pytest.mark.req("IMP-04")
async def test_b64_a_reader_that_never_reads_is_cut_and_nobody_waits_for_it() -> None:
    async with gateway_server(GatewayOptions(slow_s=5, sweep_s=3600)) as served:
        served.threads.start("t", "one")
        address = urlsplit(served.stream_url("t"))
        _, writer = await asyncio.open_connection(address.hostname, address.port, limit=1)
        writer.write(f"GET {address.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await wait_until(lambda: len(served.gateway.streams) == 1, description="a stream")
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport reads
        async with event_reader(served.stream_url("t")) as quick:
            await until_told(quick)
            for turn in range(80):
                served.threads.say("t", "x" * 100_000, turn=turn)
                await wait_until(
                    lambda: quick.messages.cursor == f"memory-1.{turn + 2}",  # noqa: B023
                    description="rows",
                )
            served.sweep_after(6)
            await wait_until(
                lambda: len(served.gateway.streams) == 1, description="the slow one is cut"
            )

            assert served.metric("slow_readers_total", outcome="closed") == 1
            assert len(quick.messages.rows) == 81
        writer.transport.abort()


async def test_every_event_is_one_line_of_json(served: GatewayServer) -> None:
    text = "line\nline\r\n\u2028 and \u2029 :\n\ndata: no"
    served.threads.start("t", text)
    async with event_reader(served.stream_url("t")) as reader:
        await until_told(reader)

        assert reader.messages.texts == [text]
        assert json.dumps(reader.messages.frames[0])
