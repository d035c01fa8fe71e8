"""Signals, events and retries over HTTP: who may, what they answer, and what they change."""

from typing import Any

import pytest

from app.authoring.agent import Agent
from app.domain.facts import event_fact
from app.domain.ports import ClaimedRun
from app.domain.run import Ending, Waits
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

SIGNALS = "/agents/support/sessions/{key}/signals"


async def drive(world: StoreWorld, **changes: object) -> ClaimedRun:
    """Start a run of the agent ``support`` and claim it."""
    await world.start(**changes)
    return await world.claim()


async def fail(world: StoreWorld, **changes: object) -> ClaimedRun:
    """Start a run that fails."""
    failed = await drive(world, **changes)
    await world.store.finish(failed.fence, Ending.failed("MODEL_UNAVAILABLE", "away"), None)
    return failed


# ---- signals ----


@pytest.mark.req("SIG-01", "SIG-02", "SIG-05", "SIG-08")
async def test_a_signal_says_whether_it_woke_the_session(
    backend: Backend, world: StoreWorld
) -> None:
    busy = await drive(world, thread_key="k", owner="ann")
    async with backend.client("ann") as ann:
        waits = await ann.post(SIGNALS.format(key="k"), json={"message": "more news"})
        shown = (await ann.get("/agents/support/sessions/k")).json()
        await world.store.cancel(busy.thread.id, None)
        await world.store.finish((await world.claim()).fence, Ending.completed("final"), None)
        woke = await ann.post(SIGNALS.format(key="k"), json={"message": "wake", "mode": "inject"})

    assert (waits.status_code, waits.json()) == (200, {"woke": False, "runId": busy.run.id})
    assert [(each["text"], each["kind"]) for each in shown["waiting"]] == [("more news", "signal")]
    assert woke.json()["woke"] is True
    assert (await world.run(woke.json()["runId"])).status == "queued"
    snapshot = await world.snapshot(busy.thread.id)
    assert snapshot.messages[-1].author == "user:ann"


@pytest.mark.req("SIG-07")
@pytest.mark.parametrize(
    ("caller", "statuses"),
    [
        (["ann"], (200, 403, 403)),
        (["bob"], (403, 403, 403)),
        ([None], (403, 403, 403)),
        (["root", "admin"], (200, 200, 404)),
    ],
)
async def test_signals_are_for_owners_and_admins_and_others_learn_nothing(
    backend: Backend, world: StoreWorld, caller: list[str], statuses: tuple[int, ...]
) -> None:
    await drive(world, thread_key="hers", owner="ann")
    await drive(world, thread_key="open")

    async with backend.client(*caller) as client:
        answers = [
            await client.post(SIGNALS.format(key=key), json={"message": "hi"})
            for key in ("hers", "open", "none")
        ]

    assert tuple(answer.status_code for answer in answers) == statuses
    refusals = {answer.content for answer in answers if answer.status_code == 403}
    assert len(refusals) <= 1


@pytest.mark.parametrize("slug", ["desk", "none", "run", "__class__"])
async def test_a_signal_is_for_the_agent_of_the_session(
    backend: Backend, world: StoreWorld, slug: str
) -> None:
    await drive(world, thread_key="hers", owner="ann")

    async with backend.client("ann") as ann:
        other = await ann.post(f"/agents/{slug}/sessions/hers/signals", json={"message": "hi"})

    assert other.status_code == 404


@pytest.mark.req("SIG-02")
async def test_a_repeated_signal_is_one_and_answers_the_same(
    backend: Backend, world: StoreWorld
) -> None:
    busy = await drive(world, thread_key="k", owner="ann")
    await world.store.finish(busy.fence, Ending.completed("final"), None)
    headers = {"idempotency-key": "signal-1"}

    async with backend.client("ann") as ann:
        body = {"message": "wake up"}
        answers = [
            (await ann.post(SIGNALS.format(key="k"), json=body, headers=headers)).json()
            for _ in range(2)
        ]

    assert answers[0]["woke"] is True
    assert answers[0] == answers[1]
    assert (await world.snapshot(busy.thread.id)).waiting == []


@pytest.mark.parametrize(
    "body", [{}, {"message": " "}, {"message": "hi", "mode": "steer"}, {"message": "hi", "x": 1}]
)
async def test_a_signal_that_makes_no_sense_is_refused(
    backend: Backend, world: StoreWorld, body: dict[str, object]
) -> None:
    await drive(world, thread_key="k", owner="ann")

    async with backend.client("ann") as ann:
        refused = await ann.post(SIGNALS.format(key="k"), json=body)

    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_ARGUMENT")


