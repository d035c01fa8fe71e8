"""Who may decide is what operators say now: picked approvers, and the lists on top of them."""

from typing import Any

import pytest

from app import Agent, tool
from app.authoring.approval_policy import ApprovalPolicy
from app.domain.approval import ApprovalRules
from app.domain.errors import Forbidden
from app.domain.identity import ADMIN, Identity
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ROOT = Identity("root", frozenset({ADMIN}))
ANN = Identity("ann")
CFO = Identity("cfo", email="CFO@example.com")
BOB = Identity("bob", email="bob@example.com")
CALLS = ("c1", "c2", "c3")


@tool(needs_approval=ApprovalPolicy(approvers=["cfo@example.com"]))
async def look_up(order: int) -> str:
    """Look an order up."""
    return f"order {order}"


class Desk:
    """A thread of Ann's, whose calls wait for the chief of finance, as code has it."""

    def __init__(self, world: StoreWorld) -> None:
        self.world = world
        agent = Agent(slug="support", model="demo:", tools=[look_up])
        self.backend: Backend = memory_backend(world, declared={"support": agent})
        self.key = ""

    async def ask(self, *approvers: str) -> None:
        await self.world.start(agent="support", owner="ann")
        claimed = await self.world.claim("support")
        rules = ApprovalRules(approvers)
        await self.world.ask(claimed, *CALLS, gated=CALLS, rules=rules)
        await self.world.park(claimed, *CALLS)
        self.key = claimed.thread.key

    async def operate(self, name: str, **args: Any) -> None:  # noqa: ANN401  # JSON
        given = {"agent": "support", **args}
        await self.backend.functions.call(f"agents:{name}", given, caller=ROOT)

    async def pick(self, *approvers: str) -> None:
        names = list(approvers) or None
        await self.operate("adminSetApprovers", tool="look_up", approvers=names)

    async def decide(self, by: Identity, call: str) -> None:
        given = {"key": self.key, "toolCallId": call, "decision": "approved"}
        await self.backend.functions.call("agents:agentResolveApproval", given, caller=by)

    async def refuses(self, by: Identity, call: str) -> bool:
        with pytest.raises(Forbidden):
            await self.decide(by, call)
        return True

    async def inbox(self, of: Identity) -> list[tuple[bool, list[str]]]:
        """Return of each card whether he may decide it, and who may."""
        found: Any = await self.backend.functions.call("agents:agentApprovals", {}, caller=of)
        return [(each["mayDecide"], each["approvers"]) for each in found]


@pytest.fixture
async def desk(world: StoreWorld) -> Desk:
    made = Desk(world)
    await made.ask("cfo@example.com")
    return made


@pytest.mark.req("APR-26", "ADM-08")
async def test_picked_approvers_replace_those_in_code_until_they_are_cleared(desk: Desk) -> None:
    await desk.pick("bob@example.com")
    assert await desk.refuses(CFO, "c1")
    await desk.decide(BOB, "c1")
    await desk.pick()
    assert await desk.refuses(BOB, "c2")
    await desk.decide(CFO, "c2")


@pytest.mark.req("APR-26")
async def test_the_inbox_follows_who_is_picked(desk: Desk) -> None:
    coded = (await desk.inbox(CFO), await desk.inbox(BOB))
    await desk.pick("bob", "$owner")
    picked = (await desk.inbox(CFO), await desk.inbox(BOB), await desk.inbox(ANN))

    assert coded == ([(True, ["cfo@example.com"])] * 3, [])
    assert picked == ([], [(True, ["bob", "$owner"])] * 3, [(True, ["bob", "$owner"])] * 3)


@pytest.mark.req("APR-27")
async def test_who_is_no_approver_any_more_when_he_decides_is_refused(desk: Desk) -> None:
    await desk.pick("bob@example.com", "cfo@example.com")
    await desk.decide(BOB, "c1")
    await desk.pick("cfo@example.com")

    assert await desk.refuses(BOB, "c2")
    async with desk.backend.client("bob") as client:
        (waiting, *_) = await desk.world.reader.approvals(key=desk.key)
        path = f"/agents/support/sessions/{desk.key}/approvals/{waiting.id}"
        answer = await client.post(path, json={"decision": "approved"})
    assert answer.status_code == 403


@pytest.mark.req("APR-20")
async def test_a_named_approver_who_is_off_the_list_is_refused(desk: Desk) -> None:
    await desk.operate("adminSetGovernance", use=["cfo"], approve=["bob"])
    assert await desk.refuses(CFO, "c1")
    assert await desk.refuses(BOB, "c1")
    assert await desk.inbox(CFO) == [(False, ["cfo@example.com"])] * 3

    await desk.operate("adminSetGovernance", use=["bob"], approve=["cfo@example.com"])
    await desk.decide(CFO, "c1")


@pytest.mark.req("APR-20")
async def test_without_an_approve_list_the_use_list_counts(desk: Desk) -> None:
    await desk.operate("adminSetGovernance", use=["ann"], approve=None)
    assert await desk.refuses(CFO, "c1")

    await desk.operate("adminSetGovernance", use=["ann", "cfo"], approve=None)
    await desk.decide(CFO, "c1")


@pytest.mark.req("APR-18", "APR-20")
async def test_the_list_is_for_owners_and_admins_too(world: StoreWorld) -> None:
    desk = Desk(world)
    await desk.ask()
    await desk.operate("adminSetGovernance", use=None, approve=["bob"])
    for caller in (ANN, ROOT, BOB):  # Bob is on the list, and no approver
        assert await desk.refuses(caller, "c1")

    await desk.operate("adminSetGovernance", use=None, approve=["root", "ann"])
    await desk.decide(ANN, "c1")
    await desk.decide(ROOT, "c2")


@pytest.mark.req("APR-27")
async def test_a_batch_is_held_to_the_settings_as_a_whole(desk: Desk) -> None:
    await desk.pick("bob")
    given = {
        "key": desk.key,
        "decisions": [{"toolCallId": call, "decision": "approved"} for call in CALLS],
    }
    with pytest.raises(Forbidden) as refused:
        await desk.backend.functions.call("agents:agentResolveApprovals", given, caller=CFO)

    assert refused.value.data == {"toolCallId": "c1"}
    assert len(await desk.world.reader.approvals(key=desk.key)) == 3
