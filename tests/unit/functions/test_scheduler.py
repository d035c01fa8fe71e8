"""``ctx.scheduler``: runs that start later, once, exactly if who asked for them committed."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from app.authoring.agent import Agent
from app.authoring.agent_reference import agents
from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import action, mutation, query
from app.authoring.scheduler import ScheduledRun
from app.domain.errors import Conflict, Forbidden, InvalidArgument, NotFound
from app.domain.identity import Identity
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ANN = Identity("ann")
Context = ActionContext | MutationContext
Do = Callable[[Callable[[Context], Awaitable[Any]]], Awaitable[Any]]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    return memory_backend(world)


@pytest.fixture(params=["action", "mutation"])
def do(request: pytest.FixtureRequest, backend: Backend) -> Do:
    """Run something in a function's context, as ann, and return what it returns."""

    async def run(body: Callable[[Context], Awaitable[Any]]) -> Any:  # noqa: ANN401
        answers: list[Any] = []

        async def act(ctx: ActionContext) -> None:
            answers.append(await body(ctx))

        async def mutate(ctx: MutationContext) -> None:
            answers.append(await body(ctx))

        name = f"f{len(backend.registry.all())}"
        declared = (
            action(name=name)(act) if request.param == "action" else mutation(name=name)(mutate)
        )
        backend.registry.add("team", [declared])
        await backend.functions.call(f"team:{name}", caller=ANN)
        return answers[-1]

    return run


def pass_time(world: StoreWorld, time: timedelta) -> None:
    """Let the store's clock go on."""
    database = world.store._db  # type: ignore[attr-defined]  # the memory store's own
    now = database.now() + time
    database.now = lambda: now


@pytest.mark.req("SCH-04")
async def test_a_run_starts_once_when_it_is_due_and_not_before(do: Do, world: StoreWorld) -> None:
    scheduled: ScheduledRun = await do(
        lambda ctx: ctx.scheduler.run_after(
            60_000, ctx.agents.support, {"input": "good morning", "thread_key": "daily"}
        )
    )
    fired = [await world.store.fire_due(10)]
    nothing = await world.reader.run(scheduled.run_id)
    pass_time(world, MINUTE + timedelta(seconds=1))
    fired += [await world.store.fire_due(10) for _ in range(3)]

    assert (fired, nothing) == ([0, 1, 0, 0], None)
    assert (await world.run(scheduled.run_id)).status == "queued"
    assert world.around.rung == [scheduled.run_id]
    thread = await world.reader.find("daily")
    assert thread is not None
    assert thread.live_run == scheduled.run_id


@pytest.mark.req("SCH-04", "SCH-05")
@pytest.mark.parametrize("agent", ["support", Agent(slug="support", model="demo:"), agents.support])
async def test_a_run_is_scheduled_by_agent_or_slug_at_a_time(
    do: Do,
    world: StoreWorld,
    agent: Any,  # noqa: ANN401
) -> None:
    due = datetime.now(UTC) + MINUTE

    scheduled: ScheduledRun = await do(
        lambda ctx: ctx.scheduler.run_at(due, agent, {"input": "hi", "owner": "ann"})
    )
    pass_time(world, 2 * MINUTE)
    await world.store.fire_due(10)

    assert scheduled.due_at == due
    run = await world.run(scheduled.run_id)
    thread = await world.reader.find(scheduled.thread_key)
    assert (run.agent, thread and thread.owner) == ("support", "ann")


@pytest.mark.req("SCH-04")
async def test_a_run_that_is_due_on_a_busy_thread_waits_until_it_is_free(
    do: Do, world: StoreWorld
) -> None:
    await world.drive(thread_key="daily", owner="ann")
    scheduled: ScheduledRun = await do(
        lambda ctx: ctx.scheduler.run_after(
            MINUTE, "support", {"input": "hi", "thread_key": "daily", "owner": "ann"}
        )
    )
    pass_time(world, 2 * MINUTE)
    await world.store.fire_due(10)

    assert (await world.run(scheduled.run_id)).status == "pending"


async def test_nothing_is_scheduled_on_a_thread_of_somebody_else(do: Do, world: StoreWorld) -> None:
    await world.drive(thread_key="his", owner="bob")

    with pytest.raises(Forbidden, match="'his' belongs to somebody else"):
        await do(
            lambda ctx: ctx.scheduler.run_after(
                1, "support", {"input": "hi", "thread_key": "his", "owner": "ann"}
            )
        )


@pytest.mark.parametrize("delay", [-1, timedelta(days=5000), float("nan"), "soon"])
async def test_a_delay_that_makes_no_sense_is_refused(do: Do, delay: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidArgument, match="run_after"):
        await do(lambda ctx: ctx.scheduler.run_after(delay, "support", {"input": "hi"}))


@pytest.mark.parametrize(
    "due",
    [datetime(2026, 1, 1), datetime(9999, 1, 1, tzinfo=UTC)],  # noqa: DTZ001  # that is the point
)
async def test_a_time_that_makes_no_sense_is_refused(do: Do, due: datetime) -> None:
    with pytest.raises(InvalidArgument, match="run_at"):
        await do(lambda ctx: ctx.scheduler.run_at(due, "support", {"input": "hi"}))


async def test_what_a_run_does_not_take_is_refused_before_it_is_too_late(do: Do) -> None:
    wrong: list[tuple[Any, str]] = [
        ({"input": "hi", "threadKey": "k"}, "threadKey: a run takes input, owner"),
        ({"input": "hi", "on_concurrent_run": "reject"}, "on_concurrent_run: a run takes"),
        ({"thread_key": "k"}, "needs an input"),
        ({"input": " "}, "say something"),
    ]
    for run, why in wrong:
        with pytest.raises(InvalidArgument, match=why):
            await do(lambda ctx, run=run: ctx.scheduler.run_after(1, "support", run))  # type: ignore[misc]  # bound now
    for agent in ("none", SimpleNamespace(slug="none")):
        with pytest.raises(NotFound, match="no agent 'none'; there are: desk, inner, support"):
            await do(lambda ctx, a=agent: ctx.scheduler.run_after(1, a, {"input": "hi"}))  # type: ignore[misc]  # bound now


@pytest.mark.req("SCH-04", "SCH-06")
async def test_a_mutation_that_fails_has_scheduled_nothing(
    backend: Backend, world: StoreWorld
) -> None:
    @mutation
    async def change_my_mind(ctx: MutationContext) -> None:
        await ctx.scheduler.run_after(0, "support", {"input": "hi"})
        raise Conflict("changed my mind")

    backend.registry.add("team", [change_my_mind])
    with pytest.raises(Conflict, match="changed my mind"):
        await backend.functions.call("team:changeMyMind", caller=ANN)
    pass_time(world, MINUTE)

    assert await world.store.fire_due(10) == 0


async def test_a_query_starts_nothing_later_either(backend: Backend) -> None:
    @query
    async def look(ctx: QueryContext) -> bool:
        return hasattr(ctx, "scheduler")

    backend.registry.add("team", [look])

    assert await backend.functions.call("team:look", caller=ANN) is False
