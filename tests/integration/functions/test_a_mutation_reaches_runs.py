"""What a mutation schedules, signals and tells is part of its transaction; once, whoever asks."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.errors import AgentFault, Conflict, StoreUnavailable
from app.domain.identity import Identity
from app.domain.ports import ClaimedRun, Serves
from app.domain.run import Ending, Waits
from app.functions.due_calls import DueCalls
from tests.integration.functions.conftest import Gateway, MakeGateway
from tests.support.store_world import IDS, a_start
from tests.support.wait_until import wait_until

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


@mutation
async def stop(ctx: MutationContext, run: str, *, undoes: bool = False) -> bool:
    stopped = await ctx.agents.support.cancel(run)
    if undoes:
        await ctx.db.rollback()
    return stopped


@mutation
async def once_more(ctx: MutationContext, run: str) -> bool:
    return await ctx.agents.support.retry(run)


@action
async def retry(ctx: ActionContext, run: str) -> bool:
    return await ctx.agents.support.retry(run, by=ctx.auth)


@pytest.fixture(autouse=True)
def _functions(gateway: Gateway) -> None:
    gateway.backend.registry.add("team", [reach, replace_twice, stop, once_more, retry])


async def drive(gateway: Gateway, key: str) -> ClaimedRun:
    """Start a run of ann's and claim it."""
    await gateway.backend.store.start(a_start(thread_key=key, owner="ann"))
    (claimed,) = await gateway.backend.store.claim("worker-1", Serves.of("support"), 1)
    return claimed


async def status_of(gateway: Gateway, claimed: ClaimedRun) -> str | None:
    run = await gateway.backend.reader.run(claimed.run.id)
    return None if run is None else run.status.value


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


class Died(BaseException):
    """The process did not come to what follows."""


async def dies(*_: object) -> None:
    raise Died


async def unavailable(*_: object) -> None:
    raise StoreUnavailable("Postgres is away")


async def make_due_calls(gateway: Gateway) -> None:
    """Be a worker, a little later."""
    due = "UPDATE agent_scheduled_calls SET due_at = clock_timestamp() WHERE made_at IS NULL"
    await gateway.database.fetch(due)
    backend = gateway.backend
    working = asyncio.create_task(
        DueCalls(backend.functions.call, backend.registry, backend.calls).run()
    )
    open_calls = "SELECT 1 FROM agent_scheduled_calls WHERE made_at IS NULL"

    async def all_made() -> bool:
        return not await gateway.database.fetch(open_calls)

    await wait_until(all_made, description="due calls are made")
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


@pytest.mark.req("CON-05", "IMP-03")
async def test_a_cancel_follows_its_commit_and_leaves_nothing(gateway: Gateway) -> None:
    live = await drive(gateway, "k")

    assert await gateway.backend.functions.call("team:stop", {"run": live.run.id}, caller=ANN)

    assert await status_of(gateway, live) == "cancelled"
    assert await gateway.count("agent_scheduled_calls") == 0


@pytest.mark.req("IMP-03")
@pytest.mark.parametrize("fault", [dies, unavailable])
async def test_a_worker_does_what_the_process_did_not_come_to_after_the_commit(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, fault: Callable[..., object]
) -> None:
    live, broken = await drive(gateway, "live"), await drive(gateway, "broken")
    await gateway.backend.store.finish(broken.fence, Ending.failed("MODEL", "it failed"), None)

    with monkeypatch.context() as failing, suppress(Died):
        failing.setattr(gateway.backend.store, "cancel", fault)
        await gateway.backend.functions.call("team:stop", {"run": live.run.id}, caller=ANN)
    with monkeypatch.context() as failing, suppress(Died):
        failing.setattr(gateway.backend.store, "retry", fault)
        await gateway.backend.functions.call("team:onceMore", {"run": broken.run.id}, caller=ANN)
    before = [await status_of(gateway, each) for each in (live, broken)]
    await make_due_calls(gateway)

    assert before == ["running", "failed"]
    assert await status_of(gateway, live) == "cancelled"
    assert await status_of(gateway, broken) == "queued"


@pytest.mark.req("IMP-03")
async def test_nothing_is_cancelled_by_a_mutation_that_undoes_itself(gateway: Gateway) -> None:
    live = await drive(gateway, "k")
    args = {"run": live.run.id, "undoes": True}

    with pytest.raises(AgentFault, match="rolled back inside the function"):
        await gateway.backend.functions.call("team:stop", args, caller=ANN)

    assert await status_of(gateway, live) == "running"


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
