"""HTTP as it goes over the wire: a real server, a real database, raw bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from app.domain.run import Ending
from app.main.listening import listening_socket
from app.main.server import LeavingServer
from app.store.database import Database
from app.store.thread_writer import PostgresThreadWriter
from app.store.transactions import PostgresTransactions
from tests.support.backend import Backend, token_for
from tests.support.store_world import IDS, StoreWorld, an_answer, postgres_world
from tests.support.wait_until import wait_until

MIB = 1 << 20


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    async with postgres_world(database_url) as made:
        yield made


@pytest.fixture
async def url(world: StoreWorld, database_url: str) -> AsyncIterator[str]:
    """The address of a server over these stores."""
    async with (
        Database(database_url) as database,
        PostgresTransactions(
            database_url,
            announce=world.around.announce,
            announce_writes=world.around.announce_writes,
            doorbell=world.around,
            journal=world.around.journal,
            aborts=world.around,
            ids=IDS,
        ) as transactions,
    ):
        writer = PostgresThreadWriter(database, world.around.announce)
        backend = Backend(world.store, world.reader, transactions, writer, world.calls)
        async with _serving(backend) as address:
            yield address


@asynccontextmanager
async def _serving(backend: Backend) -> AsyncIterator[str]:
    server = LeavingServer(backend.app, lambda: None)
    with listening_socket("127.0.0.1", 0) as sock:
        task = asyncio.create_task(server.serve([sock]))
        await wait_until(lambda: server.started, description="the server has started")
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        server.should_exit = True
        await task


def _client(url: str, user: str | None = None) -> httpx2.AsyncClient:
    headers = {} if user is None else {"authorization": f"Bearer {token_for(user)}"}
    return httpx2.AsyncClient(base_url=url, headers=headers)


@pytest.mark.req("RUN-07", "RUN-08", "RUN-09", "AGT-17")
async def test_a_conversation_from_its_first_prompt_to_its_second(
    url: str, world: StoreWorld
) -> None:
    async with _client(url, "ann") as ann:
        first = await ann.post("/agents/support", json={"message": "Where is my order?"})
        session = f"/agents/support/sessions/{first.json()['sessionId']}"
        claimed = await world.claim()
        await world.store.record(claimed.fence, an_answer(claimed.fence, 0, "On its way."))
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        body = {"message": "Thanks", "sessionId": first.json()["sessionId"]}
        second = await ann.post("/agents/support", json=body)
        shown = (await ann.get(session)).json()
        listed = (await ann.get("/agents/support/sessions")).json()

    assert (first.status_code, second.status_code) == (202, 202)
    texts = [message["text"] for message in shown["messages"]]
    assert texts == ["Where is my order?", "On its way.", "Thanks"]
    assert (shown["status"], shown["runId"]) == ("queued", second.json()["runId"])
    assert [each["sessionId"] for each in listed["sessions"]] == [shown["sessionId"]]


@pytest.mark.req("ACC-02")
async def test_a_foreign_session_is_the_same_bytes_as_a_missing_one(url: str) -> None:
    async with _client(url, "ann") as ann:
        body = {"message": "secret", "sessionId": "hers"}
        run = (await ann.post("/agents/support", json=body)).json()["runId"]

    pairs = [
        ("GET", "/agents/support/sessions/hers", "/agents/support/sessions/none"),
        ("POST", "/agents/support/sessions/hers/cancel", "/agents/support/sessions/none/cancel"),
        ("GET", f"/runs/{run}", f"/runs/{run[:-1]}x"),
        ("POST", f"/runs/{run}/cancel", f"/runs/{run[:-1]}x/cancel"),
    ]
    async with _client(url, "bob") as bob:
        for method, foreign, missing in pairs:
            answers = [await bob.request(method, path) for path in (foreign, missing)]
            raw = [_bytes_of(answer) for answer in answers]
            assert raw[0] == raw[1]
            assert answers[0].status_code == 404


def _bytes_of(answer: httpx2.Response) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    headers = [(name, value) for name, value in answer.headers.raw if name != b"date"]
    return answer.status_code, headers, answer.content


async def test_a_body_above_the_limit_is_cut_off_while_it_is_sent(url: str) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * MIB:
            sent += 65536
            yield b" " * 65536

    async with _client(url) as client:
        headers = {"content-type": "application/json"}
        try:
            answer = await client.post(
                "/functions/agents:agentThread", content=endless(), headers=headers
            )
        except httpx2.TransportError:
            pass  # the server closed while we were still sending, as it may
        else:
            assert answer.status_code == 413

    assert sent < 16 * MIB


async def test_many_clients_prompt_at_once_and_each_gets_its_own(url: str) -> None:
    async def prompt(number: int) -> str:
        async with _client(url, f"user-{number}") as client:
            answer = await client.post("/agents/support", json={"message": f"I am {number}"})
            session = answer.json()["sessionId"]
            shown = (await client.get(f"/agents/support/sessions/{session}")).json()
        return str(shown["messages"][0]["text"])

    texts = await asyncio.gather(*(prompt(number) for number in range(40)))

    assert texts == [f"I am {number}" for number in range(40)]


async def test_a_prompt_repeated_over_another_connection_starts_one_run(url: str) -> None:
    key = {"idempotency-key": "send-1"}

    async def prompt() -> object:
        async with _client(url, "ann") as client:
            answer = await client.post("/agents/support", json={"message": "hi"}, headers=key)
            return answer.json()

    answers = await asyncio.gather(*(prompt() for _ in range(10)))

    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(
    "path",
    [
        "/agents/%00",
        "/agents/%00/sessions",
        "/agents/support/sessions/%00",
        "/agents/support/sessions/%00/approvals",
        "/runs/%00",
    ],
)
async def test_a_name_that_postgres_would_not_take_is_nobodys(url: str, path: str) -> None:
    async with _client(url, "ann") as ann:
        answer = await ann.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
