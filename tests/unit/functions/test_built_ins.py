"""The functions that come with the product: which there are, and who may call which."""

from typing import Any

import pytest

from app.authoring.contexts import ActionContext
from app.authoring.functions import action
from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.identity import ANONYMOUS, Identity
from app.domain.storable import Json
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ANN, BOB = Identity("ann"), Identity("bob")
ADMIN = Identity("root", frozenset({"admin"}))
INTERNAL = {
    *("agentAppendMessage", "agentEnsureThread", "agentPatchThread"),
    *("agentSignal", "agentSendEvent"),
}
PUBLIC = {
    *("agentResolveApproval", "agentMessages", "agentThread", "agentState"),
    *("agentRun", "agentCancel", "agentRetry", "agentApprovals", "agentResolveApprovals"),
    *("adminOverrides", "adminSaveDraft", "adminDiscardDraft", "adminPublish", "adminReset"),
    *("adminRestore", "adminSetApprovers", "adminSetGovernance", "adminSetModels"),
    *("adminGovernance", "adminSetMinutes", "adminAudit"),
    *("agentRegenerate", "agentEditMessage", "agentSelectBranch", "agentFork"),
}


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    return memory_backend(world)


@pytest.mark.req("AGT-14")
def test_the_registry_lists_them_all(backend: Backend) -> None:
    found = {each.ref: each.function.internal for each in backend.registry.all()}

    assert found == {f"agents:{name}": name in INTERNAL for name in INTERNAL | PUBLIC}


@pytest.mark.req("ACC-05", "AGT-14")
@pytest.mark.parametrize("name", sorted(INTERNAL))
@pytest.mark.parametrize("caller", [ANONYMOUS, ANN, ADMIN])
async def test_no_client_writes_a_thread(backend: Backend, caller: Identity, name: str) -> None:
    with pytest.raises(NotFound, match="no function"):
        await backend.functions.call(f"agents:{name}", {"key": "k"}, caller=caller)


@pytest.mark.req("AGT-14")
async def test_server_code_makes_a_thread_writes_into_it_and_names_it(backend: Backend) -> None:
    @action
    async def import_chat(ctx: ActionContext) -> list[Any]:
        thread = {"key": "old", "agent": "support", "owner": "ann", "title": "Imported"}
        made = [await ctx.run("agents:agentEnsureThread", thread) for _ in range(2)]
        said = {"key": "old", "text": "Hello", "author": "ann"}
        answered = {"key": "old", "text": "Good day", "role": "assistant"}
        rows = [await ctx.run("agents:agentAppendMessage", each) for each in (said, answered)]
        await ctx.run("agents:agentPatchThread", {"key": "old", "title": "From the old chat"})
        return [*made, *rows]

    backend.registry.add("team", [import_chat])

    done = await backend.functions.call("team:importChat", caller=ADMIN)

    thread = await backend.functions.call("agents:agentThread", {"key": "old"}, caller=ANN)
    messages = await backend.functions.call("agents:agentMessages", {"key": "old"}, caller=ANN)
    assert isinstance(done, list)
    assert done[:2] == [{"created": True}, {"created": False}]
    assert [each["seq"] for each in done[2:] if isinstance(each, dict)] == [1, 2]
    assert isinstance(thread, dict)
    assert (thread["title"], thread["owner"]) == ("From the old chat", "ann")
    assert isinstance(messages, list)
    texts = [(each["role"], each["text"]) for each in messages if isinstance(each, dict)]
    assert texts == [("user", "Hello"), ("assistant", "Good day")]


async def test_server_code_is_told_of_a_thread_that_there_is_not(backend: Backend) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("agents:agentAppendMessage", {"key": "none", "text": "hi"}),
        ("agents:agentPatchThread", {"key": "none", "title": "x"}),
    ]
    for ref, args in calls:
        with pytest.raises(NotFound, match="no thread 'none'"):
            await backend.functions.call(ref, args, caller=ADMIN, internal=True)


