"""What ``ctx.agents`` does with busy threads, signals, events and retries, in both contexts."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from app.authoring.agent import Agent
from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.errors import ChatError, Conflict, Forbidden, InvalidArgument, NotFound
from app.domain.facts import event_fact
from app.domain.identity import ANONYMOUS, Identity
from app.domain.ports import ClaimedRun
from app.domain.run import Ending, Waits
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ANN, BOB = Identity("ann"), Identity("bob")
ADMIN = Identity("root", frozenset({"admin"}))
Context = ActionContext | MutationContext
Do = Callable[[Callable[[Context], Awaitable[Any]]], Awaitable[Any]]


async def drive(world: StoreWorld, agent: str = "support", **changes: object) -> ClaimedRun:
    """Start a run of an agent that the backend knows, and claim it."""
    await world.start(agent=agent, **changes)
    return await world.claim(agent)


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    made = memory_backend(world)
    made.agents["patient"] = Agent(  # type: ignore[index]  # a dict
        slug="patient",
        model="demo:",
        on_concurrent_run="queue",
        version="7",
        timeout=60,
        initial_state={"step": 1},
    )
    return made


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


# ---- busy threads ----


@pytest.mark.req("CON-02")
async def test_a_start_on_a_busy_thread_is_rejected_unless_somebody_says_otherwise(
    do: Do, world: StoreWorld
) -> None:
    busy = await drive(world, thread_key="k", owner="ann")

    with pytest.raises(Conflict) as refused:
        await do(lambda ctx: ctx.agents.support.run(input="hi", owner="ann", thread_key="k"))

    assert refused.value.data == {"runId": busy.run.id, "status": "running"}


@pytest.mark.req("CON-03", "CON-04")
async def test_a_start_says_what_it_does_on_a_busy_thread(do: Do, world: StoreWorld) -> None:
    busy = await drive(world, thread_key="k", owner="ann")

    async def start(policy: Any) -> Any:  # noqa: ANN401
        return await do(
            lambda ctx: ctx.agents.support.run(
                input=policy, owner="ann", thread_key="k", on_concurrent_run=policy
            )
        )

    queued, steered, replacing = [await start(each) for each in ("queue", "steer", "replace")]

    assert (queued.position, queued.steered) == (1, False)
    assert (steered.id, steered.steered) == (busy.run.id, True)
    assert (await world.run(busy.run.id)).status == "cancelled"
    assert (await world.run(replacing.id)).status == "queued"


@pytest.mark.req("CON-04", "STA-01")
async def test_what_a_start_does_not_say_is_what_its_agent_says(do: Do, world: StoreWorld) -> None:
    first, second = [
        await do(lambda ctx: ctx.agents.patient.run(input="hi", owner="ann", thread_key="k"))
        for _ in range(2)
    ]
    thread = await world.reader.find("k")

    assert thread is not None
    assert await world.reader.state(thread.id) == '{"step":1}'
    assert (await world.run(first.id)).agent_version == "7"
    assert (second.position, (await world.run(second.id)).status) == (1, "pending")


@pytest.mark.req("CON-04")
async def test_the_status_of_a_start_that_waits_is_pending(do: Do, world: StoreWorld) -> None:
    await drive(world, thread_key="k", owner="ann")

    async def start_and_ask(ctx: Context) -> str | None:
        run = await ctx.agents.support.run(
            input="hi", owner="ann", thread_key="k", on_concurrent_run="queue"
        )
        return await ctx.agents.support.status(run.id)

    assert await do(start_and_ask) == "pending"


@pytest.mark.parametrize(
    "option",
    [{"timeout": 0}, {"timeout": timedelta(days=9999)}, {"on_concurrent_run": "drop"}],
)
async def test_a_start_that_makes_no_sense_is_refused(do: Do, option: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidArgument):
        await do(lambda ctx: ctx.agents.support.run(input="hi", **option))


# ---- signals ----


@pytest.mark.req("SIG-01", "SIG-05", "SIG-08", "CON-07")
async def test_a_signal_waits_in_a_busy_conversation_and_wakes_an_idle_one(
    do: Do, world: StoreWorld
) -> None:
    busy = await drive(world, thread_key="k", owner="ann")
    waiting = await do(lambda ctx: ctx.agents.support.signal("k", "more news"))
    idle = await drive(world, thread_key="idle", owner="ann")
    await world.store.finish(idle.fence, Ending.completed("final"), None)

    woken = await do(lambda ctx: ctx.agents.support.signal("idle", "wake up", by=ctx.auth))

    assert (waiting.woke, waiting.run_id) == (False, busy.run.id)
    assert woken.woke
    assert (await world.run(woken.run_id)).status == "queued"
    said = (await world.snapshot(idle.thread.id)).messages[-1]
    assert (said.author, said.parts[0]["text"]) == ("user:ann", "[message] wake up\n")


@pytest.mark.req("SIG-07")
async def test_a_signal_by_a_stranger_is_forbidden_whether_or_not_there_is_a_thread(
    do: Do, world: StoreWorld
) -> None:
    await drive(world, thread_key="hers", owner="ann")
    await drive(world, thread_key="open")

    for key in ("hers", "open", "none"):
        with pytest.raises(Forbidden):
            await do(lambda ctx, key=key: ctx.agents.support.signal(key, "hi", by=BOB))  # type: ignore[misc]
    for by in (ADMIN, None):
        with pytest.raises(NotFound, match="no thread 'none' of agent 'support'"):
            await do(lambda ctx, by=by: ctx.agents.support.signal("none", "hi", by=by))  # type: ignore[misc]


async def test_a_signal_queues_or_injects_and_says_something(do: Do, world: StoreWorld) -> None:
    await drive(world, thread_key="k")
    wrong: list[tuple[str, Any]] = [("hi", "steer"), ("hi", "shout"), (" ", "queue")]

    for message, mode in wrong:
        with pytest.raises(InvalidArgument):
            await do(lambda ctx, m=message, w=mode: ctx.agents.support.signal("k", m, w))  # type: ignore[misc]


# ---- events ----


@pytest.mark.req("RUN-05")
async def test_an_event_wakes_the_run_that_waits_for_it(do: Do, world: StoreWorld) -> None:
    waiting = await drive(world, owner="ann")
    fact = event_fact("paid", 0)
    await world.store.park(waiting.fence, waiting.thread.wakes, Waits.for_all([fact]))

    assert await do(
        lambda ctx: ctx.agents.support.send_event(waiting.run.id, "paid", {"cents": 500})
    )

    assert (await world.run(waiting.run.id)).status == "queued"
    turn = await world.store.open_turn((await world.claim("support")).fence)
    assert turn is not None
    assert turn.steps[fact] == '{"cents":500}'


@pytest.mark.req("RUN-05")
async def test_an_event_for_a_run_that_is_over_or_not_there_is_not_delivered(
    do: Do, world: StoreWorld
) -> None:
    over = await drive(world, owner="ann")
    await world.store.finish(over.fence, Ending.completed("final"), None)

    for run_id in (over.run.id, "none"):
        assert not await do(lambda ctx, r=run_id: ctx.agents.support.send_event(r, "paid"))  # type: ignore[misc]
    assert not await do(lambda ctx: ctx.agents.desk.send_event(over.run.id, "paid"))


async def test_an_event_has_a_name_that_people_can_read_and_a_payload_that_json_can_say(
    do: Do, world: StoreWorld
) -> None:
    run = (await drive(world, owner="ann")).run.id
    wrong: list[tuple[str, object]] = [
        ("", 1),
        ("a" * 201, 1),
        ("a\n", 1),
        ("a", object()),
        ("a", "x" * 300_000),
    ]

    for name, payload in wrong:
        with pytest.raises(InvalidArgument):
            await do(lambda ctx, n=name, p=payload: ctx.agents.support.send_event(run, n, p))  # type: ignore[misc]


@pytest.mark.req("SIG-07")
async def test_an_event_by_somebody_else_is_not_delivered(do: Do, world: StoreWorld) -> None:
    owned = (await drive(world, owner="ann")).run.id
    ownerless = (await drive(world)).run.id

    assert not await do(lambda ctx: ctx.agents.support.send_event(owned, "paid", by=BOB))
    with pytest.raises(Forbidden):
        await do(lambda ctx: ctx.agents.support.send_event(ownerless, "paid", by=BOB))


# ---- retry ----


async def test_a_failed_run_goes_on_when_it_is_retried(do: Do, world: StoreWorld) -> None:
    failed = await drive(world, owner="ann")
    await world.store.finish(failed.fence, Ending.failed("MODEL_UNAVAILABLE", "away"), None)

    async def retry(by: Identity | None) -> bool:
        answer: bool = await do(lambda ctx: ctx.agents.support.retry(failed.run.id, by=by))
        return answer

    assert not await retry(BOB)
    assert (await world.run(failed.run.id)).status == "failed"
    assert await retry(ANN)
    assert (await world.run(failed.run.id)).status == "queued"
    with pytest.raises(Conflict):
        await retry(None)


@pytest.mark.parametrize("access", ["public", "authenticated"])
async def test_on_an_ownerless_thread_those_may_retry_who_could_have_started(
    do: Do, world: StoreWorld, access: str
) -> None:
    agent = {"public": "support", "authenticated": "desk"}[access]
    failed = await drive(world, agent=agent)
    await world.store.finish(failed.fence, Ending.failed("MODEL_UNAVAILABLE", "away"), None)
    retried: list[bool] = []

    async def retry(ctx: Context) -> None:
        producer = getattr(ctx.agents, agent)
        retried.append(await producer.retry(failed.run.id, by=ANONYMOUS))

    if access == "public":
        await do(retry)
        assert retried == [True]
    else:
        with pytest.raises(ChatError, match="sign in"):
            await do(retry)


async def test_a_mutation_that_fails_has_told_nobody_anything(
    backend: Backend, world: StoreWorld
) -> None:
    failed = await drive(world, thread_key="failed", owner="ann")
    await world.store.finish(failed.fence, Ending.failed("MODEL_UNAVAILABLE", "away"), None)
    busy = await drive(world, thread_key="busy", owner="ann")

    @mutation
    async def change_my_mind(ctx: MutationContext) -> None:
        await ctx.agents.support.signal("busy", "hi")
        await ctx.agents.support.send_event(busy.run.id, "paid")
        await ctx.agents.support.retry(failed.run.id)
        raise Conflict("changed my mind")

    backend.registry.add("team", [change_my_mind])
    with pytest.raises(Conflict, match="changed my mind"):
        await backend.functions.call("team:changeMyMind", caller=ANN)

    assert (await world.run(failed.run.id)).status == "failed"
    assert (await world.thread(busy.thread.id)).wakes == busy.thread.wakes
    assert (await world.snapshot(busy.thread.id)).waiting == []


async def test_a_mutation_signals_a_thread_that_it_began(
    backend: Backend, world: StoreWorld
) -> None:
    @mutation
    async def begin(ctx: MutationContext) -> bool:
        await ctx.agents.support.run(input="hi", owner="ann", thread_key="new")
        signalled = await ctx.agents.support.signal("new", "one more thing")
        return signalled.woke

    backend.registry.add("team", [begin])

    assert await backend.functions.call("team:begin", caller=ANN) is False
    thread = await world.reader.find("new")
    assert thread is not None
    assert [each.text for each in (await world.snapshot(thread.id)).waiting] == ["one more thing"]


# ---- a form of the answer ----


class City(BaseModel):
    """A city."""

    name: str
    people: int = 0


@pytest.mark.req("OUT-01")
@pytest.mark.parametrize(
    ("form", "stored"),
    [
        (City, City.model_json_schema()),
        (bool, {"type": "boolean"}),
        (City.model_json_schema(), City.model_json_schema()),
    ],
)
async def test_a_form_of_the_answer_is_part_of_the_run(
    do: Do,
    world: StoreWorld,
    form: Any,  # noqa: ANN401  # a type or a schema
    stored: object,
) -> None:
    started = await do(lambda ctx: ctx.agents.support.run(input="hi", output_schema=form))

    run = await world.run(started.id)
    assert (run.policy, run.output) == ({"outputSchema": stored}, None)


@pytest.mark.req("OUT-01")
@pytest.mark.parametrize("form", [Callable[[], int], {"type": "strnig"}, {"$ref": "https://x/y"}])
async def test_a_form_that_is_none_is_refused_and_nothing_starts(
    do: Do,
    world: StoreWorld,
    form: Any,  # noqa: ANN401  # anything
) -> None:
    with pytest.raises(InvalidArgument, match=r"output_?[sS]chema: "):
        await do(lambda ctx: ctx.agents.support.run(input="hi", thread_key="k", output_schema=form))

    assert await world.reader.find("k") is None


@pytest.mark.req("OUT-03")
async def test_a_prompt_with_a_form_waits_for_a_run_of_its_own_instead_of_steering(
    do: Do, world: StoreWorld
) -> None:
    busy = await drive(world, thread_key="k", owner="ann")

    started = await do(
        lambda ctx: ctx.agents.support.run(
            input="hi",
            owner="ann",
            thread_key="k",
            on_concurrent_run="steer",
            output_schema=City,
        )
    )

    assert (started.steered, started.position) == (False, 1)
    assert started.id != busy.run.id
