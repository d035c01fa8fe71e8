"""Forks and branches answer like everything else: who may, once, at once, or not at all."""

import asyncio
from typing import Any

import pytest

from app.authoring.contexts import MutationContext
from app.authoring.functions import mutation
from app.domain.errors import (
    ChatError,
    Conflict,
    Forbidden,
    InvalidArgument,
    NotFound,
    Unauthenticated,
)
from app.domain.identity import ANONYMOUS, Identity
from app.domain.override import Governance, Governed
from app.domain.ports.branches import NewFork
from app.domain.run import Ending
from tests.integration.functions.conftest import Gateway, MakeGateway
from tests.integration.functions.test_a_branch_leaves_everything_as_it_was import (
    ANN,
    KEY,
    answer,
    ask,
    call,
    claim,
    everything_of,
    rows,
    texts,
    tree,
)
from tests.support.store_world import a_start, a_turn

BOB, ADMIN = Identity("bob"), Identity("root", frozenset({"admin"}))


async def branch_count(gateway: Gateway) -> int:
    return await gateway.count("agent_threads WHERE conversation IS NOT NULL")


async def test_the_same_call_twice_makes_one_branch_and_answers_the_same(gateway: Gateway) -> None:
    await ask(gateway, "one")
    functions = gateway.backend.functions

    async def regenerate() -> Any:  # noqa: ANN401  # JSON
        return await functions.call(
            "agents:agentRegenerate", {"key": KEY}, caller=ANN, dedupe="again"
        )

    made = await asyncio.gather(*(regenerate() for _ in range(4)))

    assert all(each == made[0] for each in made)
    assert await branch_count(gateway) == 1
    assert (await rows(gateway, made[0]["key"]))[0].dedupe == "again"


async def test_two_at_once_are_two_branches_in_an_order_that_all_agree_on(
    make_gateway: MakeGateway, gateway: Gateway
) -> None:
    await ask(gateway, "one")
    gateways = [gateway, await make_gateway()]

    made = await asyncio.gather(*(call(each, "agentRegenerate", key=KEY) for each in gateways * 3))

    trees = [await tree(each) for each in gateways]
    assert trees[0] == trees[1]
    selected, found = trees[0]
    assert {key for key, _, _ in found[1:]} == {each["key"] for each in made}
    assert selected == found[-1][0], "the newest is shown"
    assert len({each["id"] for each in made}) == 6


async def test_a_branch_and_a_selection_are_told_of_and_change_the_roots_version(
    gateway: Gateway,
) -> None:
    await ask(gateway, "one")
    root = await gateway.backend.reader.find(KEY)
    assert root is not None
    gateway.around.forget()

    made = await call(gateway, "agentRegenerate", key=KEY)
    branch = await gateway.backend.reader.find(made["key"])
    assert branch is not None
    assert set(gateway.around.announced) == {(root.id, root.version + 1), (branch.id, 2)}
    assert gateway.around.rung == [made["id"]]

    for _ in range(2):  # the second one selects what is selected
        await call(gateway, "agentSelectBranch", key=made["key"], branch=KEY)
    assert (root.id, root.version + 2) in gateway.around.announced
    assert (await gateway.backend.reader.versions([root.id]))[root.id] == root.version + 2


async def test_a_mutation_that_rolls_back_leaves_no_branch_and_no_fork(gateway: Gateway) -> None:
    await ask(gateway, "one")
    thread = await gateway.backend.reader.find(KEY)
    assert thread is not None
    source = thread.id

    @mutation
    async def fork_and_fail(ctx: MutationContext) -> None:
        await ctx.branches.fork(NewFork(source, "copy", "ann"))
        raise Conflict("changed my mind")

    gateway.backend.registry.add("team", [fork_and_fail])
    before = [await gateway.count(table) for table in ("agent_threads", "agent_messages")]
    gateway.around.forget()

    with pytest.raises(Conflict):
        await gateway.backend.functions.call("team:forkAndFail", caller=ANN)

    after = [await gateway.count(table) for table in ("agent_threads", "agent_messages")]
    assert after == before
    assert gateway.around.announced == []


