"""It does not matter whether a decision comes before, while or after the run parks or ends."""

import asyncio

import pytest

from app.domain.approval import Approval, ApprovalStatus, Decision, approval_step
from app.domain.errors import Conflict
from app.domain.identity import Identity
from app.domain.ports import ClaimedRun, Serves, Verdict
from app.domain.run import Ending, RunStatus, Waits
from tests.integration.store.rival import Rival
from tests.support.deciding import decide
from tests.support.store_world import StoreWorld

ANN = Identity("ann")
ROUNDS = 40


async def _asking(world: StoreWorld) -> ClaimedRun:
    claimed = await world.drive()
    await world.ask(claimed, "call_1", gated=["call_1"])
    return claimed


@pytest.mark.req("APR-02", "APR-08")
@pytest.mark.parametrize("decide_first", [True, False])
async def test_a_decision_and_a_park_in_either_order(
    world: StoreWorld, rival: Rival, *, decide_first: bool
) -> None:
    claimed = await _asking(world)

    async def approve() -> Approval:
        return await decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None)

    async def park() -> Verdict:
        return await world.store.park(claimed.fence, 0, Waits.for_all([approval_step("call_1")]))

    async with asyncio.TaskGroup() as group, rival.holding(claimed.thread.id):
        first = group.create_task(approve() if decide_first else park())
        await rival.until_waited_for(1)
        second = group.create_task(park() if decide_first else approve())
        await rival.until_waited_for(2)

    parked = second.result() if decide_first else first.result()
    run = await world.run(claimed.run.id)
    assert parked is (Verdict.MOVED if decide_first else Verdict.DONE)
    assert run.status is (RunStatus.RUNNING if decide_first else RunStatus.QUEUED)
    assert (await world.thread(claimed.thread.id)).wakes == 1
    assert await world.store.stranded() == []


@pytest.mark.req("APR-02", "APR-08")
async def test_decisions_race_with_parks(world: StoreWorld) -> None:
    async def one_round() -> None:
        claimed = await _asking(world)
        parked, _ = await asyncio.gather(
            world.store.park(claimed.fence, 0, Waits.for_all([approval_step("call_1")])),
            decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None),
        )
        status = (await world.run(claimed.run.id)).status
        assert (parked, status) in {
            (Verdict.DONE, RunStatus.QUEUED),
            (Verdict.MOVED, RunStatus.RUNNING),
        }

    await asyncio.gather(*(one_round() for _ in range(ROUNDS)))

    assert await world.store.stranded() == []


@pytest.mark.req("APR-33")
async def test_decisions_race_with_ends(world: StoreWorld) -> None:
    async def one_round() -> None:
        claimed = await _asking(world)
        finished, decided = await asyncio.gather(
            world.store.finish(claimed.fence, Ending.completed("final"), 0),
            decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None),
            return_exceptions=True,
        )
        if finished is Verdict.DONE:
            assert isinstance(decided, Conflict)
        else:
            assert finished is Verdict.MOVED
            assert isinstance(decided, Approval)

    await asyncio.gather(*(one_round() for _ in range(ROUNDS)))


@pytest.mark.req("APR-33")
async def test_of_twenty_people_one_decides(world: StoreWorld) -> None:
    claimed = await _asking(world)
    await world.park(claimed, "call_1")
    world.around.rung.clear()
    people = [Identity(f"person-{n}") for n in range(20)]

    answers = await asyncio.gather(
        *(
            decide(world.store, claimed.thread.id, "call_1", list(Decision)[n % 2], person, None)
            for n, person in enumerate(people)
        ),
        return_exceptions=True,
    )

    stored = [answer for answer in answers if isinstance(answer, Approval)]
    refused = [answer for answer in answers if isinstance(answer, Conflict)]
    (decided,) = stored
    assert len(refused) == 19
    assert {each.data and each.data["decidedBy"] for each in refused} == {decided.decided_by}
    assert world.around.rung == [claimed.run.id]
    assert (await world.thread(claimed.thread.id)).wakes == 1


@pytest.mark.req("APR-33", "RUN-03")
async def test_a_cancel_and_a_decision_exclude_each_other(world: StoreWorld) -> None:
    async def one_round() -> None:
        claimed = await _asking(world)
        await world.park(claimed, "call_1")
        cancelled, decided = await asyncio.gather(
            world.store.cancel(claimed.thread.id, claimed.run.id),
            decide(world.store, claimed.thread.id, "call_1", Decision.APPROVED, ANN, None),
            return_exceptions=True,
        )
        assert not isinstance(cancelled, BaseException)
        if isinstance(decided, Conflict):
            assert decided.data == {
                "toolCallId": "call_1",
                "status": ApprovalStatus.CANCELLED,
                "decidedBy": None,
            }
        else:
            assert isinstance(decided, Approval)
        assert (await world.run(claimed.run.id)).status is RunStatus.CANCELLED
        assert await world.store.claim("w", Serves.of(claimed.run.agent), 1) == []

    await asyncio.gather(*(one_round() for _ in range(ROUNDS)))
