"""How a function runs: its context, its transaction, its errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import action, mutation, query
from app.domain.errors import (
    AgentFault,
    ChatError,
    Conflict,
    Contended,
    NotFound,
    TransientFault,
)
from app.domain.identity import ANONYMOUS, Identity
from app.functions import dispatch
from app.functions.registry import FunctionRegistry
from app.testing.memory_transactions import MemoryTransactions, MemoryUnit
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ANN = Identity("ann")
LIVES: list[str] = []
"""What the functions below did; a test looks at its own."""


@pytest.fixture(autouse=True)
def _forget() -> None:
    LIVES.clear()


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    made = memory_backend(world)
    made.registry.add(
        "team", [look, start, start_then_fail, orchestrate, hidden, broken, cancel_within, slow]
    )
    return made


@query
async def look(ctx: QueryContext) -> list[str]:
    return sorted(name for name in ("auth", "db", "agents", "run") if hasattr(ctx, name))


@mutation
async def start(ctx: MutationContext, key: str) -> dict[str, str | None]:
    run = await ctx.agents.support.run(input="hi", owner=ctx.auth.user_id, thread_key=key)
    return {"id": run.id, "status": await ctx.agents.support.status(run.id)}


@mutation
async def start_then_fail(ctx: MutationContext, key: str) -> None:
    await ctx.agents.run("support", input="hi", thread_key=key)
    raise Conflict("changed my mind")


@mutation
async def cancel_within(ctx: MutationContext, key: str, fail: bool = False) -> bool:  # noqa: FBT001, FBT002
    cancelled = await ctx.agents.support.cancel(thread_key=key, by=ctx.auth)
    if fail:
        raise Conflict("changed my mind")
    return cancelled


@query(internal=True)
async def hidden(ctx: QueryContext) -> str | None:
    return ctx.auth.user_id


@action
async def orchestrate(ctx: ActionContext) -> dict[str, object]:
    return {
        "agents": hasattr(ctx, "agents"),
        "db": hasattr(ctx, "db"),
        "hidden": await ctx.run("team:hidden"),
        "started": await ctx.run("team:start", {"key": "from-an-action"}),
    }


@action
async def broken(ctx: ActionContext) -> None:
    LIVES.append("broken")
    raise ValueError("the password is swordfish")


@query
async def slow(ctx: QueryContext) -> None:
    await asyncio.Event().wait()


@pytest.mark.req("AGT-15", "IMP-01")
async def test_a_query_can_read_and_start_nothing(backend: Backend) -> None:
    assert await backend.functions.call("team:look", caller=ANN) == ["auth", "db"]


@pytest.mark.req("AGT-15", "RUN-01", "RUN-04")
async def test_a_mutation_starts_a_run_and_has_its_id_at_once(
    backend: Backend, world: StoreWorld
) -> None:
    answer = await backend.functions.call("team:start", {"key": "k"}, caller=ANN)

    assert isinstance(answer, dict)
    assert answer["status"] == "queued"
    run = await world.run(str(answer["id"]))
    assert (await world.thread(run.thread_id)).owner == "ann"


@pytest.mark.req("AGT-15")
async def test_an_action_starts_runs_and_calls_functions_internal_ones_too(
    backend: Backend, world: StoreWorld
) -> None:
    answer = await backend.functions.call("team:orchestrate", caller=ANN)

    assert isinstance(answer, dict)
    assert (answer["agents"], answer["db"], answer["hidden"]) == (True, False, "ann")
    assert await world.reader.find("from-an-action") is not None


@pytest.mark.parametrize(
    "raised", [SystemExit(2), KeyboardInterrupt(), asyncio.CancelledError(), BaseException("no")]
)
async def test_whatever_a_function_raises_its_caller_gets_an_answer(
    backend: Backend, raised: BaseException
) -> None:
    @action
    async def breaks_out(ctx: ActionContext) -> None:
        raise raised

    @mutation
    async def breaks_out_too(ctx: MutationContext) -> None:
        raise raised

    backend.registry.add("wild", [breaks_out, breaks_out_too])
    for ref in ("wild:breaksOut", "wild:breaksOutToo"):
        with pytest.raises(AgentFault):
            await backend.functions.call(ref, caller=ANN)


@pytest.mark.req("IMP-03")
async def test_a_mutation_that_raises_has_started_nothing(
    backend: Backend, world: StoreWorld
) -> None:
    with pytest.raises(Conflict):
        await backend.functions.call("team:startThenFail", {"key": "k"}, caller=ANN)

    assert await world.reader.find("k") is None


@pytest.mark.req("IMP-01", "ACC-05")
async def test_an_internal_function_does_not_exist_for_a_client(backend: Backend) -> None:
    with pytest.raises(NotFound) as refused:
        await backend.functions.call("team:hidden", caller=Identity("r", frozenset({"admin"})))
    with pytest.raises(NotFound) as missing:
        await backend.functions.call("team:hidde", caller=ANN)

    assert refused.value.message.replace("hidden", "hidde") == missing.value.message
    assert await backend.functions.call("team:hidden", caller=ANN, internal=True) == "ann"


@pytest.mark.req("RUN-03")
async def test_a_cancel_in_a_mutation_follows_its_commit(
    backend: Backend, world: StoreWorld
) -> None:
    call = backend.functions.call
    started = await call("team:start", {"key": "k"}, caller=ANN)
    assert isinstance(started, dict)

    with pytest.raises(Conflict):
        await call("team:cancelWithin", {"key": "k", "fail": True}, caller=ANN)
    kept = (await world.run(str(started["id"]))).status
    stranger = await call("team:cancelWithin", {"key": "k"}, caller=Identity("bob"))
    owner = await call("team:cancelWithin", {"key": "k"}, caller=ANN)
    again = await call("team:cancelWithin", {"key": "k"}, caller=ANN)

    assert kept == "queued"
    assert (stranger, owner, again) == (False, True, False)
    assert (await world.run(str(started["id"]))).status == "cancelled"


async def test_an_agent_that_there_is_not_is_named_with_those_that_there_are(
    backend: Backend,
) -> None:
    @mutation
    async def lost(ctx: MutationContext) -> None:
        await ctx.agents.run("suport", input="hi")

    backend.registry.add("more", [lost])

    with pytest.raises(NotFound, match="no agent 'suport'; there are: desk, inner, support"):
        await backend.functions.call("more:lost", caller=ANN)


async def test_what_broke_is_one_sentence_for_the_caller(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(AgentFault) as failed:
        await backend.functions.call("team:broken", caller=ANN)

    assert failed.value.message == "team:broken failed"
    assert "swordfish" in caplog.text


async def test_a_transaction_that_takes_too_long_is_undone(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "TRANSACTION_LIMIT_S", 0.01)

    with pytest.raises(TransientFault, match="took longer"):
        await backend.functions.call("team:slow", caller=ANN)


class Collisions(MemoryTransactions):
    """Transactions that run into others a given number of times."""

    left = 0

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[MemoryUnit]:
        """Break off at the commit, as the database does."""
        async with super().begin() as unit:
            yield unit
            if self.left:
                self.left -= 1
                raise Contended("ran into another one")


@pytest.mark.parametrize(("collisions", "works"), [(3, True), (dispatch.TRIES, False)])
async def test_a_mutation_that_ran_into_another_is_run_again_as_a_whole(
    world: StoreWorld, *, collisions: int, works: bool
) -> None:
    database = world.store._db  # type: ignore[attr-defined]  # the memory store's own
    transactions = Collisions(database, world.store)
    backend = replace(memory_backend(world), transactions=transactions, registry=FunctionRegistry())
    backend.registry.add("team", [start])
    transactions.left = collisions

    if works:
        answer = await backend.functions.call("team:start", {"key": "k"}, caller=ANN)
        assert isinstance(answer, dict)
        thread = await world.reader.find("k")
        assert thread is not None
        assert thread.live_run == answer["id"]
    else:
        with pytest.raises(Contended):
            await backend.functions.call("team:start", {"key": "k"}, caller=ANN)
        assert await world.reader.find("k") is None


async def test_calls_are_timed_by_reference_and_outcome(backend: Backend) -> None:
    await backend.functions.call("team:look", caller=ANONYMOUS)
    with pytest.raises(ChatError):
        await backend.functions.call("team:broken", caller=ANONYMOUS)

    def count(ref: str, outcome: str) -> float | None:
        labels = {"ref": ref, "outcome": outcome}
        registry = backend.metrics.registry
        return registry.get_sample_value("ropewalk_function_seconds_count", labels)

    assert (count("team:look", "ok"), count("team:broken", "INTERNAL")) == (1, 1)