async def attempts(gateway: Gateway, caller: Identity, key: str = KEY) -> list[ChatError]:
    """Return what refuses each of the functions, on a conversation with two threads."""
    (message, *_) = await rows(gateway)
    calls: list[tuple[str, dict[str, object]]] = [
        ("agentRegenerate", {}),
        ("agentRegenerate", {"messageId": message.id}),
        ("agentEditMessage", {"messageId": message.id, "input": "x"}),
        ("agentSelectBranch", {"branch": key}),
        ("agentFork", {}),
    ]
    refused = []
    for name, args in calls:
        with pytest.raises(ChatError) as error:
            await call(gateway, name, caller, key=key, **args)
        refused.append(error.value)
    return refused


@pytest.mark.req("ACC-01", "ACC-02")
async def test_a_conversation_of_somebody_else_is_answered_like_a_missing_one(
    gateway: Gateway,
) -> None:
    await ask(gateway, "one")
    made = await call(gateway, "agentRegenerate", key=KEY)
    await answer(gateway, "another")
    count = await gateway.count("agent_threads")

    for stranger in (BOB, ANONYMOUS):
        for key in (KEY, made["key"], "none"):
            for error in await attempts(gateway, stranger, key):
                assert (type(error), error.message) == (NotFound, "no such thread")
    await ask_as_bob(gateway)
    for key in (KEY, made["key"], "none"):
        with pytest.raises(NotFound, match="no such branch"):
            await call(gateway, "agentSelectBranch", BOB, key="bobs", branch=key)
    assert await gateway.count("agent_threads") == count + 1


async def ask_as_bob(gateway: Gateway) -> None:
    await gateway.backend.store.start(a_start(thread_key="bobs", owner="bob"))
    await answer(gateway, "hello bob")


@pytest.mark.req("ACC-02")
async def test_a_message_of_another_conversation_is_no_message(gateway: Gateway) -> None:
    await ask(gateway, "one")
    await ask_as_bob(gateway)
    (foreign, *_) = await rows(gateway, "bobs")

    calls: list[tuple[str, dict[str, Any]]] = [
        ("agentRegenerate", {}),
        ("agentEditMessage", {"input": "x"}),
        ("agentFork", {}),
    ]
    for id_ in (foreign.id, "none"):
        for name, args in calls:
            with pytest.raises(NotFound, match="no such message"):
                await call(gateway, name, key=KEY, messageId=id_, **args)


@pytest.mark.req("IMP-17")
async def test_who_is_not_on_the_use_list_branches_nothing(gateway: Gateway) -> None:
    await ask(gateway, "one")

    class Listed:
        async def governed(self, agents: object = None) -> Governed:
            del agents
            return Governed({"support": Governance(use=("bob",))})

    functions = gateway.backend.registry.lookup("agents:agentFork")
    assert functions is not None
    functions.function.body.__self__._governance = Listed()  # type: ignore[attr-defined]  # a method

    for error in await attempts(gateway, ANN):
        assert isinstance(error, Forbidden)
    assert await gateway.count("agent_threads") == 1


@pytest.mark.req("AGT-14")
@pytest.mark.parametrize(
    ("agent", "caller", "expected"),
    [
        ("desk", ANONYMOUS, Unauthenticated),
        ("inner", ANN, NotFound),
        ("gone", ANN, NotFound),
        ("gone", ADMIN, NotFound),
    ],
)
async def test_an_agents_access_is_asked_as_for_a_start(
    gateway: Gateway, agent: str, caller: Identity, expected: type[ChatError]
) -> None:
    await gateway.backend.store.start(a_start(thread_key=KEY, agent=agent))
    await gateway.backend.store.cancel((await rows(gateway))[0].thread_id, None)

    with pytest.raises(expected):
        await call(gateway, "agentRegenerate", caller, key=KEY)
    if caller is not ADMIN:
        with pytest.raises(expected):
            await call(gateway, "agentFork", caller, key=KEY)


async def test_an_admins_fork_is_his_own_and_his_branch_the_owners(gateway: Gateway) -> None:
    await ask(gateway, "one")

    fork = (await call(gateway, "agentFork", ADMIN, key=KEY, title="Looked into"))["key"]
    branch = (await call(gateway, "agentRegenerate", ADMIN, key=KEY))["key"]

    views = [await call(gateway, "agentThread", ADMIN, key=key) for key in (fork, branch)]
    assert [(each["owner"], each["title"]) for each in views] == [
        ("root", "Looked into"),
        ("ann", "one"),
    ]
    assert await call(gateway, "agentThread", ANN, key=fork) is None
    assert (await rows(gateway, branch))[0].author == "root"
    assert await texts(gateway, fork) == await texts(gateway)


