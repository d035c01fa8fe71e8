"""Who gets what over HTTP: owners, admins, strangers and nobody."""

import pytest

from tests.support.backend import Backend
from tests.support.store_world import StoreWorld


async def _an_owned_session(backend: Backend) -> dict[str, str]:
    async with backend.client("ann") as ann:
        started = await ann.post("/agents/support", json={"message": "secret", "sessionId": "hers"})
    found: dict[str, str] = started.json()
    return found


@pytest.mark.req("ACC-01", "ACC-02")
@pytest.mark.parametrize("user", [None, "bob"])
async def test_a_foreign_session_is_answered_byte_for_byte_like_a_missing_one(
    backend: Backend, user: str | None
) -> None:
    started = await _an_owned_session(backend)

    async with backend.client(user) as stranger:
        pairs = [
            (
                await stranger.request(method, path.format(key="hers", run=started["runId"])),
                await stranger.request(method, path.format(key="none", run="none")),
            )
            for method, path in [
                ("GET", "/agents/support/sessions/{key}"),
                ("POST", "/agents/support/sessions/{key}/cancel"),
                ("GET", "/runs/{run}"),
                ("POST", "/runs/{run}/cancel"),
            ]
        ]

    for foreign, missing in pairs:
        assert foreign.status_code == 404
        assert foreign.content == missing.content
        assert foreign.headers == missing.headers


@pytest.mark.req("ACC-01", "ACC-02")
@pytest.mark.parametrize("ref", ["agentMessages", "agentThread", "agentState"])
async def test_a_query_of_a_foreign_thread_answers_like_one_of_a_missing_one(
    backend: Backend, world: StoreWorld, ref: str
) -> None:
    await _an_owned_session(backend)
    claimed = await world.claim("support")
    await world.store.write_state(claimed.fence, '"a secret"')
    address = f"/functions/agents:{ref}"

    async with backend.client("bob") as bob, backend.client("ann") as ann:
        foreign = await bob.post(address, json={"key": "hers"})
        missing = await bob.post(address, json={"key": "none"})
        own = await ann.post(address, json={"key": "hers"})

    assert foreign.content == missing.content
    assert foreign.status_code == 200
    assert own.content != missing.content


@pytest.mark.req("ACC-01")
async def test_an_admin_reads_every_thread(backend: Backend) -> None:
    await _an_owned_session(backend)

    async with backend.client("root", "admin") as admin:
        shown = await admin.get("/agents/support/sessions/hers")

    assert shown.json()["messages"][0]["text"] == "secret"


@pytest.mark.req("ACC-03")
async def test_a_run_on_somebody_elses_thread_is_forbidden(
    backend: Backend, world: StoreWorld
) -> None:
    await _an_owned_session(backend)

    async with backend.client("bob") as bob, backend.client() as nobody:
        body = {"message": "mine now", "sessionId": "hers"}
        answers = [await each.post("/agents/support", json=body) for each in (bob, nobody)]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(403, "FORBIDDEN")] * 2
    thread = await world.reader.find("hers")
    assert thread is not None
    assert thread.owner == "ann"


@pytest.mark.req("ACC-04")
async def test_a_thread_without_an_owner_answers_to_whoever_knows_its_key(
    backend: Backend,
) -> None:
    async with backend.client() as nobody, backend.client("bob") as bob:
        await nobody.post("/agents/support", json={"message": "hello", "sessionId": "open"})
        shown = [await each.get("/agents/support/sessions/open") for each in (nobody, bob)]

    assert [each.json()["messages"][0]["text"] for each in shown] == ["hello", "hello"]


async def test_a_session_is_found_only_under_the_agent_that_began_it(backend: Backend) -> None:
    await _an_owned_session(backend)

    async with backend.client("ann") as ann:
        assert (await ann.get("/agents/desk/sessions/hers")).status_code == 404


async def test_agents_are_shown_to_those_who_may_start_them(backend: Backend) -> None:
    async with (
        backend.client() as nobody,
        backend.client("ann") as ann,
        backend.client("root", "admin") as admin,
    ):
        listed = [
            [each["slug"] for each in (await client.get("/agents")).json()["agents"]]
            for client in (nobody, ann, admin)
        ]
        inner = [(await client.get("/agents/inner")).status_code for client in (ann, admin)]

    assert listed == [["support"], ["support", "desk"], ["support", "desk", "inner"]]
    assert inner == [404, 200]


@pytest.mark.parametrize(
    ("user", "slug", "status"),
    [
        (None, "support", 202),
        (None, "desk", 401),
        ("ann", "desk", 202),
        ("ann", "inner", 404),
        ("ann", "nobody-home", 404),
    ],
)
async def test_who_may_prompt_an_agent(
    backend: Backend, user: str | None, slug: str, status: int
) -> None:
    async with backend.client(user) as client:
        answer = await client.post(f"/agents/{slug}", json={"message": "hi"})

    assert answer.status_code == status


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer ", "Basic YTpi", "nonsense"])
async def test_a_token_that_is_not_good_is_refused_everywhere(
    backend: Backend, header: str
) -> None:
    async with backend.client() as client:
        answers = [
            await client.request(method, path, headers={"authorization": header})
            for method, path in [("GET", "/agents"), ("POST", "/functions/agents:agentThread")]
        ]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.req("ACC-05", "IMP-01")
async def test_internal_functions_are_answered_like_missing_ones(backend: Backend) -> None:
    async with backend.client("root", "admin") as admin:
        answer = await admin.post("/functions/agents:agentAppendMessage", json={"key": "k"})
        missing = await admin.post("/functions/agents:agentNoSuchThing", json={"key": "k"})

    assert answer.status_code == missing.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"
    assert answer.text.replace("agentAppendMessage", "agentNoSuchThing") == missing.text


@pytest.mark.req("APR-04")
async def test_a_decision_by_a_stranger_is_forbidden_whether_or_not_there_is_a_thread(
    backend: Backend, world: StoreWorld
) -> None:
    claimed = await world.drive(thread_key="hers", owner="ann")
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    address = "/functions/agents:agentResolveApproval"
    body = {"key": "hers", "toolCallId": "call_1", "decision": "approved"}

    async with backend.client("bob") as bob, backend.client("ann") as ann:
        foreign = await bob.post(address, json=body)
        missing = await bob.post(address, json={**body, "key": "none"})
        unknown = await ann.post(address, json={**body, "toolCallId": "call_9"})
        own = await ann.post(address, json=body)
        again = await ann.post(address, json=body)
        other_way = await ann.post(address, json={**body, "decision": "denied"})

    assert (foreign.status_code, foreign.content) == (403, missing.content)
    assert unknown.status_code == 404
    assert own.json()["decision"] == "approved"
    assert again.json() == own.json()
    assert other_way.json()["code"] == "CONFLICT"
