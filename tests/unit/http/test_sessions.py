"""Prompting an agent over HTTP, and reading the sessions with it."""

import pytest

from app.domain.run import Ending
from tests.support.backend import Backend
from tests.support.store_world import StoreWorld, a_result, an_answer


@pytest.mark.req("RUN-07")
async def test_a_prompt_is_accepted_with_its_session_and_run(
    backend: Backend, world: StoreWorld
) -> None:
    async with backend.client("ann") as ann:
        answer = await ann.post("/agents/support", json={"message": "Where is my order?"})

    started = answer.json()
    assert (answer.status_code, set(started)) == (202, {"sessionId", "runId"})
    assert (await world.run(started["runId"])).agent == "support"
    assert world.around.rung == [started["runId"]]


@pytest.mark.req("RUN-08", "AGT-17")
async def test_a_session_shows_its_messages_and_how_it_stands(
    backend: Backend, world: StoreWorld
) -> None:
    async with backend.client("ann") as ann:
        started = (await ann.post("/agents/support", json={"message": "Hi there"})).json()
        session = f"/agents/support/sessions/{started['sessionId']}"
        before = (await ann.get(session)).json()
        claimed = await world.claim("support")
        await world.store.record(claimed.fence, an_answer(claimed.fence, 0, "Hello Ann"))
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        after = (await ann.get(session)).json()

    assert (before["status"], before["runId"]) == ("queued", started["runId"])
    assert before["sessionId"] == started["sessionId"]
    assert [message["text"] for message in before["messages"]] == ["Hi there"]
    assert (before["goal"], before["output"], before["error"]) == (None, None, None)
    assert before["title"] == "Hi there"
    assert (after["status"], after["runId"], after["stopped"]) == ("completed", None, "final")
    assert [message["text"] for message in after["messages"]] == ["Hi there", "Hello Ann"]


@pytest.mark.req("RUN-09", "RUN-02")
async def test_a_prompt_with_an_earlier_session_continues_it(
    backend: Backend, world: StoreWorld
) -> None:
    async with backend.client("ann") as ann:
        first = (await ann.post("/agents/support", json={"message": "one"})).json()
        claimed = await world.claim("support")
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        body = {"message": "two", "sessionId": first["sessionId"]}
        second = (await ann.post("/agents/support", json=body)).json()
        shown = (await ann.get(f"/agents/support/sessions/{first['sessionId']}")).json()

    assert second["sessionId"] == first["sessionId"]
    assert second["runId"] != first["runId"]
    assert [message["text"] for message in shown["messages"]] == ["one", "two"]


@pytest.mark.req("RUN-14", "AGT-17")
async def test_a_failed_session_shows_its_error(backend: Backend, world: StoreWorld) -> None:
    async with backend.client("ann") as ann:
        started = (await ann.post("/agents/support", json={"message": "hi"})).json()
        claimed = await world.claim("support")
        ending = Ending.failed("MODEL_UNAVAILABLE", "the model does not answer")
        await world.store.finish(claimed.fence, ending, None)
        shown = (await ann.get(f"/agents/support/sessions/{started['sessionId']}")).json()
        run = (await ann.get(f"/runs/{started['runId']}")).json()

    error = {"code": "MODEL_UNAVAILABLE", "message": "the model does not answer"}
    assert (shown["status"], shown["error"]) == ("failed", error)
    assert (run["status"], run["error"]) == ("failed", error)
    assert run["sessionId"] == started["sessionId"]


@pytest.mark.req("APR-03", "RUN-13")
async def test_a_session_that_waits_for_a_person_runs_and_lists_what_it_waits_for(
    backend: Backend, world: StoreWorld
) -> None:
    claimed = await world.drive(thread_key="k", owner="ann")
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")

    async with backend.client("ann") as ann:
        shown = (await ann.get(f"/agents/{claimed.run.agent}/sessions/k")).json()
        thread = (await ann.post("/functions/agents:agentThread", json={"key": "k"})).json()

    assert shown["status"] == "running"
    assert [each["toolCallId"] for each in shown["pendingApprovals"]] == ["call_1"]
    assert thread["status"] == "awaiting_input"


async def test_older_messages_are_read_by_page(backend: Backend, world: StoreWorld) -> None:
    claimed = await world.drive(thread_key="k")
    await world.ask(claimed, "a", "b")
    for index, call in enumerate(("a", "b")):
        await world.store.record(claimed.fence, a_result(claimed.fence, 0, index, call))

    async with backend.client() as nobody:
        session = f"/agents/{claimed.run.agent}/sessions/k"
        newest = (await nobody.get(session, params={"limit": 2})).json()
        older = (await nobody.get(session, params={"limit": 2, "before": 3})).json()

    assert [message["seq"] for message in newest["messages"]] == [3, 4]
    assert [message["seq"] for message in older["messages"]] == [1, 2]


async def test_a_key_may_hold_slashes(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        body = {"message": "hi", "sessionId": "orders/1001/cancel"}
        await ann.post("/agents/support", json=body)
        session = "/agents/support/sessions/orders%2F1001%2Fcancel"
        shown = await ann.get(session)
        ended = await ann.post(f"{session}/cancel")

    assert shown.json()["sessionId"] == "orders/1001/cancel"
    assert ended.json() == {"cancelled": True}


@pytest.mark.req("RUN-03", "RUN-04")
async def test_a_cancel_ends_the_run_that_it_means_and_no_other(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        started = (await ann.post("/agents/support", json={"message": "hi"})).json()
        session = f"/agents/support/sessions/{started['sessionId']}"

        other = await ann.post(f"{session}/cancel", json={"runId": "another"})
        ended = await ann.post(f"{session}/cancel", json={"runId": started["runId"]})
        again = await ann.post(f"/runs/{started['runId']}/cancel")
        run = await ann.get(f"/runs/{started['runId']}")

    answers = [each.json()["cancelled"] for each in (other, ended, again)]
    assert answers == [False, True, False]
    assert run.json()["status"] == "cancelled"


async def test_sessions_are_listed_newest_first_by_page_and_only_ones_own(
    backend: Backend,
) -> None:
    async with backend.client("ann") as ann, backend.client("bob") as bob:
        for number in range(3):
            body = {"message": "hi", "sessionId": f"ann-{number}"}
            await ann.post("/agents/support", json=body)
        await bob.post("/agents/support", json={"message": "hi", "sessionId": "bob-0"})
        await ann.post("/agents/desk", json={"message": "hi", "sessionId": "ann-desk"})

        first = (await ann.get("/agents/support/sessions", params={"limit": 2})).json()
        page = {"limit": 2, "before": first["next"]}
        second = (await ann.get("/agents/support/sessions", params=page)).json()

    assert [each["sessionId"] for each in first["sessions"]] == ["ann-2", "ann-1"]
    assert [each["sessionId"] for each in second["sessions"]] == ["ann-0"]
    assert second["next"] is None


async def test_an_admin_lists_everybodys_sessions_and_nobody_lists_none(
    backend: Backend,
) -> None:
    async with (
        backend.client("ann") as ann,
        backend.client("root", "admin") as admin,
        backend.client() as nobody,
    ):
        await ann.post("/agents/support", json={"message": "hi"})
        await nobody.post("/agents/support", json={"message": "hi"})

        seen = [(await each.get("/agents/support/sessions")).json() for each in (admin, nobody)]

    assert [len(each["sessions"]) for each in seen] == [2, 0]
