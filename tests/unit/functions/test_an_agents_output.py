"""Whoever starts a run of an agent asks in the agent's form; server code reads it as its type."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from app import Agent, OutputMismatch, RunResult
from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.identity import Identity
from app.domain.run import Ending, RunError
from app.domain.storable import Json, encode
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

pytestmark = pytest.mark.req("LOOP-12")

ANN = Identity("ann")
Context = ActionContext | MutationContext
Body = Callable[[Context], Awaitable[Any]]
Do = Callable[[Body], Awaitable[Any]]


class Verdict(BaseModel):
    """What to do with a message."""

    urgent: bool
    team: str = "desk"


class Ruling(BaseModel):
    """What to do with a message, since the newest release."""

    priority: int


LATE: dict[str, Json] = {"type": "object", "properties": {"late": {"type": "boolean"}}}
OF_AGENT = {"outputSchema": Verdict.model_json_schema(), "outputFromAgent": True}


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    declared = {
        "triage": Agent(slug="triage", model="demo:", output=Verdict, access="public"),
        "plain": Agent(slug="plain", model="demo:", access="public"),
    }
    return memory_backend(world, declared=declared)


@pytest.fixture(params=["action", "mutation"])
def do(request: pytest.FixtureRequest, backend: Backend) -> Do:
    """Run something in a function's context, as ann, and return what it returns."""

    async def run(body: Body) -> Any:  # noqa: ANN401  # what the body returns
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


def deploy(backend: Backend, **options: Any) -> None:  # noqa: ANN401  # of an agent
    """Declare the agent otherwise."""
    backend.agents["triage"] = Agent(  # type: ignore[index]  # a dict
        slug="triage", model="demo:", access="public", **options
    )


async def answered(world: StoreWorld, output: Json, agent: str = "triage") -> str:
    """Let the oldest run of an agent end with an output, and return its id."""
    claimed = await world.claim(agent)
    await world.store.finish(claimed.fence, Ending.completed("final", encode(output)), 0)
    return claimed.run.id


async def started(do: Do, agent: str = "triage", **options: Any) -> str:  # noqa: ANN401  # of a run
    run = await do(lambda ctx: ctx.agents.run(agent, input="hi", **options))
    return str(run.id)


async def result_of(do: Do, run_id: str, **read_as: Any) -> RunResult[Any]:  # noqa: ANN401
    result = await do(lambda ctx: ctx.agents.triage.result(run_id, **read_as))
    assert isinstance(result, RunResult)
    return result


# ---- every way in ----


async def test_a_start_carries_the_form_and_one_that_names_its_own_carries_that(
    do: Do, world: StoreWorld
) -> None:
    policies = [
        (await world.run(await started(do))).policy,
        (await world.run(await started(do, output_schema=LATE))).policy,
        (await world.run(await started(do, "plain"))).policy,
    ]

    assert policies == [OF_AGENT, {"outputSchema": LATE}, {}]


async def test_clients_timers_and_signals_start_runs_in_the_agents_form(
    do: Do, backend: Backend, world: StoreWorld
) -> None:
    given = {"agent": "triage", "input": "hi", "key": "k"}
    asked = await backend.functions.call("agents:agentRun", given, caller=ANN)
    later = await do(lambda ctx: ctx.scheduler.run_after(0, ctx.agents.triage, {"input": "hi"}))
    await world.store.fire_due(100)
    await answered(world, {"urgent": True})
    woken = await do(lambda ctx: ctx.agents.triage.signal("k", "news"))

    assert isinstance(asked, dict)
    runs = [str(asked["id"]), later.run_id, woken.run_id]
    assert [(await world.run(each)).policy for each in runs] == [OF_AGENT] * 3


