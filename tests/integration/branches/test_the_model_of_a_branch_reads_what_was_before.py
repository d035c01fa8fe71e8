"""What the model of a branch is sent: the copies, then the question, nothing that came later."""

from tests.integration.branches.conftest import Desk
from tests.support.branching_agent import SEEN

LOOK = '[["c0", "look", 7]]'


async def test_another_answer_is_asked_for_with_the_very_history_of_the_first(desk: Desk) -> None:
    await desk.ask("one")
    await desk.ask(LOOK)
    first = len(SEEN)
    await desk.ask("three")
    asked = SEEN[first]
    await desk.ask("four")

    messages = (await desk.session())["messages"]
    third = next(each for each in messages if each["text"] == "three")
    seen = len(SEEN)
    branch, _ = await desk.branch("regenerate", messageId=third["id"])

    assert SEEN[seen:] == [asked]
    assert "result: c0 saw 7" in asked
    texts = await desk.texts(branch)
    assert texts[:-1] == (await desk.texts())[: third["seq"]]
    assert texts[-1] not in await desk.texts()


async def test_a_branch_goes_on_from_its_own_answer(desk: Desk) -> None:
    await desk.ask("one")
    original = await desk.texts()
    branch, _ = await desk.branch("regenerate")
    said = (await desk.texts(branch))[-1]

    await desk.ask("two", branch)

    assert SEEN[-1] == ["user: one", f"model: {said}", "user: two"]
    assert await desk.texts() == original


async def test_an_edited_question_is_asked_in_the_place_of_the_first(desk: Desk) -> None:
    await desk.ask("one")
    await desk.ask("two")
    answer, question = (await desk.session())["messages"][1:3]

    branch, _ = await desk.branch(f"messages/{question['id']}/edit", message="zwei")

    assert SEEN[-1] == ["user: one", f"model: {answer['text']}", "user: zwei"]
    assert (await desk.texts(branch))[:3] == ["one", answer["text"], "zwei"]


async def test_a_fork_reads_what_was_copied_and_is_no_branch(desk: Desk) -> None:
    await desk.ask("one")
    await desk.ask(LOOK)
    last = (await desk.session())["messages"][-1]

    fork = (await desk.post("fork", messageId=last["id"]))["sessionId"]
    await desk.ask("and now?", fork)

    assert await desk.texts(fork) == [*await desk.texts(), "and now?", (await desk.texts(fork))[-1]]
    assert SEEN[-1][-3:-1] == ["result: c0 saw 7", f"model: {last['text']}"]
    assert (await desk.ann.get("/agents/desk/sessions/chat/branches")).json()["list"] == [
        {
            "key": "chat",
            "parent": None,
            "shared": 0,
            "createdAt": (await desk.session())["createdAt"],
        }
    ]