@pytest.mark.req("ACC-01", "STA-04", "AGT-14")
async def test_the_state_of_a_thread_is_for_whom_its_messages_are(
    backend: Backend, world: StoreWorld
) -> None:
    claimed = await world.drive(thread_key="hers", owner="ann")
    await world.store.write_state(claimed.fence, '{"step":2}')

    answers = [
        await backend.functions.call("agents:agentState", {"key": "hers"}, caller=caller)
        for caller in (ANN, ADMIN, BOB, ANONYMOUS)
    ]

    assert answers == [{"step": 2}, {"step": 2}, None, None]


@pytest.mark.req("STA-09")
async def test_a_thread_without_state_answers_like_one_that_there_is_not(backend: Backend) -> None:
    args = {"agent": "support", "input": "hi", "key": "hers"}
    await backend.functions.call("agents:agentRun", args, caller=ANN)

    answers = [
        await backend.functions.call("agents:agentState", {"key": key}, caller=ANN)
        for key in ("hers", "none")
    ]

    assert answers == [None, None]


@pytest.mark.parametrize("option", ["mode", "goal", "attachments"])
async def test_an_option_of_a_later_version_is_refused_by_name(
    backend: Backend, option: str
) -> None:
    args = {"agent": "support", "input": "hi", option: "x"}

    with pytest.raises(InvalidArgument, match=f"{option}: not supported"):
        await backend.functions.call("agents:agentRun", args, caller=ANN)


async def test_a_run_that_is_asked_for_while_one_is_unfinished_hears_which(
    backend: Backend,
) -> None:
    args = {"agent": "support", "input": "hi", "key": "k"}
    first = await backend.functions.call("agents:agentRun", args, caller=ANN)

    with pytest.raises(Conflict) as refused:
        await backend.functions.call("agents:agentRun", args, caller=ANN)

    assert isinstance(first, dict)
    assert refused.value.data == {"runId": first["id"], "status": "queued"}


@pytest.mark.req("RUN-03", "ACC-02")
async def test_a_cancel_by_a_stranger_answers_as_for_a_missing_thread(
    backend: Backend, world: StoreWorld
) -> None:
    args = {"agent": "support", "input": "hi", "key": "hers"}
    started = await backend.functions.call("agents:agentRun", args, caller=ANN)

    async def cancel(caller: Identity, **more: object) -> Json:
        args = {"key": "hers", **more}
        return await backend.functions.call("agents:agentCancel", args, caller=caller)

    answers = [await cancel(BOB), await cancel(ANN, runId="other"), await cancel(ANN)]

    assert answers == [{"cancelled": False}, {"cancelled": False}, {"cancelled": True}]
    assert isinstance(started, dict)
    assert (await world.run(str(started["id"]))).status == "cancelled"


@pytest.mark.req("APR-04")
@pytest.mark.parametrize("open_threads", [True, False])
async def test_keys_of_ownerless_threads_decide_only_where_that_was_said(
    world: StoreWorld, *, open_threads: bool
) -> None:
    backend = memory_backend(world, open_threads_decide=open_threads)
    claimed = await world.drive(thread_key="open")
    await world.ask(claimed, "call_1", gated=["call_1"])
    await world.park(claimed, "call_1")
    args = {"key": "open", "toolCallId": "call_1", "decision": "denied", "reason": "no"}

    if open_threads:
        answer = await backend.functions.call("agents:agentResolveApproval", args, caller=ANONYMOUS)
        assert isinstance(answer, dict)
        assert answer["decision"] == "denied"
        assert (await world.run(claimed.run.id)).status == "queued"
    else:
        with pytest.raises(Exception, match="you may not decide this"):
            await backend.functions.call("agents:agentResolveApproval", args, caller=ANONYMOUS)
        assert (await world.run(claimed.run.id)).status == "awaiting_input"
