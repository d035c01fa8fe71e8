"""Sockets that watch a conversation's root hear of its branches at once, whoever makes them."""

from functools import partial
from typing import Any

import pytest

from tests.integration.branches.conftest import Desk
from tests.support.client_view import ClientView
from tests.support.wait_until import wait_until


def shown(view: ClientView) -> tuple[str, list[str]] | None:
    """Return which branch a tab shows, and all that it knows of."""
    value: Any = view.value
    if value is None or "branches" not in value:
        return None
    return value["branches"]["selected"], [each["key"] for each in value["branches"]["list"]]


async def until(view: ClientView, expected: tuple[str, list[str]]) -> None:
    """Return when a tab shows this."""
    await wait_until(lambda: shown(view) == expected, description=f"a tab shows {expected}")


@pytest.mark.req("ACC-02")
async def test_b97_all_branches_are_kept_and_both_tabs_agree_after_a_reload_too(desk: Desk) -> None:
    await desk.ask("one")
    await desk.ask("two")
    async with desk.fort.socket("ann") as tab, desk.fort.socket("ann") as other:
        views = [await tab.watch_thread("chat"), await other.watch_thread("chat")]
        assert [shown(view) for view in views] == [None, None]

        # By whatever way in: HTTP, the socket of one tab, and that of the other.
        first, _ = await desk.branch("regenerate")
        for view in views:
            await until(view, (first, ["chat", first]))
        made = await tab.call("agents:agentRegenerate", {"key": "chat"})
        second = made["key"]
        for view in views:
            await until(view, (second, ["chat", first, second]))
        await desk.rests(made["id"])
        question = (await desk.session())["messages"][0]
        args = {"key": second, "messageId": question["id"], "input": "uno"}
        edited = await other.call("agents:agentEditMessage", args)
        await desk.rests(edited["id"])
        tree = ["chat", first, second, edited["key"]]
        for view in views:
            await until(view, (edited["key"], tree))
        await tab.call("agents:agentSelectBranch", {"key": edited["key"], "branch": first})
        for view in views:
            await until(view, (first, tree))

        messages = await other.watch(first)
        assert [row["text"] for row in messages.ordered][:3] == (await desk.texts())[:3]
    async with desk.fort.socket("ann") as reloaded:
        assert shown(await reloaded.watch_thread("chat")) == (first, tree)
    assert [len(await desk.texts(key)) for key in tree] == [4, 4, 4, 2]


async def test_a_stranger_hears_nothing_of_a_branch(desk: Desk) -> None:
    await desk.ask("one")
    branch, _ = await desk.branch("regenerate")
    async with desk.fort.socket("ben") as ben, desk.fort.socket("root", "admin") as root:
        views = [await ben.watch_thread(key) for key in ("chat", branch)]
        operators = await root.watch_thread("chat")
        await desk.post("branches/chat/select")
        await until(operators, ("chat", ["chat", branch]))

        assert [view.value for view in views] == [None, None]


async def test_a_socket_that_was_cut_comes_back_to_what_is_shown_then(desk: Desk) -> None:
    await desk.ask("one")
    async with desk.fort.socket("ann") as tab:
        view = await tab.watch_thread("chat")
        await tab.cut()
        branch, _ = await desk.branch("regenerate")
        await tab.connect()

        await wait_until(partial(shown, view), description="the branch")
        assert shown(view) == (branch, ["chat", branch])


async def test_branches_are_answered_over_http_from_any_of_them(desk: Desk) -> None:
    await desk.ask("one", "with/slash")
    branch, _ = await desk.branch("regenerate", "with/slash")

    found = [
        (await desk.ann.get(f"/agents/desk/sessions/{key}/branches")).json()
        for key in ("with/slash", branch)
    ]
    other = await desk.ann.post(f"/agents/child/sessions/{branch}/regenerate")
    await desk.post("branches/with/slash/select", branch)
    after = (await desk.ann.get(f"/agents/desk/sessions/{branch}/branches")).json()

    assert found[0] == found[1]
    assert [(each["key"], each["parent"], each["shared"]) for each in found[0]["list"]] == [
        ("with/slash", None, 0),
        (branch, "with/slash", 0),
    ]
    assert (found[0]["selected"], after["selected"]) == (branch, "with/slash")
    assert other.status_code == 404, "a session is its agent's"
    listed = (await desk.ann.get("/agents/desk/sessions")).json()["sessions"]
    assert [each["sessionId"] for each in listed] == ["with/slash"]


async def test_a_request_under_the_same_key_is_one_branch(desk: Desk) -> None:
    await desk.ask("one")
    headers = {"idempotency-key": "again"}
    answers = [
        await desk.ann.post("/agents/desk/sessions/chat/regenerate", headers=headers)
        for _ in range(2)
    ]
    forks = [
        await desk.ann.post("/agents/desk/sessions/chat/fork", headers={"idempotency-key": "f"})
        for _ in range(2)
    ]

    assert [each.status_code for each in (*answers, *forks)] == [202, 202, 201, 201]
    assert answers[0].json() == answers[1].json()
    assert forks[0].json() == forks[1].json()
    branches = (await desk.ann.get("/agents/desk/sessions/chat/branches")).json()
    assert len(branches["list"]) == 2
