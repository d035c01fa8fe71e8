"""A policy says who decides, what may be changed, and what happens when nobody does."""

from datetime import timedelta

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from app import Agent, ApprovalPolicy, agent_as_tool, tool
from app.authoring.approval_policy import NeedsApproval
from app.authoring.tools import Tool
from app.domain.approval import ApprovalRules, Decider, Decision, NewDecision
from app.domain.errors import DeclarationError
from app.domain.storable import Json
from app.loop.history import EDITED
from tests.support.agent_world import ALICE, AgentWorld, no_backoff
from tests.support.scripted_model import Asks, Says, ScriptedModel

__all__ = ["no_backoff"]


class Till:
    """Counts what was charged."""

    def __init__(self, needs_approval: NeedsApproval) -> None:
        self.charged: list[tuple[int, bool]] = []

        @tool(needs_approval=needs_approval)
        async def charge(amount: int, receipt: bool = True) -> str:  # noqa: FBT001, FBT002  # a tool's arguments
            self.charged.append((amount, receipt))
            return f"charged {amount}"

        self.charge: Tool = charge


def charge(amount: int, call_id: str = "call_1") -> Asks:
    return Asks("charge", {"amount": amount}, call_id)


def told(model: ScriptedModel, request: int = 1) -> ToolReturnPart:
    last = model.requests[request][-1]
    assert isinstance(last, ModelRequest)
    (result,) = last.parts
    assert isinstance(result, ToolReturnPart)
    return result


async def approve(world: AgentWorld, call: str = "call_1", **edited: Json) -> None:
    answer = NewDecision(call, Decision.APPROVED, edited_input=edited or None)
    await world.store.decide(world.thread().id, [answer], Decider(ALICE))


@pytest.mark.req("APR-01")
async def test_a_policy_asks_when_its_predicate_holds_and_is_stored_with_the_call() -> None:
    till = Till(
        ApprovalPolicy(
            approvers=["$owner", "cfo@example.com"],
            editable=True,
            when=lambda call: call.amount > 10,
            expires_in=3600,
        )
    )
    model = ScriptedModel(Says(calls=[charge(9, "c1"), charge(11, "c2")]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[till.charge])) as world:
        world.worker()
        await world.parked(await world.say())
        (asked,) = await world.reader.approvals(key="thread")

    assert till.charged == [(9, True)]
    assert asked.tool_call_id == "c2"
    assert asked.rules == ApprovalRules(
        ("$owner", "cfo@example.com"), editable=True, expires_after=timedelta(hours=1)
    )


@pytest.mark.req("APR-11", "APR-13")
async def test_an_edited_call_runs_with_the_edit_and_the_model_is_told() -> None:
    till = Till(ApprovalPolicy(editable=True))
    model = ScriptedModel(Says(calls=[charge(9)]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[till.charge])) as world:
        world.worker()
        run = await world.parked(await world.say())
        await approve(world, amount=0, receipt=False)
        await world.ended(run.id)
        (part,) = world.rows()[2].parts

    assert till.charged == [(0, False)]
    edit = {"amount": 0, "receipt": False}
    assert told(model).content == {"note": EDITED, "input": edit, "output": "charged 0"}
    assert part["editedInput"] == edit
    assert world.rows()[1].parts[-1]["input"] == {"amount": 9}


async def test_an_edited_call_of_an_agent_asks_what_the_edit_says() -> None:
    child = Agent(slug="child", model=ScriptedModel("As you wish."))
    asks = Asks("child", {"message": "wipe it"}, "call_1")
    model = ScriptedModel(Says(calls=[asks]), "Done.")
    offered = agent_as_tool(child, needs_approval=ApprovalPolicy(editable=True))
    async with AgentWorld(Agent(model=model, tools=[offered]), child) as world:
        world.worker()
        run = await world.parked(await world.say())
        await approve(world, message="back it up")
        await world.ended(run.id)
        (asked,) = world.children(run.id)
        said = world.database.messages[asked.thread_id][0].parts

    assert said == [{"type": "text", "text": "back it up"}]


@pytest.mark.parametrize(
    ("on_expiry", "charged"), [("denied", []), ("approved", [(9, True)])], ids=str
)
async def test_a_call_that_nobody_decides_is_decided_by_its_policy(
    on_expiry: str, charged: list[tuple[int, bool]]
) -> None:
    till = Till(
        ApprovalPolicy(expires_in=timedelta(minutes=5), on_expiry=on_expiry)  # type: ignore[arg-type]  # one of the two
    )
    model = ScriptedModel(Says(calls=[charge(9)]), "Done.")
    async with AgentWorld(Agent(model=model, tools=[till.charge])) as world:
        world.worker()
        run = await world.parked(await world.say())
        await world.later(timedelta(minutes=4))
        assert (await world.reader.run(run.id)) == run
        await world.later(timedelta(minutes=2))
        await world.ended(run.id)

    assert till.charged == charged


@pytest.mark.req("ADM-05")
async def test_an_agent_that_always_asks_lets_every_call_wait() -> None:
    till = Till(needs_approval=False)
    model = ScriptedModel(Says(calls=[charge(9)]), "Done.")
    agent = Agent(model=model, tools=[till.charge], autonomy="always_ask")
    async with AgentWorld(agent) as world:
        world.worker()
        run = await world.parked(await world.say())
        assert till.charged == []
        await approve(world)
        await world.ended(run.id)

    assert till.charged == [(9, True)]


@pytest.mark.req("APR-25")
@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (ApprovalPolicy(approvers=["$manager"]), "'\\$manager' stands for nobody"),
        (ApprovalPolicy(approvers="ann"), "approvers is a list"),
        (ApprovalPolicy(approvers=[""]), "approvers is a list"),
        (ApprovalPolicy(when=True), "when is a predicate"),  # type: ignore[arg-type]
        (ApprovalPolicy(expires_in=0), "expires_in"),
        (ApprovalPolicy(on_expiry="later"), "on_expiry is"),  # type: ignore[arg-type]
        ("yes", "needs_approval is True"),
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_kept_is_refused_where_it_is_declared(
    policy: NeedsApproval, says: str
) -> None:
    with pytest.raises(DeclarationError, match=says):
        Till(policy)