# ---- busy sessions ----


@pytest.mark.req("CON-04", "CON-02")
async def test_a_prompt_to_a_busy_session_does_what_the_agent_says(world: StoreWorld) -> None:
    backend = memory_backend(world)
    backend.agents["steered"] = Agent(  # type: ignore[index]  # a dict
        slug="steered", model="demo:", access="public", on_concurrent_run="steer"
    )
    backend.agents["patient"] = Agent(  # type: ignore[index]  # a dict
        slug="patient", model="demo:", access="public", on_concurrent_run="queue"
    )
    async with backend.client("ann") as ann:

        async def prompt(agent: str) -> Any:  # noqa: ANN401
            body = {"message": "hi", "sessionId": f"{agent}-1"}
            return await ann.post(f"/agents/{agent}", json=body)

        first, steered = [(await prompt("steered")).json() for _ in range(2)]
        _, second, third = [(await prompt("patient")).json() for _ in range(3)]
        _, rejected = [await prompt("support") for _ in range(2)]

    assert steered == {**first, "steered": True}
    assert (second["position"], third["position"]) == (1, 2)
    assert (rejected.status_code, rejected.json()["code"]) == (409, "CONFLICT")


# ---- events ----


@pytest.mark.req("RUN-05")
async def test_an_event_wakes_the_run_that_waits_for_it(
    backend: Backend, world: StoreWorld
) -> None:
    waiting = await drive(world, owner="ann")
    fact = event_fact("paid", 0)
    await world.store.park(waiting.fence, waiting.thread.wakes, Waits.for_all([fact]))
    address = f"/runs/{waiting.run.id}/events"

    async with backend.client("ann") as ann:
        body = {"name": "paid", "payload": {"cents": 500}}
        headers = {"idempotency-key": "event-1"}
        answers = [(await ann.post(address, json=body, headers=headers)).json() for _ in range(2)]

    turn = await world.store.open_turn((await world.claim()).fence)
    assert answers == [{"delivered": True}] * 2
    assert turn is not None
    assert turn.steps[fact] == '{"cents":500}'
    assert event_fact("paid", 1) not in turn.steps


@pytest.mark.req("RUN-05", "SIG-07")
async def test_events_are_for_owners_and_admins(backend: Backend, world: StoreWorld) -> None:
    owned = (await drive(world, owner="ann")).run.id
    ownerless = (await drive(world)).run.id

    async def statuses(*caller: str) -> list[int]:
        async with backend.client(*caller) as client:
            return [
                (await client.post(f"/runs/{run}/events", json={"name": "paid"})).status_code
                for run in (owned, ownerless, "none")
            ]

    assert await statuses("ann") == [200, 403, 404]
    assert await statuses("bob") == [404, 403, 404]
    assert await statuses("root", "admin") == [200, 200, 404]


# ---- retry ----


@pytest.mark.parametrize("address", ["/runs/{run}/retry", "/agents/support/sessions/k/retry"])
async def test_a_failed_run_goes_on_when_it_is_retried_once_per_key(
    backend: Backend, world: StoreWorld, address: str
) -> None:
    failed = await fail(world, thread_key="k", owner="ann")
    path = address.format(run=failed.run.id)
    headers = {"idempotency-key": "retry-1"}

    async with backend.client("bob") as bob, backend.client("ann") as ann:
        foreign = await bob.post(path)
        answers = [await ann.post(path, headers=headers) for _ in range(2)]
        again = await ann.post(path)

    assert foreign.status_code == 404
    assert [answer.json() for answer in answers] == [{"retried": True}] * 2
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    assert (await world.run(failed.run.id)).status == "queued"


async def test_a_retry_names_the_run_that_it_means(backend: Backend, world: StoreWorld) -> None:
    await fail(world, thread_key="k", owner="ann")

    async with backend.client("ann") as ann:
        other = await ann.post("/agents/support/sessions/k/retry", json={"runId": "other"})

    assert other.json() == {"retried": False}


# ---- the doctor ----


async def test_only_an_admin_may_have_the_doctor_look(backend: Backend) -> None:
    async with backend.client("ann") as ann, backend.client("root", "admin") as admin:
        refused = await ann.post("/doctor")
        looked = await admin.post("/doctor")

    assert (refused.status_code, looked.json()) == (403, {"findings": []})
