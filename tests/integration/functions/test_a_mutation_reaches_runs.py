"""What a mutation schedules, signals and tells is part of its transaction; once, whoever asks."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.errors import Conflict
from app.domain.identity import Identity
from app.domain.ports import ClaimedRun, Serves
from app.domain.run import Ending, Waits
from tests.integration.functions.conftest import Gateway, MakeGateway
from tests.support.store_world import IDS, a_start

ANN = Identity("ann")


@mutation
async def reach(ctx: MutationContext, busy: str, run: str, *, fails: bool = False) -> list[bool]:
    await ctx.scheduler.run_after(0, ctx.agents.support, {"input": "later", "thread_key": "later"})
    signalled = await ctx.agents.support.signal(busy, "more news", by=ctx.auth)
    delivered = await ctx.agents.support.send_event(run, "paid", {"cents": 5})
    if fails:
        raise Conflict("changed my mind")
    return [signalled.woke, delivered]


@mutation
async def replace_twice(ctx: MutationContext, key: str) -> list[str]:
    """Start one run in the place of another, and a third that waits for it."""
    first = await ctx.agents.support.run(
        input="instead", owner="ann", thread_key=key, on_concurrent_run="replace"
    )
    second = await ctx.agents.support.run(
        input="then", owner="ann", thread_key=key, on_concurrent_run="queue"
    )
    return [first.id, second.id, str(second.position)]


@action
async def retry(ctx: ActionContext, run: str) -> bool:
    return await ctx.agents.support.retry(run, by=ctx.auth)


@pytest.fixture(autouse=True)
def _functions(gateway: Gateway) -> None:
    gateway.backend.registry.add("team", [reach, replace_twice, retry])


async def drive(gateway: Gateway, key: str) -> ClaimedRun:
    """Start a run of ann's and claim it."""
    await gateway.backend.store.start(a_start(thread_key=key, owner="ann"))
    (claimed,) = await gateway.backend.store.claim("worker-1", Serves.of("support"), 1)
    return claimed


async def wait_for_payment(gateway: Gateway) -> ClaimedRun:
    """Park a run until it is paid."""
    parked = await drive(gateway, "parked")
    waits = Waits.for_all(["event:paid#0"])
    await gateway.backend.store.park(parked.fence, parked.thread.wakes, waits)
    return parked


@pytest.mark.req("SCH-04", "SIG-03", "RUN-05", "IMP-03")
async def test_all_of_it_happens_if_it_commits(gateway: Gateway) -> None:
    busy, parked = await drive(gateway, "busy"), await wait_for_payment(gateway)
    args = {"busy": "busy", "run": parked.run.id}

    answer = await gateway.backend.functions.call("team:reach", args, caller=ANN)
    fired = await gateway.backend.store.fire_due(10)

    reader = gateway.backend.reader
    snapshot, woken = await reader.snapshot("busy", 0), await reader.run(parked.run.id)
    later = await reader.find("later")
    assert (answer, fired) == ([False, True], 1)
    assert snapshot is not None
    assert [each.text for each in snapshot.waiting] == ["more news"]
    assert woken is not None
    assert woken.status == "queued"
    assert later is not None
    assert gateway.around.rung.count(parked.run.id) == 2, "when it was started, and when it woke"
    assert {busy.thread.id, parked.thread.id} <= {each for each, _ in gateway.around.announced}


@pytest.mark.req("SCH-04", "IMP-03")
async def test_none_of_it_happens_if_it_does_not(gateway: Gateway) -> None:
    await drive(gateway, "busy")
    parked = await wait_for_payment(gateway)
    args = {"busy": "busy", "run": parked.run.id, "fails": True}
    told = len(gateway.around.announced), len(gateway.around.rung)

    with pytest.raises(Conflict, match="changed my mind"):
        await gateway.backend.functions.call("team:reach", args, caller=ANN)

    run = await gateway.backend.reader.run(parked.run.id)
    assert run is not None
    assert run.status == "waiting"
    assert await gateway.count("agent_timers") == 0
    assert await gateway.count("agent_signals") == 0
    assert (len(gateway.around.announced), len(gateway.around.rung)) == told


@pytest.mark.req("CON-03", "CON-04")
async def test_a_run_is_replaced_and_another_queued_in_one_transaction(gateway: Gateway) -> None:
    busy = await drive(gateway, "k")

    answer = await gateway.backend.functions.call("team:replaceTwice", {"key": "k"}, caller=ANN)

    assert isinstance(answer, list)
    runs = [await gateway.backend.reader.run(str(each)) for each in (busy.run.id, *answer[:2])]
    assert [run.status if run else None for run in runs] == ["cancelled", "queued", "pending"]
    assert answer[2] == "1"
    assert [worker for worker, _ in gateway.around.aborted] == ["worker-1"]


@pytest.mark.req("SIG-02", "CON-07")
async def test_a_signal_that_is_sent_twice_at_once_is_one(
    gateway: Gateway, make_gateway: MakeGateway
) -> None:
    idle = await drive(gateway, "k")
    await gateway.backend.store.finish(idle.fence, Ending.completed("final"), None)
    other = await make_gateway()
    args = {"agent": "support", "key": "k", "message": "wake up"}

    answers = await asyncio.gather(
        *(
            each.backend.functions.call(
                "agents:agentSignal", args, caller=ANN, dedupe="signal-1", internal=True
            )
            for each in (gateway, other)
            for _ in range(5)
        )
    )

    assert isinstance(answers[0], dict)
    assert answers[0]["woke"] is True
    assert all(answer == answers[0] for answer in answers)
    assert await gateway.count("agent_signals") == 1


async def test_a_retry_that_is_asked_for_twice_at_once_is_one(
    gateway: Gateway, make_gateway: MakeGateway
) -> None:
    failed = await drive(gateway, "k")
    await gateway.backend.store.finish(failed.fence, Ending.failed("BROKEN", "it broke"), None)
    other = await make_gateway()
    args = {"key": "k", "runId": failed.run.id}

    answers = await asyncio.gather(
        *(
            each.backend.functions.call("agents:agentRetry", args, caller=ANN, dedupe="retry-1")
            for each in (gateway, other)
            for _ in range(3)
        )
    )

    assert answers == [{"retried": True}] * 6
    run = await gateway.backend.reader.run(failed.run.id)
    assert run is not None
    assert run.status == "queued"


@pytest.mark.req("SCH-04", "SCH-06")
async def test_what_is_due_starts_once_whoever_asks(
    gateway: Gateway, make_gateway: MakeGateway
) -> None:
    workers = [gateway, await make_gateway(), await make_gateway()]
    starts = [a_start(thread_key=f"t{number}") for number in range(10)]
    due = datetime.now(UTC) - timedelta(minutes=1)
    for start in starts:
        await gateway.backend.store.schedule(IDS.new(), start, due)

    fired = 0
    for _ in range(5):  # one that another worker holds just now is passed over
        fired += sum(await asyncio.gather(*(each.backend.store.fire_due(100) for each in workers)))

    assert fired == 10
    assert await gateway.count("agent_runs") == 10
    assert sorted(run for each in workers for run in each.around.rung) == sorted(
        start.run_id for start in starts
    )
