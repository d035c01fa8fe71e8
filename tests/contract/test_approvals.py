"""What every store keeps of decisions: as a whole, on what was shown, in time, and for whom."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.approval import (
    Approval,
    ApprovalRules,
    Decider,
    Decision,
    NewDecision,
    Place,
    approval_step,
    expiry_fact,
    input_hash,
)
from app.domain.errors import Conflict, NotFound
from app.domain.facts import NewTimer
from app.domain.identity import ADMIN, ANONYMOUS, Identity
from app.domain.ports import ClaimedRun, Verdict
from app.domain.run import Ending, Waits
from tests.support.deciding import decide
from tests.support.store_world import StoreWorld
from tests.support.wait_until import wait_until

ANN, BOB = Identity("ann"), Identity("bob", email="Bob@example.com")
ROOT = Identity("root", frozenset({ADMIN}))
HOUR = timedelta(hours=1)


async def asking(world: StoreWorld, *calls: str, **rules: object) -> ClaimedRun:
    """Return a parked run whose calls wait for a person."""
    claimed = await world.drive()
    await world.ask(claimed, *calls, gated=calls, rules=ApprovalRules(**rules))  # type: ignore[arg-type]  # its fields
    await world.park(claimed, *calls)
    return claimed


@pytest.mark.req("APR-15", "APR-16")
async def test_a_batch_is_decided_as_a_whole_and_the_run_goes_on_once(world: StoreWorld) -> None:
    claimed = await asking(world, "c1", "c2", "c3")
    thread_id = claimed.thread.id
    before = await world.thread(thread_id)
    good = [NewDecision("c1", Decision.APPROVED), NewDecision("c2", Decision.DENIED, "no")]
    by = Decider(ANN, Place.CLI)

    with pytest.raises(NotFound) as missing:
        await world.store.decide(thread_id, [*good, NewDecision("c9", Decision.APPROVED)], by)
    unlike = NewDecision("c3", Decision.APPROVED, shown="of other arguments")
    with pytest.raises(Conflict) as other:
        await world.store.decide(thread_id, [*good, unlike], by)
    assert missing.value.data == {"toolCallId": "c9"}
    assert other.value.data is not None
    assert other.value.data["input"] == {"order": 1}
    assert await world.thread(thread_id) == before

    rest = NewDecision("c3", Decision.APPROVED, shown=input_hash({"order": 1}))
    decided = await world.store.decide(thread_id, [*good, rest], by)

    after = await world.thread(thread_id)
    assert [each.status for each in decided] == ["approved", "denied", "approved"]
    assert {(each.decided_by, each.place) for each in decided} == {("ann", Place.CLI)}
    assert (after.wakes, after.version) == (before.wakes + 1, before.version + 1)
    assert (await world.run(claimed.run.id)).status == "queued"


@pytest.mark.req("APR-11", "APR-13", "APR-31")
async def test_an_edit_is_kept_beside_what_was_asked(world: StoreWorld) -> None:
    claimed = await asking(world, "c1", editable=True)
    edit = NewDecision("c1", Decision.APPROVED, "rounded", {"amount": 0, "note": ""})

    (decided,) = await world.store.decide(claimed.thread.id, [edit], Decider(ANN))

    (found,) = await world.reader.approvals(key=claimed.thread.key, everything=True)
    assert found == decided
    assert (found.input, found.edited_input) == ({"order": 1}, {"amount": 0, "note": ""})
    resumed = await world.claim(claimed.run.agent, "w2")
    assert (await world.facts(resumed))[approval_step("c1")] == {
        "decision": "approved",
        "by": "ann",
        "reason": "rounded",
        "input": {"amount": 0, "note": ""},
    }


async def parked_until(world: StoreWorld, after: timedelta, on_expiry: Decision) -> ClaimedRun:
    """Return a parked run whose call is decided by itself."""
    claimed = await world.drive()
    rules = ApprovalRules(expires_after=after, on_expiry=on_expiry)
    await world.ask(claimed, "c1", gated=["c1"], rules=rules)
    timers = [NewTimer(expiry_fact("c1"), after)]
    waits = Waits.for_all([approval_step("c1")])
    assert await world.store.park(claimed.fence, 0, waits, timers) is Verdict.DONE
    return claimed


@pytest.mark.parametrize("on_expiry", list(Decision))
async def test_what_nobody_decides_in_time_is_decided_as_was_declared(
    world: StoreWorld, on_expiry: Decision
) -> None:
    claimed = await parked_until(world, timedelta(0), on_expiry)
    assert await world.store.fire_due(100) >= 1

    (found,) = await world.reader.approvals(key=claimed.thread.key, everything=True)
    assert (found.status.value, found.place) == (on_expiry.value, Place.SYSTEM)
    assert found.decided_by is None
    assert (await world.run(claimed.run.id)).status == "queued"
    with pytest.raises(Conflict):
        await decide(world.store, claimed.thread.id, "c1", Decision.APPROVED, ANN)


async def test_what_was_decided_in_time_does_not_expire(world: StoreWorld) -> None:
    claimed = await parked_until(world, timedelta(0), Decision.DENIED)
    await decide(world.store, claimed.thread.id, "c1", Decision.APPROVED, ANN)
    version = (await world.thread(claimed.thread.id)).version

    await world.store.fire_due(100)

    (found,) = await world.reader.approvals(key=claimed.thread.key, everything=True)
    assert (found.status.value, found.decided_by) == ("approved", "ann")
    assert (await world.thread(claimed.thread.id)).version == version


@pytest.mark.req("APR-02", "ACC-09")
async def test_what_a_child_asks_is_shown_at_the_top_and_goes_when_it_is_decided(
    world: StoreWorld,
) -> None:
    top = await world.drive()
    await world.ask(top, "call_1")
    middle = await world.spawn(top)
    await world.ask(middle, "call_1")
    bottom = await world.spawn(middle)
    await world.ask(bottom, "call_1", gated=["call_1"])
    before = await world.thread(top.thread.id)

    await world.park(bottom, "call_1")

    shown = await world.snapshot(top.thread.id)
    (asked,) = shown.approvals
    assert (asked.thread_key, asked.agent) == (bottom.thread.key, bottom.run.agent)
    assert shown.thread.version > before.version
    assert (await world.snapshot(middle.thread.id)).approvals == []
    assert await world.reader.approvals(key=top.thread.key) == [asked]

    await decide(world.store, bottom.thread.id, "call_1", Decision.APPROVED, ANN)

    after = await world.snapshot(top.thread.id)
    assert after.approvals == []
    assert after.thread.version > shown.thread.version
    assert world.around.announced[-1] == (top.thread.id, after.thread.version)


@pytest.mark.req("APR-33")
async def test_what_a_child_asks_goes_when_the_top_is_cancelled(world: StoreWorld) -> None:
    top = await world.drive()
    await world.ask(top, "call_1")
    child = await world.spawn(top)
    await world.ask(child, "call_1", gated=["call_1"])
    await world.park(child, "call_1")

    await world.store.cancel(top.thread.id, top.run.id)

    assert (await world.snapshot(top.thread.id)).approvals == []
    with pytest.raises(Conflict):
        await decide(world.store, child.thread.id, "call_1", Decision.APPROVED, ANN)


@pytest.mark.req("APR-32", "ADM-09")
async def test_each_sees_what_is_his_to_see_the_oldest_first(world: StoreWorld) -> None:
    mine = await world.drive(owner="ann")
    await world.ask(mine, "c1", "c2", gated=["c1", "c2"])
    named = await world.drive(owner="carl")
    rules = ApprovalRules(approvers=("$owner", "bob@EXAMPLE.com"))
    await world.ask(named, "c1", gated=["c1"], rules=rules)
    nobodys = await world.drive()
    await world.ask(nobodys, "c1", gated=["c1"])
    await decide(world.store, mine.thread.id, "c2", Decision.DENIED, ANN, "no")
    here = {each.thread.key for each in (mine, named, nobodys)}

    async def seen(person: Identity, agents: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        found: list[Approval] = await world.reader.approvals(
            visible_to=person, agents=agents, everything=True, limit=1000
        )
        return [(each.thread_key, each.tool_call_id) for each in found if each.thread_key in here]

    assert await seen(ANN) == [(mine.thread.key, "c1"), (mine.thread.key, "c2")]
    assert await seen(BOB) == [(named.thread.key, "c1")]
    assert await seen(BOB, (nobodys.run.agent,)) == [
        (named.thread.key, "c1"),
        (nobodys.thread.key, "c1"),
    ]
    assert await seen(ANONYMOUS) == []
    assert len(await seen(ROOT)) == 4


@pytest.mark.req("APR-32")
@pytest.mark.parametrize(
    ("approver", "person", "sees"),
    [
        ("$owner", Identity("$owner"), False),
        ("$speaker", Identity("$speaker"), False),
        ("Bob@Example.com", Identity("x", email="bob@example.COM"), True),
        ("bob@example.com", Identity("BOB@EXAMPLE.COM"), False),
        ("bob@example.com", Identity("bob@example.com"), True),
        ("stra\u00dfe@example.com", Identity("x", email="stra\u00dfe@example.com"), True),
        ("stra\u00dfe@example.com", Identity("x", email="strasse@example.com"), False),
        ("\u00c9va@example.com", Identity("x", email="\u00e9va@example.com"), False),
    ],
)
async def test_a_name_on_the_list_is_one_persons(
    world: StoreWorld, approver: str, person: Identity, *, sees: bool
) -> None:
    claimed = await world.drive(owner="carl")
    rules = ApprovalRules(approvers=(approver,))
    await world.ask(claimed, "c1", gated=["c1"], rules=rules)

    found = await world.reader.approvals(visible_to=person, limit=1000)

    assert [each.thread_key for each in found] == [claimed.thread.key] * sees


async def test_a_call_of_a_child_is_not_taken_for_one_of_the_thread(world: StoreWorld) -> None:
    top = await world.drive()
    await world.ask(top, "call_1", gated=["call_1"])
    child = await world.spawn(top)
    await world.ask(child, "call_1", gated=["call_1"])

    (found,) = await world.reader.approvals(key=top.thread.key, calls=["call_1"])

    assert found.thread_id == top.thread.id
    await world.store.finish(child.fence, Ending.failed("X", "x"), None)


@pytest.mark.req("APR-02", "APR-33")
async def test_what_a_grandchild_asks_is_shown_at_once_and_goes_when_it_alone_is_cancelled(
    world: StoreWorld,
) -> None:
    top = await world.drive()
    await world.ask(top, "call_1")
    middle = await world.spawn(top)
    await world.ask(middle, "call_1")
    bottom = await world.spawn(middle)
    before = (await world.thread(top.thread.id)).version

    await world.ask(bottom, "call_1", gated=["call_1"])  # and other calls are still under way

    shown = await world.snapshot(top.thread.id)
    assert [each.tool_call_id for each in shown.approvals] == ["call_1"]
    assert shown.thread.version > before

    await world.park(bottom, "call_1")
    shown = await world.snapshot(top.thread.id)
    await world.store.cancel(bottom.thread.id, bottom.run.id)

    after = await world.snapshot(top.thread.id)
    assert after.approvals == []
    assert after.thread.version > shown.thread.version
    assert (top.thread.id, after.thread.version) in world.around.announced


async def test_what_expires_counts_from_when_it_was_asked(world: StoreWorld) -> None:
    claimed = await world.drive()
    rules = ApprovalRules(expires_after=timedelta(milliseconds=30))
    await world.ask(claimed, "c1", gated=["c1"], rules=rules)
    (asked,) = await world.reader.approvals(key=claimed.thread.key)
    expires_at = asked.expires_at
    assert expires_at is not None
    await wait_until(
        lambda: datetime.now(UTC) > expires_at, description="it expires", interval_s=0.005
    )

    timers = [NewTimer(expiry_fact("c1"), timedelta(milliseconds=30))]
    waits = Waits.for_all([approval_step("c1")])
    assert await world.store.park(claimed.fence, 0, waits, timers) is Verdict.DONE

    assert await world.store.fire_due(100) >= 1
    (found,) = await world.reader.approvals(key=claimed.thread.key, everything=True)
    assert (found.status.value, found.place) == ("denied", Place.SYSTEM)


async def test_a_card_that_a_retry_opens_again_waits_its_whole_time(world: StoreWorld) -> None:
    claimed = await world.drive()
    await world.ask(claimed, "c1", gated=["c1"], rules=ApprovalRules(expires_after=HOUR))
    (asked,) = await world.reader.approvals(key=claimed.thread.key)
    await world.store.finish(claimed.fence, Ending.failed("X", "x"), None)

    await world.store.retry(claimed.thread.id, claimed.run.id)

    (again,) = await world.reader.approvals(key=claimed.thread.key)
    assert again.id == asked.id
    assert again.requested_at > asked.requested_at
