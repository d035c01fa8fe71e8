"""The agent that a newcomer meets, on the model that needs no key."""

import pytest

from agents.support import support
from app.domain.approval import Decision
from tests.support.agent_world import AgentWorld


async def test_two_cities_are_two_calls_in_one_turn() -> None:
    async with AgentWorld(support) as world:
        run = await world.answered("What is the weather in Oslo and Bergen?")

    assert world.steps(run.id) == [
        "llm:turn:0",
        "tool:get_weather:demo_1",
        "tool:get_weather:demo_2",
        "llm:turn:1",
    ]
    answer = world.said()[-1][2]
    assert answer.startswith("In Oslo it is ")
    assert "In Bergen it is " in answer


async def test_an_order_is_looked_up_and_a_wrong_number_is_explained() -> None:
    async with AgentWorld(support) as world:
        await world.answered("Where is order 1001?")
        await world.answered("Where is order 7777?")

    assert [text for role, _, text in world.said() if role == "assistant"][1::2] == [
        "Order 1001 (hemp rope, 20 m) is on its way; it cost 24.00 dollars.",
        "look_up_order did not work. There is no order 7777. The orders are 1001, 1002, 1003.",
    ]


async def test_a_small_refund_needs_nobody() -> None:
    async with AgentWorld(support) as world:
        await world.answered("Refund $20 for order 1001")

    assert world.said()[-1][2].startswith("Done: 20.00 dollars go back for order 1001.")


@pytest.mark.req("APR-01")
async def test_a_large_refund_takes_two_turns_and_a_person() -> None:
    async with AgentWorld(support) as world:
        world.worker()
        run = await world.parked(await world.say("Refund order 1002"))
        (asked,) = await world.reader.approvals(key=world.thread().key)
        assert (asked.name, asked.input) == ("refund_order", {"order_id": "1002", "amount": 8900})
        await world.decide(asked.tool_call_id, Decision.APPROVED)
        await world.ended(run.id)

    assert world.said()[-1][2].startswith("Done: 89.00 dollars go back for order 1002.")


async def test_a_refused_refund_is_explained() -> None:
    async with AgentWorld(support) as world:
        world.worker()
        run = await world.parked(await world.say("Refund order 1002"))
        await world.decide("demo_2", Decision.DENIED, "the receipt is missing")
        await world.ended(run.id)

    assert world.said()[-1][2] == (
        "I did not refund order 1002. The call was not approved, so it did not run. "
        "Reason: the receipt is missing."
    )


async def test_it_remembers_the_thread() -> None:
    async with AgentWorld(support) as world:
        await world.answered("My name is Ada")
        await world.answered("What is my name?")

    assert world.said()[-1][2] == "You are Ada."
