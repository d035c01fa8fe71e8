"""What other systems are told is written with what it tells of, signed, and sent until taken."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app.channels.webhook import Webhook
from app.domain.approval import Decision
from app.domain.errors import NotFound, StoreUnavailable
from app.domain.identity import Identity
from app.domain.notice import OwedNotice
from app.domain.run import Ending
from app.main.system import SystemClock
from app.store.database import Database
from app.store.notices import PostgresNotices
from tests.support.deciding import decide
from tests.support.running_uvicorn import running_uvicorn
from tests.support.store_world import StoreWorld, an_answer, postgres_world
from tests.support.wait_until import wait_until

ANN = Identity("ann")
SECRET = "a secret of sixteen and more"  # noqa: S105


class Receiver:
    """A system that is told, and what it answers."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.answers: list[int] = []
        self.keeps_talking = False

    async def take(self, request: Request) -> Response:
        """Take one."""
        body = await request.body()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.told.append(json.loads(body))
        if self.keeps_talking:
            return StreamingResponse(without_end())
        return Response(status_code=self.answers.pop(0) if self.answers else 204)

    @property
    def kinds(self) -> list[str]:
        """What it was told of, in order."""
        return [each["type"] for each in self.told]


async def without_end() -> AsyncIterator[bytes]:
    """Yield a body that never stops."""
    while True:
        yield b"x"
        await asyncio.sleep(0.01)


class NoticesOnce:
    """Postgres that goes away while a notice is being sent, for one look."""

    def __init__(self, notices: PostgresNotices) -> None:
        self._notices = notices
        self.is_away = True
        self.looked = 0

    async def claim(self, limit: int, lease: timedelta) -> Sequence[OwedNotice]:
        """Claim for no time at all, so that what was not settled is due at once."""
        self.looked += 1
        return await self._notices.claim(limit, lease * 0)

    async def settle(self, notice_id: str, error: str | None) -> None:
        """Settle, unless it is away."""
        if self.is_away:
            self.is_away = False
            raise StoreUnavailable("Postgres did not answer")
        await self._notices.settle(notice_id, error)

    async def put_off(self, notice_id: str, wait: timedelta, error: str) -> None:
        """Put off."""
        await self._notices.put_off(notice_id, wait, error)


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[StoreWorld]:
    async with postgres_world(database_url, notices=True) as made:
        yield made


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
async def webhook(database_url: str, receiver: Receiver) -> AsyncIterator[Webhook]:
    app = Starlette(routes=[Route("/told", receiver.take, methods=["POST"])])
    async with (
        running_uvicorn(app) as (_, where),
        Database(database_url) as database,
        httpx2.AsyncClient() as client,
    ):
        await database.fetch("DELETE FROM agent_notices")
        notices = PostgresNotices(database)
        yield Webhook(notices, f"http://{where}/told", SECRET, SystemClock(), client)


async def all_sent(webhook: Webhook) -> None:
    while await webhook.send_due():
        pass


async def test_a_person_is_asked_decides_and_the_run_ends(
    world: StoreWorld, webhook: Webhook, receiver: Receiver
) -> None:
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", gated=["c1"])
    await world.park(claimed, "c1")
    await all_sent(webhook)
    await decide(world.store, claimed.thread.id, "c1", Decision.DENIED, ANN, "no")
    again = await world.claim(claimed.run.agent, "w2")
    await world.store.record(again.fence, an_answer(again.fence, 1))
    await world.store.finish(again.fence, Ending.completed("final"), None)
    await all_sent(webhook)

    asked, decided, completed = receiver.told
    assert receiver.kinds == ["approval.requested", "approval.decided", "run.completed"]
    assert (asked["data"]["key"], asked["data"]["toolCallId"]) == (claimed.thread.key, "c1")
    assert (decided["data"]["decision"], decided["data"]["decidedBy"]) == ("denied", "ann")
    assert (completed["data"]["runId"], completed["data"]["owner"]) == (claimed.run.id, "ann")


async def test_a_body_is_signed_over_its_time(
    world: StoreWorld, webhook: Webhook, receiver: Receiver
) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.failed("X", "it broke"), None)
    await all_sent(webhook)

    (headers,) = receiver.headers
    when, signed = (part.split("=")[1] for part in headers["ropewalk-signature"].split(","))
    content = f"{when}.".encode() + receiver.bodies[0]
    assert signed == hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
    assert headers["ropewalk-event"] == "run.failed"
    assert headers["ropewalk-delivery"] == receiver.told[0]["id"]
    assert receiver.told[0]["data"]["error"] == {"code": "X", "message": "it broke"}


