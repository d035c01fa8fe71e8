"""What waits for a person is asked again in a branch, and nothing there is taken as decided."""

from functools import partial

import pytest

from tests.integration.branches.conftest import Desk
from tests.support.branching_agent import PAID, SEEN
from tests.support.wait_until import wait_until

PAY = '[["c0", "pay", 5]]'
CHILD = '[["c0", "ask_child", [["c1", "pay", 5]]]]'


@pytest.mark.req("APR-05")
async def test_b30_another_answer_takes_no_open_call_as_approved(desk: Desk) -> None:
    run = await desk.ask(PAY)
    asked = len(SEEN)

    branch, again = await desk.branch("regenerate")

    assert SEEN[asked:] == [[f"user: {PAY}"]], "the call is no part of what its model reads"
    assert (await desk.rests(run), await desk.rests(again)) == ("awaiting_input", "awaiting_input")
    assert (await desk.cards("chat"), await desk.cards(branch)) == (["c0"], ["c0"])
    assert not PAID

    await desk.decide(branch)
    await desk.ended(again)
    assert {branch: [5]} == PAID
    assert await desk.cards("chat") == ["c0"], "it waits for its own decision still"

    await desk.decide("chat")
    await desk.ended(run)
    assert {branch: [5], "chat": [5]} == PAID


async def test_what_is_denied_in_the_branch_may_be_approved_in_the_original(desk: Desk) -> None:
    run = await desk.ask(PAY)
    (question, *_) = (await desk.session())["messages"]
    branch, again = await desk.branch(f"messages/{question['id']}/edit", message=PAY)

    await desk.decide(branch, decision="denied")
    await desk.ended(again)
    await desk.decide("chat")
    await desk.ended(run)

    assert PAID == {"chat": [5]}


async def test_a_copy_never_ends_between_a_call_and_its_result(desk: Desk) -> None:
    await desk.ask("one")
    await desk.ask(PAY)
    messages = (await desk.session())["messages"]
    question, call, result = messages[2:]

    for body in (
        {},
        {"messageId": call["id"]},
        {"messageId": result["id"]},
        {"messageId": result["id"], "edge": "before"},
    ):
        refused = await desk.ann.post("/agents/desk/sessions/chat/fork", json=body)
        assert (refused.status_code, refused.json()["data"]) == (400, {"before": call["id"]})
        assert call["id"] in refused.json()["message"]

    fork = (await desk.post("fork", messageId=call["id"], edge="before"))["sessionId"]
    await desk.ask("well?", fork)
    assert (await desk.texts(fork))[:4] == ["one", messages[1]["text"], question["text"], "well?"]
    assert await desk.cards("chat") == ["c0"]
    assert not PAID


async def test_after_the_last_result_a_copy_may_end_again(desk: Desk) -> None:
    await desk.ask('[["c0", "look", 1], ["c1", "look", 2]]')
    question, call, first, last, _ = (await desk.session())["messages"]

    refused = await desk.ann.post(
        "/agents/desk/sessions/chat/fork", json={"messageId": first["id"]}
    )
    fork = (await desk.post("fork", messageId=last["id"]))["sessionId"]

    assert refused.json()["data"] == {"before": call["id"], "after": last["id"]}
    roles = [each["role"] for each in (await desk.session(fork))["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]
    assert question["runId"] == (await desk.session(fork))["messages"][0]["runId"]


@pytest.mark.req("APR-05")
async def test_a_child_asks_for_the_branch_that_asked_it(desk: Desk) -> None:
    run = await desk.ask(CHILD)
    branch, again = await desk.branch("regenerate")

    async def child_of(key: str) -> str:
        await wait_until(partial(desk.cards, key), description=f"a child of {key} asks")
        (card,) = (await desk.session(key))["pendingApprovals"]
        return str(card["key"])

    theirs, own = await child_of("chat"), await child_of(branch)
    assert theirs != own
    await desk.decide(own, "c1")
    await desk.ended(again)
    assert {own: [5]} == PAID

    await desk.decide(theirs, "c1")
    await desk.ended(run)
    assert {own: [5], theirs: [5]} == PAID


async def test_what_a_person_said_into_a_run_is_no_part_of_what_it_was_asked(desk: Desk) -> None:
    run = await desk.ask(PAY)
    await desk.post("signals", message="hurry", mode="inject")
    await desk.decide("chat")
    await desk.ended(run)
    said = next(each for each in (await desk.session())["messages"][1:] if each["role"] == "user")

    refused = await desk.ann.post(
        f"/agents/desk/sessions/chat/messages/{said['id']}/edit", json={"message": "slowly"}
    )
    branch, _ = await desk.branch("regenerate", messageId=said["id"])

    assert refused.status_code == 400
    assert [each for each in SEEN if "hurry" in str(each)][-1] != SEEN[-1]
    assert SEEN[-1] == [f"user: {PAY}"]
    assert await desk.cards(branch) == ["c0"]


async def test_a_run_that_a_signal_began_is_asked_the_same_again(desk: Desk) -> None:
    await desk.ask("one")
    woken = await desk.post("signals", message="news")
    await desk.ended(woken["runId"])
    asked = SEEN[-1]

    await desk.branch("regenerate")

    assert SEEN[-1] == asked
    assert "[message] news" in asked[-1]