async def test_another_answer_is_asked_for_as_the_agent_declares_by_now(
    do: Do, backend: Backend, world: StoreWorld
) -> None:
    for key, form in {"agents": None, "own": LATE}.items():
        await started(do, thread_key=key, owner="ann", output_schema=form)
        await answered(world, {})
    deploy(backend, output=Ruling)

    again = []
    for key in ("agents", "own"):
        made = await backend.functions.call("agents:agentRegenerate", {"key": key}, caller=ANN)
        assert isinstance(made, dict)
        again.append(str(made["id"]))

    assert [(await world.run(each)).policy for each in again] == [
        {"outputSchema": Ruling.model_json_schema(), "outputFromAgent": True},
        {"outputSchema": LATE},
    ]


async def test_what_steers_a_run_is_read_by_it_since_that_answers_in_the_same_form(
    do: Do, world: StoreWorld
) -> None:
    live = await started(do, thread_key="k", owner="ann")

    def steer(**options: Any) -> Body:  # noqa: ANN401  # of a run
        return lambda ctx: ctx.agents.triage.run(
            input="and", thread_key="k", owner="ann", on_concurrent_run="steer", **options
        )

    same, own = await do(steer()), await do(steer(output_schema=LATE))

    assert (same.steered, same.id) == (True, live)
    assert (own.steered, own.position) == (False, 1)


# ---- what server code reads ----


async def test_the_output_is_an_instance_of_what_the_agent_declares(
    do: Do, world: StoreWorld
) -> None:
    run_id = await started(do)
    early = await result_of(do, run_id)
    await answered(world, {"urgent": False})

    result = await result_of(do, run_id)

    assert (early.status, early.output, early.stopped) == ("queued", None, None)
    assert (result.status, result.stopped, result.error) == ("completed", "final", None)
    assert result.output == Verdict(urgent=False, team="desk")


async def test_of_a_run_that_the_same_call_started_there_is_no_output_yet(do: Do) -> None:
    async def both(ctx: Context) -> RunResult[Any] | None:
        run = await ctx.agents.triage.run(input="hi")
        return await ctx.agents.triage.result(run.id)

    found = await do(both)

    assert (found.status, found.output) == ("queued", None)


async def test_an_answer_in_a_form_of_the_starts_own_is_json_unless_its_type_is_named(
    do: Do, world: StoreWorld
) -> None:
    run_id = await started(do, output_schema=Ruling)
    await answered(world, {"priority": 3})

    as_json = await result_of(do, run_id)
    typed = await result_of(do, run_id, output_schema=Ruling)

    assert (as_json.output, typed.output) == ({"priority": 3}, Ruling(priority=3))


async def test_an_answer_of_an_older_release_is_no_instance_of_a_changed_type(
    do: Do, backend: Backend, world: StoreWorld
) -> None:
    run_id = await started(do)
    await answered(world, {"urgent": True})
    deploy(backend, output=Ruling)

    with pytest.raises(OutputMismatch, match=f"the output of run {run_id} does not fit"):
        await do(lambda ctx: ctx.agents.triage.result(run_id))
    old = await result_of(do, run_id, output_schema=Verdict)
    plain = await result_of(do, run_id, output_schema=dict)

    assert (old.output, plain.output) == (Verdict(urgent=True), {"urgent": True})


async def test_a_failure_is_told_and_not_raised(do: Do, world: StoreWorld) -> None:
    run_id = await started(do)
    claimed = await world.claim("triage")
    await world.store.finish(claimed.fence, Ending.failed("MODEL", "no answer"), None)

    result = await result_of(do, run_id)

    assert (result.status, result.output) == ("failed", None)
    assert result.error == RunError("MODEL", "no answer")


async def test_there_is_no_result_of_another_agents_run(do: Do, world: StoreWorld) -> None:
    other = await world.start(agent="plain")

    missing = await do(lambda ctx: ctx.agents.triage.result("nowhere"))
    foreign = await do(lambda ctx: ctx.agents.triage.result(other.run_id))

    assert (missing, foreign) == (None, None)