async def test_what_was_not_taken_is_sent_again_under_the_same_id(
    world: StoreWorld, webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(*_: object, **__: object) -> timedelta:
        return timedelta(0)

    monkeypatch.setattr("app.channels.webhook.next_delay", at_once)
    receiver.answers = [500, 302, 204]
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    await all_sent(webhook)

    assert len(receiver.told) == 3
    assert len({each["id"] for each in receiver.told}) == 1


@pytest.mark.parametrize("answers", [[410], [204]], ids=["refused-for-good", "taken"])
async def test_what_was_settled_is_not_sent_again(
    world: StoreWorld, webhook: Webhook, receiver: Receiver, answers: list[int]
) -> None:
    receiver.answers = list(answers)
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    await all_sent(webhook)
    await all_sent(webhook)

    assert len(receiver.told) == 1


async def test_what_was_rolled_back_or_cancelled_is_not_told(
    world: StoreWorld, webhook: Webhook, receiver: Receiver
) -> None:
    claimed = await world.drive()
    with pytest.raises(NotFound):
        await decide(world.store, claimed.thread.id, "no-call", Decision.APPROVED, ANN)
    await world.store.cancel(claimed.thread.id, claimed.run.id)
    await all_sent(webhook)

    assert receiver.told == []


async def test_a_decision_repeated_after_its_notice_is_forgotten_is_not_told_again(
    world: StoreWorld, webhook: Webhook, receiver: Receiver, database_url: str
) -> None:
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", gated=["c1"])
    await world.park(claimed, "c1")
    await decide(world.store, claimed.thread.id, "c1", Decision.APPROVED, ANN)
    await all_sent(webhook)
    async with Database(database_url) as database:
        await database.fetch("DELETE FROM agent_notices")
    await decide(world.store, claimed.thread.id, "c1", Decision.APPROVED, ANN)
    await all_sent(webhook)

    assert receiver.kinds.count("approval.decided") == 1


async def test_a_person_is_asked_again_when_a_run_that_failed_goes_on(
    world: StoreWorld, webhook: Webhook, receiver: Receiver, database_url: str
) -> None:
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", gated=["c1"])
    await world.park(claimed, "c1")
    await all_sent(webhook)
    async with Database(database_url) as database:
        await database.fetch(
            "UPDATE agent_runs SET deadline_at = clock_timestamp() WHERE id = $1", claimed.run.id
        )
    await world.store.fail_overdue()
    await all_sent(webhook)
    await world.store.retry(claimed.thread.id, None)
    again = await world.claim(claimed.run.agent, "w2")
    await world.park(again, "c1")
    await all_sent(webhook)

    assert receiver.kinds == ["approval.requested", "run.failed", "approval.requested"]


async def test_two_workers_send_each_notice_once(
    world: StoreWorld, database_url: str, receiver: Receiver, webhook: Webhook
) -> None:
    for _ in range(20):
        claimed = await world.drive()
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
    async with Database(database_url) as database:
        first, second = PostgresNotices(database), PostgresNotices(database)
        mine = await first.claim(8, timedelta(minutes=1))
        theirs = await second.claim(100, timedelta(minutes=1))

    assert len(mine) == 8
    assert {each.notice.id for each in mine}.isdisjoint(each.notice.id for each in theirs)
    assert len(mine) + len(theirs) == 20


async def test_a_store_that_goes_away_meanwhile_ends_nothing(
    world: StoreWorld, webhook: Webhook, receiver: Receiver, database_url: str
) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    async with Database(database_url) as database, httpx2.AsyncClient() as client:
        notices = NoticesOnce(PostgresNotices(database))
        sender = Webhook(notices, webhook._url, SECRET, SystemClock(), client)
        sending = asyncio.create_task(sender.run())
        await wait_until(lambda: notices.looked >= 3 or sending.done(), description="another look")
        still_runs = not sending.done()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    assert still_runs
    assert len(receiver.told) == 2
    assert len({each["id"] for each in receiver.told}) == 1


async def test_an_answer_without_end_is_an_answer(
    world: StoreWorld, webhook: Webhook, receiver: Receiver
) -> None:
    receiver.keeps_talking = True
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    async with asyncio.timeout(10):
        await all_sent(webhook)

    assert len(receiver.told) == 1


class Stammering(httpx2.AsyncBaseTransport):
    """A connection that breaks with words that Postgres does not take."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Break."""
        raise httpx2.ReadError("what came was \x00\ud800", request=request)


async def test_a_failure_in_any_words_is_noted(world: StoreWorld, database_url: str) -> None:
    claimed = await world.drive()
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    async with (
        Database(database_url) as database,
        httpx2.AsyncClient(transport=Stammering()) as client,
    ):
        notices = PostgresNotices(database)
        await Webhook(notices, "http://nowhere/", SECRET, SystemClock(), client).send_due()
        rows = await database.fetch(
            "SELECT error FROM agent_notices WHERE data ->> 'runId' = $1", claimed.run.id
        )

    assert rows[0]["error"] == "ReadError: what came was \ufffd\ufffd"
