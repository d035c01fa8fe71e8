"""Cards as open tabs see them: answered before the worker parks, and after any reconnect."""

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.decision_schedules import OWNER, Answer, Attempt, Schedule
from tests.support.postgres_desk import PostgresDesk, postgres_desk
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient

LARGE = "x" * 250_000
"""Eight of these make a thread of two megabytes."""


@pytest.fixture
async def desk(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> AsyncIterator[PostgresDesk]:
    async with postgres_desk(tmp_path, database_url, redis_url, redis_namespace) as made:
        yield made


@pytest.mark.req("APR-02", "APR-05")
async def test_b35_who_answers_at_once_is_heard_however_large_the_thread(
    desk: PostgresDesk,
) -> None:
    fort = desk.fort
    for _ in range(8):
        await desk.ended(await fort.talk(OWNER, "large", LARGE, agent="a"))
    async with fort.socket(OWNER) as alice:
        view = await alice.watch_thread("large")
        calls = [["c0", "pay", 1], ["c1", "look", 2]]
        run_id = await fort.talk(OWNER, "large", json.dumps(calls), agent="a")
        await wait_until(
            lambda: view.value["pendingApprovals"], description="a card", interval_s=0.001
        )
        args = {"key": "large", "toolCallId": "c0", "decision": "approved"}
        answer = await alice.call("agents:agentResolveApproval", args)
        await desk.ended(run_id)

    assert answer["decision"] == "approved"
    assert desk.ran("large") == [("c0", 1)]


@pytest.mark.req("APR-32")
async def test_b41_five_decided_and_one_waiting_are_one_open_card_after_any_reconnect(
    desk: PostgresDesk,
) -> None:
    calls = tuple((f"c{number}", "pay", number + 1) for number in range(6))
    await desk.begin("k", Schedule(0, calls, (), None))
    for number in range(5):
        answer = Answer(f"c{number}", ("approved", "denied")[number % 2])
        await desk.send("k", Attempt("because", OWNER, "socket", (answer,), 0))
    timeline = desk.fort.gateway.feeds.timeline
    thread = await desk.fort.stores.reader.find("k")
    assert thread is not None
    cursors = [None, f"{timeline}.0", f"{timeline}.{thread.version // 2}", "another.1"]

    async with desk.fort.socket(OWNER) as alice:
        for cursor, query in itertools.product(cursors, ("agentApprovals", "agentThread")):
            frame = await subscribed(alice, f"agents:{query}", cursor)
            shown = rows(frame) if query == "agentApprovals" else frame["value"]["pendingApprovals"]
            assert [each["toolCallId"] for each in shown] == ["c5"], (cursor, query)


ids = itertools.count()


async def subscribed(client: WsClient, query: str, cursor: str | None) -> dict[str, Any]:
    """Return the first frame that a subscription gets."""
    id_ = f"sub-{next(ids)}"
    resumes = {} if cursor is None else {"cursor": cursor}
    await client.send(type="subscribe", id=id_, query=query, args={"key": "k"}, **resumes)

    def heard() -> list[dict[str, Any]]:
        return [each for each in client.loose if each.get("id") == id_]

    await wait_until(heard, description=f"an answer to {query} at {cursor}")
    return heard()[0]


def rows(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a snapshot, or those that a delta brings."""
    if frame["type"] == "snapshot":
        return list(frame["value"])
    return [each["row"] for each in frame["ops"] if each["op"] == "upsert"]
