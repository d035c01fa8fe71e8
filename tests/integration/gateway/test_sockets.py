"""What a socket may say, and what it is answered."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from app.domain.errors import Conflict, DeclarationError, RateLimited, StoreUnavailable
from app.domain.identity import Identity
from app.domain.storable import Json
from app.gateway.asgi import GatewayOptions
from app.gateway.session_state import Limits
from app.protocol.peer import Peers
from app.protocol.wire import MAX_FRAME
from app.settings import Settings
from tests.support.gateway_server import GatewayServer, gateway_server
from tests.support.wait_until import wait_until
from tests.support.ws_client import CallFailed, WsClient, ws_client

pytestmark = pytest.mark.req("IMP-04")


@pytest.fixture
async def served() -> AsyncIterator[GatewayServer]:
    async with gateway_server() as made:
        yield made


# ---------------------------------------------------------------- hello


async def test_a_welcome_says_who_the_socket_speaks_for(served: GatewayServer) -> None:
    async with ws_client(served.url) as nobody, ws_client(served.url, "ann") as ann:
        assert nobody.welcome["identity"] is None
        assert ann.welcome["identity"] == {"userId": "ann", "roles": []}
        assert nobody.welcome["session"] != ann.welcome["session"]
        assert ann.socket.subprotocol == "ropewalk.v1"
        assert ann.socket.protocol.extensions == [], "no compression"


async def test_a_client_need_not_wait_for_its_welcome(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    client = WsClient(served.url, "ann")
    await client.open()

    await client.send(type="hello", protocol=1, token=client.token)
    view = await client.watch("t")

    assert view.texts == ["one"]
    await client.close()


async def test_a_refused_token_is_told_and_another_hello_may_follow(served: GatewayServer) -> None:
    served.people.revoked.add("old")
    client = WsClient(served.url)
    await client.open()

    await client.send(type="hello", protocol=1, token="old")  # noqa: S106 - a name
    refusal = await client.until_error()
    await client.send(type="hello", protocol=1, token="new")  # noqa: S106 - a name
    await wait_until(lambda: client.welcome, description="a welcome")

    assert refusal["code"] == "UNAUTHENTICATED"
    await client.close()


async def test_another_protocol_version_is_closed_with_4400(served: GatewayServer) -> None:
    client = WsClient(served.url)
    await client.open()

    await client.send(type="hello", protocol=2)

    assert await client.until_closed() == 4400
    await client.close()


async def test_a_socket_without_hello_is_closed_with_4408(served: GatewayServer) -> None:
    client = WsClient(served.url)
    await client.open()
    await wait_until(lambda: served.metric("sockets") == 1, description="the socket is counted")

    served.sweep_after(11)

    assert await client.until_closed() == 4408
    await client.close()


# ---------------------------------------------------------------- malformed and too much


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("not json", id="no-json"),
        pytest.param('"text"', id="no-object"),
        pytest.param('{"type": "dance"}', id="unknown-type"),
        pytest.param('{"type": "subscribe", "id": "x"}', id="field-missing"),
        pytest.param('{"type": "ping", "extra": 1}', id="field-unknown"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b'{"type": "ping"}', id="binary"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
async def test_a_malformed_frame_is_answered_and_the_socket_lives(
    served: GatewayServer, frame: str | bytes
) -> None:
    async with ws_client(served.url) as client:
        await client.socket.send(frame)
        refusal = await client.until_error()

        await client.ping()

        assert refusal["code"] == "INVALID_ARGUMENT"


async def test_garbage_without_end_is_closed_with_1008(served: GatewayServer) -> None:
    async with ws_client(served.url) as client:
        for _ in range(150):
            await client.socket.send("{")

        assert await client.until_closed() == 1008


async def test_an_oversized_frame_is_closed_with_1009(served: GatewayServer) -> None:
    async with ws_client(served.url) as client:
        await client.socket.send("x" * (MAX_FRAME + 1))

        assert await client.until_closed() == 1009


async def test_an_id_in_use_is_refused_and_the_old_subscription_lives_on(
    served: GatewayServer,
) -> None:
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        view = await client.watch("t", id_="s")
        await client.send(
            type="subscribe", id="s", query="agents:agentThread", args={"key": "other"}
        )
        refusal = await client.until_error()

        served.threads.say("t", "two")
        await wait_until(lambda: len(view.texts) == 2, description="the delta")

        assert (refusal["id"], refusal["code"]) == ("s", "INVALID_ARGUMENT")


async def test_more_subscriptions_than_allowed_are_refused() -> None:
    options = GatewayOptions(limits=Limits(subscriptions=3))
    async with gateway_server(options) as served, ws_client(served.url) as client:
        for number in range(3):
            await client.watch(f"t{number}")
        await client.send(type="subscribe", id="x", query="agents:agentThread", args={"key": "t"})

        assert (await client.until_error())["code"] == "RATE_LIMITED"


# ---------------------------------------------------------------- calls


async def test_a_call_is_answered_with_the_functions_value(served: GatewayServer) -> None:
    async def who(args: Mapping[str, Json], caller: Identity) -> Json:
        return {"user": caller.user_id, "said": args["text"], "odd": "\ud800 \x00"}

    served.functions.by_ref["app:who"] = who
    async with ws_client(served.url, "ann") as client:
        value = await client.call("app:who", {"text": "hé👋"}, dedupe="d-1")

    assert value == {"user": "ann", "said": "hé👋", "odd": "\ufffd \ufffd"}
    assert served.functions.dedupes == ["d-1"]


async def test_an_answer_that_changed_nothing_waits_for_nothing_that_is_watched(
    served: GatewayServer,
) -> None:
    gate = asyncio.Event()

    async def answer(args: Mapping[str, Json], caller: Identity) -> Json:
        return "answered"

    async def slow(args: Mapping[str, Json], caller: Identity) -> Json:
        await gate.wait()
        return "late"

    served.functions.by_ref |= {"app:slow": slow, "app:read": answer, "app:write": answer}
    served.functions.queries = {"app:slow", "app:read"}
    async with ws_client(served.url, "ann") as client:
        asking = asyncio.create_task(client.ask("app:slow"))
        await wait_until(lambda: "app:slow" in served.functions.asked, description="it is asked")
        writing = asyncio.create_task(client.call("app:write", {}))
        await wait_until(lambda: "app:write" in served.functions.asked, description="it ran")

        assert await client.call("app:read", {}) == "answered"
        assert not writing.done()

        gate.set()
        view = await asking
        assert (await writing, view.value) == ("answered", "late")


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        pytest.param(Conflict("busy", {"runId": "r"}), "CONFLICT", "busy", id="the-callers"),
        pytest.param(StoreUnavailable("away"), "UNAVAILABLE", "away", id="passing"),
        pytest.param(
            DeclarationError("secret path"),
            "INTERNAL",
            "something went wrong on our side",
            id="the-authors",
        ),
        pytest.param(
            RuntimeError("password=hunter2"),
            "INTERNAL",
            "something went wrong on our side",
            id="unexpected",
        ),
    ],
)
async def test_what_a_function_raises_is_told_by_its_code_and_never_leaked(
    served: GatewayServer,
    caplog: pytest.LogCaptureFixture,
    raised: Exception,
    code: str,
    message: str,
) -> None:
    async def failing(args: Mapping[str, Json], caller: Identity) -> Json:
        raise raised

    served.functions.by_ref["app:fail"] = failing
    async with ws_client(served.url) as client:
        with pytest.raises(CallFailed) as refused:
            await client.call("app:fail", {})

    assert (refused.value.code, refused.value.frame["message"]) == (code, message)
    assert refused.value.frame.get("data") == getattr(raised, "data", None)
    assert ("app:fail failed" in caplog.text) is (code == "INTERNAL")


async def test_a_result_that_is_no_json_is_our_fault(served: GatewayServer) -> None:
    async def odd(args: Mapping[str, Json], caller: Identity) -> Any:  # noqa: ANN401 - on purpose
        return {"socket": object()}

    served.functions.by_ref["app:odd"] = odd
    async with ws_client(served.url) as client:
        with pytest.raises(CallFailed) as refused:
            await client.call("app:odd", {})

    assert refused.value.code == "INTERNAL"


@pytest.mark.req("ACC-05")
async def test_a_function_that_does_not_exist_is_not_found(served: GatewayServer) -> None:
    async with ws_client(served.url, "root") as client:
        with pytest.raises(CallFailed) as refused:
            await client.call("agents:agentAppendMessage", {"key": "t"})

    assert refused.value.code == "NOT_FOUND"


async def test_slow_calls_hold_up_nothing(served: GatewayServer) -> None:
    release = asyncio.Event()

    async def slow(args: Mapping[str, Json], caller: Identity) -> Json:
        await release.wait()
        return "slow"

    async def quick(args: Mapping[str, Json], caller: Identity) -> Json:
        return "quick"

    served.functions.by_ref |= {"app:slow": slow, "app:quick": quick}
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        first = client.begin_call("app:slow", {})
        assert await client.call("app:quick", {}) == "quick"
        view = await client.watch("t")
        release.set()

        assert await first == "slow"
        assert view.texts == ["one"]


async def test_a_call_flood_is_refused_beyond_64_in_flight(served: GatewayServer) -> None:
    release = asyncio.Event()

    async def slow(args: Mapping[str, Json], caller: Identity) -> Json:
        await release.wait()
        return None

    served.functions.by_ref["app:slow"] = slow
    async with ws_client(served.url) as client:
        answers = [client.begin_call("app:slow", {}) for _ in range(100)]
        await wait_until(
            lambda: sum(answer.done() for answer in answers) == 36, description="36 refusals"
        )
        release.set()
        results = await asyncio.gather(*answers, return_exceptions=True)

    codes = [result.code for result in results if isinstance(result, CallFailed)]
    assert codes == ["RATE_LIMITED"] * 36
    assert results.count(None) == 64


async def test_a_call_above_the_callers_limit_is_told_when_to_come_again() -> None:
    counted: list[tuple[str | None, str]] = []

    async def admit(caller: Identity, address: str) -> None:
        counted.append((caller.user_id, address))
        if len(counted) > 1:
            raise RateLimited("too many calls", {"retryAfter": 1.5})

    async def answer(args: Mapping[str, Json], caller: Identity) -> Json:
        return caller.user_id

    async with gateway_server(GatewayOptions(peers=Peers(1))) as served:
        served.gateway.admit = admit
        served.functions.by_ref["team:who"] = answer
        async with ws_client(served.url, "ann") as client:
            assert await client.call("team:who", {}) == "ann"
            with pytest.raises(CallFailed) as refused:
                await client.call("team:who", {})
            await client.ping()
        headers = {"x-forwarded-for": "6.6.6.6, 1.1.1.1"}
        async with connect(served.url, additional_headers=headers) as socket:
            await socket.send('{"type":"hello","protocol":1}')
            await socket.send('{"type":"call","id":"c","fn":"team:who","args":{}}')
            await socket.recv()
            frame = json.loads(await socket.recv())

    assert (refused.value.code, refused.value.frame["data"]) == (
        "RATE_LIMITED",
        {"retryAfter": 1.5},
    )
    assert (frame["id"], frame["code"]) == ("c", "RATE_LIMITED")
    assert counted == [("ann", "127.0.0.1"), ("ann", "127.0.0.1"), (None, "1.1.1.1")]


async def test_a_call_outlives_its_socket(served: GatewayServer) -> None:
    release, done = asyncio.Event(), asyncio.Event()

    async def slow(args: Mapping[str, Json], caller: Identity) -> Json:
        await release.wait()
        done.set()
        return None

    served.functions.by_ref["app:slow"] = slow
    async with ws_client(served.url) as client:
        client.begin_call("app:slow", {}).cancel()
        await wait_until(lambda: len(served.gateway.calls) == 1, description="the call runs")
        await client.cut()
        await wait_until(lambda: served.metric("sockets") == 0, description="the socket is gone")
        release.set()

        async with asyncio.timeout(5):
            await done.wait()


# ---------------------------------------------------------------- who is speaking


@pytest.mark.req("ACC-01")
async def test_a_new_token_on_a_live_socket_checks_its_subscriptions_again(
    served: GatewayServer,
) -> None:
    served.threads.start("t", "secret", owner="ann")
    async with ws_client(served.url, "bob") as client:
        view = await client.watch("t")
        assert view.value == []

        await client.send(type="auth", token="ann")  # noqa: S106 - a name
        await wait_until(lambda: view.texts, description="the owner's snapshot")

        assert view.texts == ["secret"]
        assert client.welcome["identity"]["userId"] == "ann"


async def test_b65_a_token_revoked_on_a_live_socket_ends_it_within_the_stated_time(
    served: GatewayServer,
) -> None:
    async with ws_client(served.url, "ann") as client:
        served.people.revoked.add("ann")
        judged = served.people.judged

        await served.pass_time(served.gateway.limits.recheck_s + 1, client)
        refusal = await client.until_error()
        assert refusal["code"] == "UNAUTHENTICATED"
        assert "id" not in refusal
        await client.ping()
        served.sweep_after(11)

        assert await client.until_closed() == 4401
        assert served.people.judged == judged + 1


async def test_nobody_is_cut_off_because_the_key_server_is_away(served: GatewayServer) -> None:
    async with ws_client(served.url, "ann") as client:
        served.people.failure = StoreUnavailable("no keys")

        await served.pass_time(4 * served.gateway.limits.recheck_s, client)

        await client.ping()
        assert served.people.judged > 2


async def test_a_silent_peer_is_probed_and_cut(served: GatewayServer) -> None:
    async with ws_client(served.url) as client, ws_client(served.url) as silent:
        silent.socket.transport.pause_reading()

        await served.pass_time(50, client)
        silent.socket.transport.resume_reading()

        assert await silent.until_closed() == 1011
        assert client.close_code is None


# ---------------------------------------------------------------- the door


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        pytest.param("https://chat.example", None, id="allowed"),
        pytest.param("https://evil.example", 403, id="foreign"),
        pytest.param("http://chat.example", 403, id="without-tls"),
        pytest.param("https://chat.example:8443", 403, id="another-port"),
        pytest.param("https://chat.example.evil.example", 403, id="allowed-as-a-prefix"),
        pytest.param("https://evil.example/https://chat.example", 403, id="allowed-as-an-end"),
        pytest.param("null", 403, id="a-sandboxed-frame"),
        pytest.param("", 403, id="empty"),
        pytest.param("HTTPS://Chat.Example", None, id="case"),
        pytest.param("https://chat.example:443", None, id="its-usual-port"),
        pytest.param("http://localhost:5173", None, id="a-port-that-is-allowed"),
        pytest.param("http://localhost", 403, id="without-the-port"),
        pytest.param(None, None, id="a-server"),
    ],
)
async def test_only_allowed_pages_may_connect(origin: str | None, status: int | None) -> None:
    pages = Settings(allowed_origins="https://Chat.example/, http://localhost:5173").origins
    options = GatewayOptions(origins=pages)
    async with gateway_server(options) as served:
        refused: int | None = None
        try:
            async with connect(served.url, origin=None if origin is None else Origin(origin)):
                pass
        except InvalidStatus as error:
            refused = error.response.status_code

        assert refused == status


async def test_another_subprotocol_is_refused(served: GatewayServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(served.url, subprotocols=[Subprotocol("graphql-ws")])

    assert refused.value.response.status_code == 400


async def test_a_fragmented_message_is_one_message(served: GatewayServer) -> None:
    served.threads.start("t", "one")
    async with ws_client(served.url) as client:
        frame = json.dumps(
            {"type": "subscribe", "id": "s", "query": "agents:agentThread", "args": {"key": "t"}}
        )
        await client.socket.send([frame[:10], frame[10:40], frame[40:]])

        await wait_until(lambda: client.loose, description="the snapshot")
        assert client.loose[0]["value"]["key"] == "t"


async def test_a_socket_that_goes_while_its_token_is_judged_leaves_nothing(
    served: GatewayServer,
) -> None:
    release = asyncio.Event()
    judge = served.gateway.authenticate

    async def slowly(token: str | None) -> Identity:
        await release.wait()
        return await judge(token)

    served.gateway.authenticate = slowly
    client = WsClient(served.url, "ann")
    await client.open()
    await client.send(type="hello", protocol=1, token=client.token)
    await client.send(type="subscribe", id="s", query="agents:agentThread", args={"key": "t"})
    await client.cut()
    await wait_until(lambda: served.metric("sockets") == 0, description="the socket is gone")

    release.set()
    await wait_until(lambda: served.people.judged == 1, description="the verdict")

    assert served.metric("feeds") == 0


async def test_a_server_that_leaves_takes_no_new_socket(served: GatewayServer) -> None:
    await served.gateway.drain()

    with pytest.raises(InvalidStatus) as refused:
        await connect(served.url)

    assert refused.value.response.status_code == 503
