"""``/openapi.json`` describes the routes as they are: every address, body and answer."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import pytest
from httpx2 import Response as Answer
from jsonschema import Draft202012Validator
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.domain.run import Ending
from tests.support.backend import AFinding, Backend, memory_backend
from tests.support.store_world import StoreWorld, an_answer
from tests.support.told_runs import told_so_far

METHODS = {"get", "post"}


async def _streams(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotImplementedError


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    return memory_backend(world, streams=_streams, retell=told_so_far)


async def description(backend: Backend) -> Any:  # noqa: ANN401  # JSON
    async with backend.client() as nobody:
        return (await nobody.get("/openapi.json")).json()


def template(route: Route) -> str:
    path = re.sub(r":path}", "}", route.path)
    return re.sub(r"_(\w)", lambda found: found[1].upper(), path)


def schema_at(document: Any, reference: Mapping[str, Any]) -> Draft202012Validator:  # noqa: ANN401
    """Return a validator for a schema of the description, which may refer to others."""
    return Draft202012Validator({**reference, "components": document["components"]})


async def test_every_route_is_described_and_nothing_else(backend: Backend) -> None:
    document = await description(backend)

    served = {
        (template(route), method.lower())
        for route in backend.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    described = {(path, method) for path, found in document["paths"].items() for method in found}
    assert described == served - {("/openapi.json", "get")}
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "1.2.3"


async def test_every_operation_is_whole(backend: Backend) -> None:
    document = await description(backend)
    identifiers = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            assert operation["summary"], path
            identifiers.append(operation["operationId"])
            declared = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path)), path
            assert all(each["required"] for each in operation["parameters"] if each["in"] == "path")
            assert {"default"} < set(operation["responses"])
            for status, answer in operation["responses"].items():
                assert answer["description"]
                assert ("content" in answer) == (status != "204")
                for content in answer.get("content", {}).values():
                    schema_at(document, content["schema"]).check_schema(content["schema"])
    assert len(set(identifiers)) == len(identifiers)
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)


async def test_every_reference_leads_somewhere(backend: Backend) -> None:
    document = await description(backend)

    def references(value: object) -> set[str]:
        match value:
            case {"$ref": str(found)}:
                return {found}
            case dict():
                return set().union(*map(references, value.values()))
            case list():
                return set().union(*map(references, value))
            case _:
                return set()

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


async def test_what_is_answered_is_what_is_described(backend: Backend, world: StoreWorld) -> None:
    document = await description(backend)
    seen: set[tuple[str, str]] = set()

    def check(path: str, method: str, answer: Answer) -> Any:  # noqa: ANN401  # JSON
        responses = document["paths"][path][method]["responses"]
        found = responses.get(str(answer.status_code), responses["default"])
        seen.add((path, method))
        if answer.status_code == HTTPStatus.NO_CONTENT:
            assert (found.keys(), answer.content) == ({"description"}, b"")
            return None
        content = found["content"]["application/json"]
        schema_at(document, content["schema"]).validate(answer.json())
        return answer.json()

    backend.findings = [AFinding("stranded", "thread k is busy with run r, which has ended")]
    async with backend.client("ann") as ann, backend.client("root", "admin") as admin:
        check("/agents", "get", await ann.get("/agents"))
        check("/agents/{slug}", "get", await ann.get("/agents/support"))
        check("/agents/{slug}", "get", await ann.get("/agents/none"))
        asked = {"message": "hi", "sessionId": "k"}
        started = check("/agents/{slug}", "post", await ann.post("/agents/support", json=asked))
        check("/agents/{slug}", "post", await ann.post("/agents/support", json=asked))
        session = "/agents/{slug}/sessions/{sessionId}"
        mine = "/agents/support/sessions/k"
        waits = await ann.post(f"{mine}/signals", json={"message": "more"})
        check(f"{session}/signals", "post", waits)
        claimed = await world.claim()
        check(session, "get", await ann.get(mine))
        event = await ann.post(f"/runs/{started['runId']}/events", json={"name": "paid"})
        check("/runs/{runId}/events", "post", event)
        await world.store.record(claimed.fence, an_answer(claimed.fence, 0))
        check("/runs/{runId}", "get", await ann.get(f"/runs/{started['runId']}"))
        await world.store.finish(claimed.fence, Ending.failed("BROKEN", "it broke"), None)
        check(session, "get", await ann.get(mine))
        check("/agents/{slug}/sessions", "get", await ann.get("/agents/support/sessions"))
        check("/runs/{runId}/retry", "post", await ann.post(f"/runs/{started['runId']}/retry"))
        check(f"{session}/retry", "post", await ann.post(f"{mine}/retry", json={"runId": "no"}))
        check("/runs/{runId}/cancel", "post", await ann.post(f"/runs/{started['runId']}/cancel"))
        check(f"{session}/cancel", "post", await ann.post(f"{mine}/cancel"))
        await ann.post("/agents/support", json={"message": "again", "sessionId": "gated"})
        gated = await world.claim()
        await world.ask(gated, "call_1", gated=["call_1"])
        theirs = "/agents/support/sessions/gated/approvals"
        listed = check("/approvals", "get", await ann.get("/approvals"))
        check(f"{session}/approvals", "get", await ann.get(theirs))
        decision = {"decision": "approved"}
        (waiting,) = listed["approvals"]
        one = await ann.post(f"{theirs}/{waiting['id']}", json=decision)
        check(f"{session}/approvals/{{approvalId}}", "post", one)
        many = {"decisions": [{"approvalId": waiting["id"], **decision}]}
        check(f"{session}/approvals", "post", await ann.post(theirs, json=many))
        check("/approvals", "get", await ann.get("/approvals?status=all"))
        again = await ann.post(f"{mine}/regenerate")
        branch = check(f"{session}/regenerate", "post", again)["sessionId"]
        (first, *_) = (await ann.get(mine)).json()["messages"]
        edit = await ann.post(f"{mine}/messages/{first['id']}/edit", json={"message": "ho"})
        check(f"{session}/messages/{{messageId}}/edit", "post", edit)
        check(f"{session}/branches", "get", await ann.get(f"{mine}/branches"))
        select = await ann.post(f"{mine}/branches/{branch}/select")
        check(f"{session}/branches/{{branchId}}/select", "post", select)
        check(f"{session}/fork", "post", await ann.post(f"{mine}/fork"))
        chat = "/agents/{slug}/ai-sdk/{sessionId}"
        check(chat, "get", await ann.get("/agents/support/ai-sdk/k"))
        check(f"{chat}/cancel", "post", await ann.post("/agents/support/ai-sdk/k/cancel"))
        thread = await ann.post("/functions/agents:agentThread", json={"key": "k"})
        check("/functions/{ref}", "post", thread)
        check("/healthz", "get", await ann.get("/healthz"))
        check("/readyz", "get", await ann.get("/readyz"))
        check("/doctor", "post", await admin.post("/doctor", json={"mend": True}))
        check("/doctor", "post", await ann.post("/doctor"))

    left = {
        (path, method) for path, methods in document["paths"].items() for method in methods
    } - seen
    streams = {(f"{session}/stream", "get"), (f"{chat}/stream", "get")}
    streams |= {("/agents/{slug}/ai-sdk", "post"), ("/agents/{slug}/ag-ui", "post")}
    assert left == streams | {("/metrics", "get")}


@pytest.mark.parametrize(
    ("path", "body", "is_right"),
    [
        ("/agents/{slug}", {"message": "hi"}, True),
        ("/agents/{slug}", {}, False),
        ("/agents/{slug}", {"message": "hi", "extra": 1}, False),
        ("/agents/{slug}/sessions/{sessionId}/signals", {"message": "hi", "mode": "queue"}, True),
        ("/agents/{slug}/sessions/{sessionId}/signals", {"message": "hi", "mode": "shout"}, False),
        ("/runs/{runId}/events", {"name": "paid", "payload": [1]}, True),
        ("/functions/{ref}", {"anything": 1}, True),
        ("/agents/{slug}/ai-sdk", {"id": "k", "messages": [{}], "theirs": 1}, True),
        ("/agents/{slug}/ai-sdk", {"id": "k", "messages": []}, False),
        ("/agents/{slug}/ag-ui", {"threadId": "k", "runId": "r", "messages": []}, True),
        ("/agents/{slug}/ag-ui", {"threadId": "k", "messages": []}, False),
    ],
)
async def test_a_body_is_described_as_it_is_read(
    backend: Backend, path: str, body: dict[str, object], *, is_right: bool
) -> None:
    document = await description(backend)

    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]

    assert schema_at(document, content["schema"]).is_valid(body) is is_right