async def test_what_began_no_run_is_not_edited_or_answered_again(gateway: Gateway) -> None:
    await ask(gateway, "one")
    await gateway.backend.functions.call("agents:agentThread", {"key": KEY}, caller=ANN)
    _, said = await rows(gateway)
    await call(gateway, "agentFork", key=KEY)

    with pytest.raises(InvalidArgument, match="only what a user said"):
        await call(gateway, "agentEditMessage", key=KEY, messageId=said.id, input="x")
    first = (await rows(gateway))[0].id
    for text in ("", "  "):
        with pytest.raises(InvalidArgument, match="empty"):
            await call(gateway, "agentEditMessage", key=KEY, messageId=first, input=text)
    with pytest.raises(InvalidArgument, match="before which"):
        await call(gateway, "agentFork", key=KEY, edge="before")
    assert await branch_count(gateway) == 0


async def test_a_fork_may_begin_before_everything_and_ends_where_it_is_told(
    gateway: Gateway,
) -> None:
    await ask(gateway, "one")
    await ask(gateway, "two")
    messages = await rows(gateway)

    forks = [
        (await call(gateway, "agentFork", key=KEY, messageId=each.id, edge=edge))["key"]
        for each in messages
        for edge in ("before", "after")
    ]

    assert [len(await rows(gateway, key)) for key in forks] == [0, 1, 1, 2, 2, 3, 3, 4]
    for key in forks:
        assert (
            (await call(gateway, "agentThread", key=key))
            .keys()
            .isdisjoint({"branches", "conversation"})
        )
        await ask(gateway, "and now", key)


async def test_a_run_that_is_at_work_is_left_to_it(gateway: Gateway) -> None:
    await gateway.backend.store.start(a_start(thread_key=KEY, owner="ann"))
    working = await claim(gateway)

    branch = (await call(gateway, "agentRegenerate", key=KEY))["key"]
    await answer(gateway, "another")

    assert await gateway.backend.store.holds(working.fence)
    assert (await call(gateway, "agentThread", key=branch))["status"] == "completed"
    assert (await call(gateway, "agentThread", key=KEY))["status"] == "running"


async def test_a_conversation_has_so_many_branches_and_no_more(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.branching.MAX_BRANCHES", 2)
    await ask(gateway, "one")
    for _ in range(2):
        await call(gateway, "agentRegenerate", key=KEY)
        await answer(gateway, "another")

    with pytest.raises(Conflict, match="at most 2 branches"):
        await call(gateway, "agentRegenerate", key=KEY)

    assert await branch_count(gateway) == 2


@pytest.mark.parametrize("word", ["\0", "\ud800", "' OR true --", "x" * 300])
async def test_words_that_name_nothing_are_refused_as_such(gateway: Gateway, word: str) -> None:
    await ask(gateway, "one")
    first = (await rows(gateway))[0].id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("agentRegenerate", {"key": word}),
        ("agentRegenerate", {"key": KEY, "messageId": word}),
        ("agentEditMessage", {"key": KEY, "messageId": word, "input": "x"}),
        ("agentSelectBranch", {"key": KEY, "branch": word}),
        ("agentFork", {"key": KEY, "messageId": word}),
    ]
    for name, args in calls:
        with pytest.raises((NotFound, InvalidArgument)):
            await call(gateway, name, **args)

    edited = await call(gateway, "agentEditMessage", key=KEY, messageId=first, input=f"a{word}")
    assert len(await texts(gateway, edited["key"])) == 1
    if len(word) < 300:
        await call(gateway, "agentFork", key=KEY, messageId=first, title=f"a{word}")


async def test_a_run_that_is_retried_after_a_fork_opens_nothing_in_the_copy(
    gateway: Gateway,
) -> None:
    await gateway.backend.store.start(a_start(thread_key=KEY, owner="ann"))
    working = await claim(gateway)
    await gateway.backend.store.record(working.fence, a_turn(working.fence, 0, ["c0"]))
    await gateway.backend.store.finish(working.fence, Ending.failed("BROKEN", "it broke"), None)
    fork = (await call(gateway, "agentFork", key=KEY))["key"]
    copied = await everything_of(gateway, fork)

    assert (await call(gateway, "agentRetry", key=fork)) == {"retried": False}
    assert (await call(gateway, "agentRetry", key=KEY)) == {"retried": True}

    assert [row.status.value for row in await rows(gateway)] == ["complete", "complete", "open"]
    assert await everything_of(gateway, fork) == copied
    assert [row.status.value for row in await rows(gateway, fork)][-1] == "interrupted"
