"""A call that is repeated under its key takes effect once, over gateways and at the same time."""

import asyncio

import pytest

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.errors import InvalidArgument
from app.domain.identity import ANONYMOUS, Identity
from app.domain.storable import Json
from tests.integration.functions.conftest import Gateway, MakeGateway, Note

ANN, BOB = Identity("ann"), Identity("bob")
CHARGED: list[int] = []


@mutation
async def take_down(ctx: MutationContext, body: str) -> dict[str, str]:
    ctx.db.add(Note(body=body))
    run = await ctx.agents.support.run(input=body, owner=ctx.auth.user_id)
    return {"id": run.id, "key": run.thread_key}


@action
async def charge(ctx: ActionContext, cents: int) -> int:
    CHARGED.append(cents)
    await asyncio.sleep(0.05)
    return len(CHARGED)


@pytest.fixture
async def gateways(gateway: Gateway, make_gateway: MakeGateway) -> list[Gateway]:
    """Two gateways on one database."""
    CHARGED.clear()
    both = [gateway, await make_gateway()]
    for each in both:
        each.backend.registry.add("team", [take_down, charge])
    return both


async def _call(gateway: Gateway, ref: str, args: dict[str, object]) -> Json:
    return await gateway.backend.functions.call(ref, args, caller=ANN, dedupe="k")


@pytest.mark.req("RUN-01", "SDK-08")
async def test_the_second_gateway_answers_what_the_first_did(gateways: list[Gateway]) -> None:
    answers = [await _call(each, "team:takeDown", {"body": "one"}) for each in gateways * 2]

    assert all(answer == answers[0] for answer in answers)
    assert await gateways[0].notes() == ["one"]
    assert await gateways[0].count("agent_runs") == 1


async def test_calls_at_the_same_time_are_one_call(gateways: list[Gateway]) -> None:
    calls = (_call(each, "team:takeDown", {"body": "one"}) for each in gateways * 8)

    answers = await asyncio.gather(*calls)

    assert all(answer == answers[0] for answer in answers)
    assert await gateways[0].notes() == ["one"]
    assert await gateways[0].count("agent_runs") == 1
    assert sum(len(each.around.rung) for each in gateways) == 1


async def test_an_action_is_carried_out_once_by_two_gateways(gateways: list[Gateway]) -> None:
    calls = (_call(each, "team:charge", {"cents": 5}) for each in gateways * 3)

    assert await asyncio.gather(*calls) == [1] * 6
    assert CHARGED == [5]


async def test_other_arguments_under_the_same_key_are_refused(gateways: list[Gateway]) -> None:
    await _call(gateways[0], "team:takeDown", {"body": "one"})

    with pytest.raises(InvalidArgument, match="with other arguments"):
        await _call(gateways[1], "team:takeDown", {"body": "two"})

    assert await gateways[0].notes() == ["one"]


async def test_nobody_and_two_people_may_use_the_same_key(gateways: list[Gateway]) -> None:
    for number, caller in enumerate((ANN, BOB, ANONYMOUS)):
        args = {"body": f"note {number}"}
        await gateways[0].backend.functions.call("team:takeDown", args, caller=caller, dedupe="k")

    assert len(await gateways[0].notes()) == 3


@pytest.mark.req("SDK-08")
async def test_the_key_of_a_send_comes_back_on_its_message(gateways: list[Gateway]) -> None:
    answer = await _call(gateways[0], "team:takeDown", {"body": "one"})

    assert isinstance(answer, dict)
    args = {"key": answer["key"]}
    shown = await gateways[1].backend.functions.call("agents:agentMessages", args, caller=ANN)
    assert isinstance(shown, list)
    assert isinstance(shown[0], dict)
    assert (shown[0]["dedupe"], shown[0]["author"]) == ("k", "ann")


async def test_a_result_that_is_null_is_remembered_as_one(gateways: list[Gateway]) -> None:
    runs: list[int] = []

    async def nothing(ctx: MutationContext) -> None:
        runs.append(1)

    for each in gateways:
        each.backend.registry.add("more", [mutation(nothing)])

    answers = [await _call(each, "more:nothing", {}) for each in gateways]

    assert answers == [None, None]
    assert len(runs) == 1
