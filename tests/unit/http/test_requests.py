"""What HTTP takes, what it refuses, and in which words."""

import json
import math
from collections.abc import AsyncIterator

import pytest
from pydantic import JsonValue

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import action, mutation, query
from app.domain.errors import Conflict, RateLimited
from app.http.requests import MAX_BODY
from tests.support.backend import Backend


@query
async def echo(ctx: QueryContext, value: JsonValue = None) -> dict[str, JsonValue]:
    return {"value": value, "user": ctx.auth.user_id}


@action
async def break_down(ctx: ActionContext) -> None:
    raise RuntimeError("the password is swordfish")


@action
async def refuse(ctx: ActionContext) -> None:
    raise RateLimited("slow down", {"retryAfter": 3})


@mutation
async def collide(ctx: MutationContext) -> None:
    raise Conflict("taken", {"by": "ann"})


@action
async def refuse_oddly(ctx: ActionContext, retry_after: float | None = None) -> None:
    raise Conflict("taken", {"by": object()} if retry_after is None else {"retryAfter": math.nan})


@pytest.fixture(autouse=True)
def _functions(backend: Backend) -> None:
    backend.registry.add("team", [echo, break_down, refuse, collide, refuse_oddly])


async def test_a_function_is_called_with_the_body_as_arguments(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        answer = await ann.post("/functions/team:echo", json={"value": [1, "zwei", None]})

    assert answer.json() == {"value": [1, "zwei", None], "user": "ann"}
    assert answer.headers["cache-control"] == "no-store"


async def test_no_body_is_no_argument(backend: Backend) -> None:
    async with backend.client() as nobody:
        answer = await nobody.post("/functions/team:echo")

    assert answer.json() == {"value": None, "user": None}


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        pytest.param(b"{", {}, "not JSON", id="broken"),
        pytest.param(b"[1]", {}, "has to be a JSON object", id="list"),
        pytest.param(b'{"value": NaN}', {}, "not JSON", id="nan"),
        pytest.param(b'{"value": "\xff"}', {}, "not JSON", id="not-utf8"),
        pytest.param(b'{"other": 1}', {}, "there is no such argument", id="unknown-argument"),
        pytest.param(b"{}", {"content-type": "text/plain"}, "application/json", id="another-type"),
        pytest.param(b"{}", {"idempotency-key": ""}, "Idempotency-Key", id="empty-key"),
        pytest.param(b"{}", {"idempotency-key": "k" * 201}, "Idempotency-Key", id="long-key"),
        pytest.param(b"[" * 100_000, {}, "not JSON", id="too-deep"),
    ],
)
async def test_a_request_that_makes_no_sense_is_told_why(
    backend: Backend, body: bytes, headers: dict[str, str], says: str
) -> None:
    async with backend.client() as client:
        answer = await client.post(
            "/functions/team:echo",
            content=body,
            headers={"content-type": "application/json", **headers},
        )

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ARGUMENT")
    assert says in answer.json()["message"]


async def test_a_body_above_the_limit_is_refused_however_it_is_sent(backend: Backend) -> None:
    body = json.dumps({"value": "x" * MAX_BODY}).encode()

    async def in_chunks() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 65536):
            yield body[begin : begin + 65536]

    headers = {"content-type": "application/json"}
    async with backend.client() as client:
        whole = await client.post("/functions/team:echo", content=body, headers=headers)
        chunked = await client.post("/functions/team:echo", content=in_chunks(), headers=headers)

    for answer in (whole, chunked):
        assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "message: Field required"),
        ({"message": 1}, "message: Input should be a valid string"),
        ({"message": "  "}, "the text is empty"),
        ({"message": "x", "more": 1}, "more: Extra inputs are not permitted"),
        ({"message": "x", "session_id": "k"}, "session_id: Extra inputs are not permitted"),
        ({"message": "x", "goal": "win"}, "goal: not supported"),
        ({"message": "x", "mode": "plan"}, "mode: not supported"),
        ({"message": "x", "outputSchema": {}}, 'expected a JSON Schema with "type": "object"'),
        ({"message": "x", "outputSchema": {"type": "array"}}, 'with "type": "object"'),
        ({"message": "x", "outputSchema": "object"}, 'with "type": "object"'),
        ({"message": "x", "sessionId": "a\nb"}, "printable"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_told_why(
    backend: Backend, body: dict[str, object], says: str
) -> None:
    async with backend.client() as client:
        answer = await client.post("/agents/support", json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ARGUMENT")
    assert says in answer.json()["message"]


async def test_a_deliberate_error_keeps_its_code_status_and_data(backend: Backend) -> None:
    async with backend.client() as client:
        refused = await client.post("/functions/team:refuse")
        collided = await client.post("/functions/team:collide")

    assert refused.status_code == 429
    assert refused.json() == {
        "code": "RATE_LIMITED",
        "message": "slow down",
        "data": {"retryAfter": 3},
    }
    assert (collided.status_code, collided.json()["data"]) == (409, {"by": "ann"})


@pytest.mark.parametrize("key", [{}, {"idempotency-key": "k"}], ids=["once", "under-a-key"])
@pytest.mark.parametrize(
    ("given", "shown"),
    [({}, None), ({"retryAfter": 1}, {"retryAfter": None})],
    ids=["no-json", "no-number"],
)
async def test_an_error_whose_data_nobody_can_say_keeps_its_code(
    backend: Backend, given: dict[str, float], shown: object, key: dict[str, str]
) -> None:
    async with backend.client("ann") as ann:
        answers = [
            await ann.post("/functions/team:refuseOddly", json=given, headers=key) for _ in range(2)
        ]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
        assert answer.json().get("data") == shown
        assert "retry-after" not in answer.headers


async def test_what_broke_is_logged_and_not_told(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async with backend.client() as client:
        answer = await client.post("/functions/team:breakDown")

    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    assert "swordfish" not in answer.text
    assert "swordfish" in caplog.text


@pytest.mark.parametrize(
    "path",
    [
        "/agents/%00",
        "/agents/%00/sessions",
        "/agents/support/sessions/%00",
        "/agents/support/sessions?before=%00",
        "/agents/support/sessions/k?limit=0",
        "/agents/support/sessions/k?before=x",
        "/agents/nobody-home/sessions",
        "/runs/%00",
        "/functions/%00",
        "/agents/%ff%fe/sessions",
    ],
)
async def test_no_address_breaks_the_server(backend: Backend, path: str) -> None:
    async with backend.client("ann") as client:
        answer = await client.get(path)

    assert answer.status_code in {400, 404, 405}
    assert set(answer.json()) <= {"code", "message", "data"}


@pytest.mark.parametrize(("method", "path"), [("GET", "/nowhere"), ("DELETE", "/agents")])
async def test_an_address_that_there_is_not_answers_like_the_others(
    backend: Backend, method: str, path: str
) -> None:
    async with backend.client() as client:
        answer = await client.request(method, path)

    assert answer.status_code in {404, 405}
    assert set(answer.json()) == {"code", "message"}


async def test_a_prompt_repeated_under_its_key_starts_one_run(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        key = {"idempotency-key": "send-1"}
        first = await ann.post("/agents/support", json={"message": "hi"}, headers=key)
        second = await ann.post("/agents/support", json={"message": "hi"}, headers=key)
        other = await ann.post("/agents/support", json={"message": "ho"}, headers=key)
        session = f"/agents/support/sessions/{first.json()['sessionId']}"
        shown = (await ann.get(session)).json()

    assert second.json() == first.json()
    assert other.json()["code"] == "INVALID_ARGUMENT"
    assert shown["messages"][0]["dedupe"] == "send-1"
